/* Interfaces that the layers above implement: the locking strategy (mm/lock), which orders operations on a space, and
 * the retrieval strategy (mm/retrieve), which finds its pages on other kernels; and the state that these and mm/lease
 * keep in struct space (mm/space/space.h). */
#ifndef MM_SPACE_STRATEGY_H
#define MM_SPACE_STRATEGY_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/lib/list.h"
#include "kernel/lib/ordered.h"
#include "mm/area/area.h"
#include "mm/area/range.h"

struct space;
struct space_lock; /* mm/lock/lock.h */
struct msg_space_mapping;
struct msg_space_pair;

/* --- pages of other kernels: mm/retrieve --- */

/* A retrieval strategy: how a page is found on other kernels. Each space has one, which may change while the space is
 * in use (mm/retrieve/strategy.c). */
struct space_retrieval {
    const char *name;
    void (*init)(void); /* registers the handlers of its own messages, once at boot; NULL: it has none */
    /* Asks other kernels what they map at PAGE, whose distributed lock the caller holds. Returns an errno if a kernel
     * could not answer; then its mapping may be missing from ANSWER. Waits. */
    int (*fetch)(struct space *space, uint64_t page, struct msg_space_mapping *answer);
    /* Called before FRAME, a new frame or a file's frame that is mapped COW, is mapped at PAGE, which is still locked:
     * informs the kernels that have to know it. Waits. On an error the frame is not mapped. */
    int (*record)(struct space *space, uint64_t page, uint64_t frame, bool cow);
    /* The same for COUNT pages that no kernel maps, all or none of them; the whole space is locked. */
    int (*record_many)(struct space *space, const struct msg_space_pair *pairs, uint32_t count);
    bool home_knows;   /* the home maps every page that any kernel maps */
    bool adapts;       /* each kernel adapts the number of prefetched pages to its measurements */
    bool fills;        /* a kernel fetches the whole space at its first fault that has to ask the home */
    bool breaks_first; /* a copy-on-write page is copied before another kernel maps it */
};

#define ADAPT_WINDOW 32u /* answers between two decisions of strategy adaptive */

/* What strategy adaptive has measured in a window. */
struct adapt_window {
    uint32_t answers;
    uint32_t frames;           /* answers that had a frame: pages that others have touched */
    uint32_t brought;          /* prefetched pages of which it is known whether they were touched */
    uint32_t used;             /* those of them that were touched */
    uint64_t asked_ns, all_ns; /* time in questions, and from the first question to the last answer */
};

/* What strategy adaptive has measured since its last decision. */
struct space_adapting {
    struct adapt_window window;
    uint64_t since; /* ns; 0: nothing yet */
    uint32_t samples;
    uint64_t sample[ADAPT_WINDOW]; /* pages that were prefetched */
};

/* --- ranges: mm/lock --- */

/* A locking strategy: how conflicting operations on one space are ordered. The whole machine has one, chosen at boot.
 */
struct space_locking {
    const char *name;
    bool recalls; /* acquiring a range recalls the leases of it; a strategy without this has no leases */
    /* With space->lock held: queues the request LOCK of a task here. True: the task has the lock already. */
    bool (*begin_locked)(struct space *space, struct space_lock *lock);
    /* Otherwise: waits until the range is granted to this task. Returns 0, or an errno, mostly -ENOMEM, from a kernel
     * that was asked or from a recall; LOCK is withdrawn then. */
    int (*wait)(struct space *space, struct space_lock *lock);
    /* With space->lock held: releases the range. *NOTICE is for completion_notify. */
    void (*end_locked)(struct space *space, struct space_lock *lock, uint32_t *notice);
    /* Afterwards, without space->lock: informs other kernels of the release. May wait for room in a ring. */
    void (*notify)(struct space *space, const struct space_lock *lock);
    /* At the home, with space->lock held: the start, perhaps below START, of the lowest request, granted or not, for a
     * part of [START, END); requests for the whole space do not count. END: there is none. */
    uint64_t (*busy_locked)(const struct space *space, uint64_t start, uint64_t end);
    /* Likewise: whether there is such a request, counting those for the whole space. */
    bool (*taken_locked)(const struct space *space, uint64_t start, uint64_t end);
    /* Initialise and free the strategy's state of SPACE. When it ends, no task here uses it and no message finds it. */
    void (*begin)(struct space *space);
    void (*end)(struct space *space);
    /* Removes the requests of KERNEL, which has died, granted or not. Tasks only. NULL: the strategy does not survive
     * the death of a kernel. */
    void (*forget)(struct space *space, uint32_t kernel);
    /* The number of requests that this kernel keeps, granted or not, over all spaces. */
    uint64_t (*count)(void);
};
extern const struct space_locking *space_locking; /* [i] chosen by lock_init of mm/lock/lock.h */

/* Requests for pages are hashed to lists by page number. The queue of a page consists of the requests for it in its
 * list and of the requests of the whole-space queue, so queues need not be created or removed. mm/lock/lamport_queue.h
 */
#define LAMPORT_LISTS 16u
struct lamport_queues {
    struct list heavy;
    struct list pages[LAMPORT_LISTS];
};

/* lock=lamport: the requests for ranges of a space that a kernel knows of. */
struct space_lamport {
    struct lamport_queues queues; /* every request, of tasks here and of other kernels */
    struct list own;              /* those of tasks here */
    struct list held;             /* those of other kernels whose answers are held back */
};

/* --- leases: mm/lease --- */

struct lease;
/* mm/lease/map.h */
struct lease_map {
    struct ordered leases;    /* by their ends */
    struct list order;        /* in order of addresses */
    const struct lease *last; /* a cache of the lease found last, or NULL */
    struct space_range gap;   /* a cache: a range without leases that was found last, which ends at one; empty: none */
    uint32_t empties;         /* leases of empty pages */
};

struct space_leases {
    struct lease_map map;  /* at the home all leases, elsewhere those of this kernel */
    struct list waits;     /* home: requests that wait for recalls */
    struct list under_way; /* home: recalls */
    uint64_t last;         /* the address of this kernel's latest lease */
    uint64_t low;          /* home: the start of the lease granted last */
    uint64_t recalls;      /* recalls of this kernel's leases so far */
    uint64_t noted;        /* leases of empty pages that this kernel has got so far */
    struct lease *memory;  /* not the home: for the next question that may be answered with a lease, or NULL */
    uint32_t pause;        /* home: how many such answers the next recall holds back; mm/lease/empty.c */
    uint32_t rest;         /* home: how many are still held back */
    bool quiet;            /* home: no recall has begun since the last of them */
    bool held;             /* home: a fork has the lock and leaves leases as they are; no recall begins */
    bool torn;             /* home: a recall has failed when its holder had given the lease up: lease_torn_locked */
    bool frozen;           /* not the home: a fork reads what is leased to this kernel, which decides nothing there */
};

#endif
