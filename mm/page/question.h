/* Questions about pages, which other threads of this kernel have asked the home without a lock (mm/fault/get.c), and
 * what has to wait for their answers.
 *
 * Between a question and its answer a change may reach this kernel from a third. It is put off until the answer is
 * here, so that it finds what the answer brings. mm/retrieve/retrieval.md has the protocol. */
#ifndef MM_PAGE_QUESTION_H
#define MM_PAGE_QUESTION_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/lib/list.h"
#include "mm/area/range.h"
#include "mm/space/space.h"

/* A question under way. */
struct space_question {
    struct list node;    /* [k] space->lock: in space->gets */
    uint64_t number;     /* later ones are greater */
    uint64_t start, end; /* what the answer may bring */
};

/* What has to wait for questions that overlap [START, END). Later ones find the range locked. */
struct space_deferred {
    struct list node; /* [k] space->lock: in space->deferred */
    uint64_t start, end;
    uint64_t number;                              /* of the last question when it was put off */
    void (*run)(struct space_deferred *deferred); /* in a handler, without locks: it must not wait */
};

/* QUESTION, whose range is set, begins. */
void space_question_begin_locked(struct space *space, struct space_question *question);
/* Its answer has come, and what it brings is noted: what waited for nothing else moves to READY, an empty list, for
 * space_deferred_run when the lock is free. */
void space_question_end_locked(struct space *space, struct space_question *question, struct list *ready);
void space_deferred_run(struct list *ready);

/* Puts DEFERRED, whose range is set, off if a question under way overlaps it. */
bool space_defer_locked(struct space *space, struct space_deferred *deferred);
/* Waits until no question that is under way now overlaps RANGE, whose lock the caller has. Tasks only. */
void space_gets_await(struct space *space, struct space_range range);

#endif
