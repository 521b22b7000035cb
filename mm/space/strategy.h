/* What rooms above fill in for each space: how its operations are kept apart (mm/lock), how its pages are found on
 * other kernels (mm/retrieve), and what those and mm/lease keep of a space, in struct space (mm/space/space.h). */
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

/* How a page is found on other kernels: each space has one, which may change while it is in use
 * (mm/retrieve/strategy.c). */
struct space_retrieval {
    const char *name;
    /* Asks other members what they map at PAGE, which the caller has locked. An errno: somebody could not answer, and
     * what he has may be missing. Waits. */
    int (*fetch)(struct space *space, uint64_t page, struct msg_space_mapping *answer);
    /* PAGE, still locked, is to have FRAME, which is new, or COW and a file's: whoever has to know is told before it is
     * mapped. Waits. On an error the frame is not used. */
    int (*record)(struct space *space, uint64_t page, uint64_t frame, bool cow);
    /* The same for COUNT pages at once, of which no kernel has one; the whole space is locked. All or none. */
    int (*record_many)(struct space *space, const struct msg_space_pair *pairs, uint32_t count);
    bool home_knows;   /* the home has to map whatever any kernel maps */
    bool adapts;       /* each kernel sets by what it sees how much an answer is to bring */
    bool fills;        /* a kernel that begins to host the space gets all of it first */
    bool breaks_first; /* a page that is copy-on-write is copied before another kernel maps it */
};

#define ADAPT_WINDOW 32u /* answers between two decisions of strategy adaptive */

/* What it has seen in a window. */
struct adapt_window {
    uint32_t answers;
    uint32_t frames;           /* of them had the frame: what others have touched */
    uint32_t brought;          /* pages that came along and of which it is known ... */
    uint32_t used;             /* ... whether they were touched */
    uint64_t asked_ns, all_ns; /* time in questions, and from the first question to the last answer */
};

/* What strategy adaptive has seen since its last decision. */
struct space_adapting {
    struct adapt_window window;
    uint64_t since; /* ns; 0: nothing yet */
    uint32_t samples;
    uint64_t sample[ADAPT_WINDOW]; /* pages that came along */
};

/* --- ranges: mm/lock --- */

/* How operations on one space that exclude each other are ordered: one for the whole machine, chosen at boot. */
struct space_locking {
    const char *name;
    bool recalls; /* who acquires a range has the leases of it recalled: else there are none */
    /* With space->lock held, a task here begins to ask for the range of LOCK. True: it has it. */
    bool (*begin_locked)(struct space *space, struct space_lock *lock);
    /* Else: waits until the range is this task's alone in the machine. 0, or an errno of somebody who was asked or of a
     * recall, mostly -ENOMEM: LOCK is over. */
    int (*wait)(struct space *space, struct space_lock *lock);
    /* With space->lock held, the range is given back. *NOTICE is for completion_notify. */
    void (*end_locked)(struct space *space, struct space_lock *lock, uint32_t *notice);
    /* Then, without: other kernels are told. May wait for room in a ring. */
    void (*tell)(struct space *space, const struct space_lock *lock);
    /* space->lock is held, at the home: where the lowest request for a part of [START, END), granted or not, begins,
     * below START perhaps; the whole space does not count. END: there is none. */
    uint64_t (*busy_locked)(const struct space *space, uint64_t start, uint64_t end);
    /* The same, and there is one, for the whole space perhaps. */
    bool (*taken_locked)(const struct space *space, uint64_t start, uint64_t end);
    /* SPACE begins and, with no task here and found by no message any more, ends. */
    void (*begin)(struct space *space);
    void (*end)(struct space *space);
    /* Requests that this kernel keeps, granted or not, over all spaces. */
    uint64_t (*count)(void);
};
extern const struct space_locking *space_locking; /* [i] chosen by lock_init of mm/lock/lock.h */

/* Pages share lists by their number. A page's queue is what is there of it, and of the heavy queue: so it is made with
 * the page's first request, a heavy one stands in it at once, and it is gone with the last. mm/lock/lamport_queue.h */
#define LAMPORT_LISTS 16u
struct lamport_queues {
    struct list heavy;
    struct list pages[LAMPORT_LISTS];
};

/* lock=lamport: what a kernel knows of who wants what of a space. */
struct space_lamport {
    struct lamport_queues queues; /* every request, of tasks here and of other kernels */
    struct list own;              /* those of tasks here */
    struct list held;             /* those of other kernels that are not answered yet */
};

/* --- leases: mm/lease --- */

struct lease;
/* mm/lease/map.h */
struct lease_map {
    struct ordered leases;    /* by their ends */
    struct list order;        /* in order of addresses */
    const struct lease *last; /* what was found last, or NULL: questions come in rows */
};

struct space_leases {
    struct lease_map map; /* at the home all that there are, elsewhere this kernel's */
    struct list waits;    /* home: who waits for a recall */
    uint64_t last;        /* where this kernel's latest is */
    uint64_t low;         /* home: where the last one begins that was granted */
    uint64_t recalls;     /* of what this kernel has, so far */
};

#endif
