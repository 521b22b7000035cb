/* The distributed lock of a range of a space: while a task holds it, no other task of the machine holds the lock of an
 * overlapping range. The boot option lock= chooses its strategy (struct space_locking of mm/space/strategy.h).
 * mm/lock/home.md, mm/lock/lamport.md. */
#ifndef MM_LOCK_LOCK_H
#define MM_LOCK_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/lib/list.h"
#include "kernel/wait/completion.h"
#include "mm/lock/lamport_queue.h"
#include "mm/space/space.h"

struct lease_recall;

/* What the home learns from a release about its directory (mm/directory/directory.md). */
enum space_lock_outcome {
    LOCK_OVER = 0,  /* nothing */
    LOCK_GONE = 1,  /* no kernel has anything in the range any more, but for areas of the home */
    LOCK_FAILED = 2 /* an unmap has failed: some kernel may have what the home has no more */
};

/* A lock of a task, or its request for one. The task provides the memory, from space_acquire until space_release has
 * returned; the strategy manages the content. Marks as in mm/space/space.h. */
struct space_lock {
    struct space_range range; /* [i] may be wider than what the task requested */
    struct completion done;   /* signalled when the range is granted, or with ERROR set */
    int error;                /* [k] */
    kernel_set sharers;       /* when it is held: the members that may have something in RANGE, besides the home; no
                               * other kernel gets anything there before the release */
    enum space_lock_outcome outcome; /* what the holder tells the home when it releases the range */
    bool keeps; /* it was asked for with space_acquire_keeping; at the home, also: leases are kept for it */
    bool tries; /* [i] it was asked for with space_try_acquire */
    union {
        /* lock=home, at the home, which also keeps the requests of other kernels in this form */
        struct {
            struct list node;           /* [k] in space->locks */
            struct space *space;        /* [i] */
            struct lease_recall *start; /* recalls that lease_recall has to begin */
            uint32_t kernel;            /* [i] of the requester */
            bool granted;               /* [k] */
            bool waited;                /* [k] for another request */
            bool recalling;             /* [k] leases of other kernels in the range are being recalled */
        } home;
        struct {
            struct lamport_entry entry;
            struct list node;    /* [k] in lamport.own */
            struct space *space; /* [i] */
            kernel_set asked;    /* [i] kernels to which the request is sent */
            kernel_set notified; /* [k] kernels that have queued it */
            kernel_set members;  /* [k] as the home's reply listed them */
            bool answered;       /* [k] all asked kernels have answered */
            bool entered;        /* [k] */
            bool put_off;        /* [k] a kernel held its answer back */
        } lamport;
    };
};

/* The holder of LOCK has unmapped RANGE everywhere, or does so now: if it is all of the lock's range, and no unmap
 * fails, the home is told. */
static inline void space_lock_gone(struct space_lock *lock, struct space_range range)
{
    if (lock->outcome == LOCK_OVER && lock->range.start == range.start && lock->range.end == range.end)
        lock->outcome = LOCK_GONE;
}

/* The kernels that the holder of LOCK asks to change a part of its range: all others that may have something there. */
static inline kernel_set space_lock_others(const struct space *space, const struct space_lock *lock)
{
    return (lock->sharers | 1ull << space->home) & ~(1ull << instance.kernel);
}

/* At the home: the members that may have something in RANGE, besides the home, or more; complete if no task holds or
 * awaits a lock that overlaps RANGE, and no other kernel has a lease there. */
kernel_set space_sharers_locked(const struct space *space, struct space_range range);

/* Registers the message handlers and chooses the strategy: boot options lock= and ranges=. Once. */
void lock_init(void);

/* [i] False with ranges=off: a task locks one page or, for any larger range, the whole space, as published. */
extern bool space_ranges;
/* Acquire and release the distributed lock of RANGE; LOCK is the caller's memory. While a task here holds or awaits a
 * lock, this kernel never decides alone (DECIDES_ALONE). Acquiring allocates no memory on this kernel, but may do so on
 * another one or for the recall of a lease: -ENOMEM. Tasks only; both may wait. */
int space_acquire(struct space *space, struct space_range range, struct space_lock *lock);
void space_release(struct space *space, struct space_lock *lock);
/* As space_acquire, at the home, but waits for no other task's lock: -EAGAIN if one is held or awaited that overlaps
 * RANGE. It may wait for a recall, and with lock=lamport for the answers of all kernels. So the caller may hold other
 * ranges of the space, which space_acquire forbids. */
int space_try_acquire(struct space *space, struct space_range range, struct space_lock *lock);
/* As space_acquire of the whole space, for a fork: kernels keep what the home has leased to them, and are in
 * LOCK->sharers. So the caller freezes their leases before it reads them (lease_freeze_locked), and thaws them before
 * it releases LOCK. If LOCK has to wait, or leases are being recalled at the moment, it is as any other lock. */
int space_acquire_keeping(struct space *space, struct space_lock *lock);
/* Acquires and releases the distributed lock of [START, END), for measurements. -ENOMEM. Waits. */
int space_lock_once(struct space *space, uint64_t start, uint64_t end);
/* Removes the requests of KERNEL, which has died, for locks of SPACE. Tasks only. */
void space_lock_forget(struct space *space, uint32_t kernel);
/* Whether the locking strategy survives the death of a kernel. */
bool space_lock_survives(void);
/* Returns how many requests for distributed locks this kernel keeps, granted or not: with lock=home those at the home,
 * with lock=lamport its own and those of other kernels in its queues. */
uint64_t space_lock_count(void);

#endif
