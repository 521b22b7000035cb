/* The distributed lock of a range of a space, which excludes all other tasks of the machine. The boot option lock=
 * chooses its strategy (struct space_locking of mm/space/strategy.h). mm/lock/home.md, mm/lock/lamport.md. */
#ifndef MM_LOCK_LOCK_H
#define MM_LOCK_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/lib/list.h"
#include "kernel/wait/completion.h"
#include "mm/lock/lamport_queue.h"
#include "mm/space/space.h"

struct lease_wait;

/* A lock of a task, or its request for one. The task provides the memory, from space_acquire until space_release has
 * returned; the strategy manages the content. Marks as in mm/space/space.h. */
struct space_lock {
    struct space_range range; /* [i] may be wider than what was asked for */
    struct completion done;   /* what the task waits for: it has the range, or an errno */
    int error;                /* [k] */
    union {
        /* lock=home, at the home; a request of another kernel is kept in one, too. */
        struct {
            struct list node;         /* [k] in space->locks */
            struct space *space;      /* [i] */
            struct lease_wait *start; /* a recall that is to begin */
            uint32_t kernel;          /* [i] who asks */
            bool granted;             /* [k] */
            bool waited;              /* [k] for another request */
            bool recalling;           /* [k] what others have leased of the range */
        } home;
        struct {
            struct lamport_entry entry;
            struct list node;    /* [k] in lamport.own */
            struct space *space; /* [i] */
            kernel_set asked;    /* [i] */
            kernel_set told;     /* [k] kernels that have queued it */
            kernel_set members;  /* [k] as the home said when it queued it */
            bool answered;       /* [k] by all */
            bool entered;        /* [k] */
            bool put_off;        /* [k] an answer was held back */
        } lamport;
    };
};

/* Registers the message handlers and chooses the strategy: boot options lock= and ranges=. Once. */
void lock_init(void);

/* [i] False, with ranges=off: tasks lock one page or, for all that is more, all of them, as published. */
extern bool space_ranges;
/* Acquire and release the distributed lock of RANGE; LOCK is the caller's memory. While a task here holds or awaits a
 * lock, this kernel never decides alone (DECIDES_ALONE). Acquiring allocates no memory here, but another kernel or the
 * recall of a lease may: -ENOMEM. Tasks only; both may wait. */
int space_acquire(struct space *space, struct space_range range, struct space_lock *lock);
void space_release(struct space *space, struct space_lock *lock);
/* Takes the lock of [START, END) over all kernels and gives it back: for measuring. -ENOMEM. Waits. */
int space_lock_once(struct space *space, uint64_t start, uint64_t end);
/* How many requests for distributed locks this kernel keeps, granted or not: as the home, or with lock=lamport as
 * whoever asks or hosts the space. */
uint64_t space_lock_count(void);

#endif
