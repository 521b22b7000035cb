/* The short way of a fault: one question to the space's home, one answer, no lock. mm/retrieve/retrieval.md has the
 * protocol.
 *
 * Between the two a change may reach this kernel from a third. It is put off until the answer is here, so that it finds
 * what the answer brings. */
#ifndef MM_FAULT_GET_H
#define MM_FAULT_GET_H

#include "kernel/lib/list.h"
#include "mm/space/internal.h"

/* A question under way. */
struct space_get {
    struct list node; /* [k] space->lock: in space->gets */
    struct space *space;
    uint64_t number; /* later ones are greater */
    uint64_t page;
    uint64_t start, end; /* what the answer may bring */
    uint32_t access;
    const uint64_t *entry; /* the page's, which stays where it is as long as the question is under way */
    struct area *area;     /* memory for the page's, or NULL: it is known, or this has been used */
    uint64_t
        spare; /* a zeroed frame of ours that the page gets if it has none; 0: it has been taken, or there is none */
    uint64_t block; /* 2 MiB, zeroed, that SPARE is a part of; 0: it has been taken, or there is none */
    uint32_t huge;  /* enum space_huge */
    bool lost;      /* the answer: what the home has done is not known */
    int result;
    struct completion done;
};

/* What has to wait for questions that overlap [START, END). Later ones find the range locked. */
struct space_deferred {
    struct list node; /* [k] space->lock: in space->deferred */
    uint64_t start, end;
    uint64_t number;                              /* of the last question when it was put off */
    void (*run)(struct space_deferred *deferred); /* in a handler, without locks: it must not wait */
};

/* True when faults of SPACE may be answered so. */
bool space_get_possible(struct space *space);
/* Makes PAGE usable for ACCESS. 0, -EFAULT, -EACCES, -ENOMEM as space_fault; 1: the home cannot say it without the
 * page's lock. Waits for the home. */
int space_get_page(struct space *space, uint64_t page, uint32_t access);

/* space->lock is held: puts DEFERRED, whose range is set, off if a question under way overlaps it. */
bool space_defer_locked(struct space *space, struct space_deferred *deferred);
/* Waits until no question that is under way now overlaps RANGE, whose lock the caller has. Tasks only. */
void space_gets_await(struct space *space, struct space_range range);

void space_get_init(void);

#endif
