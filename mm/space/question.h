/* Questions: requests for pages that faulting threads of this kernel have sent to the home without a distributed lock
 * (mm/fault/get.c), and the work that has to wait for their answers.
 *
 * Between a question and its answer, a change of the same range may reach this kernel from a third kernel. The change
 * is deferred until the answer has arrived and been applied, so that it also covers what the answer maps.
 * mm/retrieve/retrieval.md has the protocol. */
#ifndef MM_SPACE_QUESTION_H
#define MM_SPACE_QUESTION_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/lib/list.h"
#include "mm/area/range.h"
#include "mm/space/space.h"

/* A question under way. */
struct space_question {
    struct list node;    /* [k] space->lock: in space->gets */
    uint64_t number;     /* in the order in which questions begin */
    uint64_t start, end; /* the range in which the answer may map pages */
    uint64_t page;       /* the page that is asked for */
    bool copies;         /* the answer may be a copy: nothing else may map the page's old frame here meanwhile */
    bool superseded;     /* [k] the answer SPACE_MOVES may name a frame that the page has no more */
};

/* Work that waits for the questions that overlap [START, END) and were under way when it was deferred. Later questions
 * need not be waited for: they find the range locked. */
struct space_deferred {
    struct list node; /* [k] space->lock: in space->deferred */
    uint64_t start, end;
    uint64_t number;                              /* of the latest question when the work was deferred */
    void (*run)(struct space_deferred *deferred); /* called without locks, perhaps in a handler: it must not wait */
};

/* Registers QUESTION, whose range is set. */
void space_question_begin_locked(struct space *space, struct space_question *question);
/* The first page in [START, END) about which a question is under way that may be answered with a copy; END: none. */
uint64_t space_question_copied_locked(const struct space *space, uint64_t start, uint64_t end);
/* Ends QUESTION, after its answer has been applied. Moves the work that waits for no other question to READY, which the
 * caller initialises and passes to space_deferred_run after it has released the lock. */
void space_question_end_locked(struct space *space, struct space_question *question, struct list *ready);
void space_deferred_run(struct list *ready);

/* Defers the work if a question under way overlaps its range, which the caller has set. False: it need not wait. */
bool space_defer_locked(struct space *space, struct space_deferred *deferred);
/* A page of [START, END) has another frame now, or is not moving any more: marks the questions under way as superseded.
 */
void space_questions_supersede_locked(struct space *space, uint64_t start, uint64_t end);
/* Waits until every question that is under way now and overlaps RANGE has ended. The caller holds the distributed lock
 * of RANGE. Tasks only. */
void space_gets_await(struct space *space, struct space_range range);

#endif
