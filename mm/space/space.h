/* Address spaces that may span kernels. Each kernel that hosts a member of a thread group has a struct space with its
 * own areas and page tables, filled on demand. The group's home has every area but those in other kernels' leases
 * (mm/lease/lease.md); others have what they fetched. A page has at most one frame in the whole machine. Popcorn
 * thesis 5.7; mm/retrieve/retrieval.md has the protocol.
 *
 * Marks: [i] set once, [k] under space->lock, [a] atomic. */
#ifndef MM_SPACE_SPACE_H
#define MM_SPACE_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/arch/x86_64/paging.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/arch/x86_64/tlb.h"
#include "kernel/instance/instance.h"
#include "mm/area/area.h"
#include "mm/area/range.h"
#include "mm/space/events.h"
#include "mm/space/strategy.h"
#include "msg/message.h"

/* Bytes; UINT64_MAX: no limit. mm/space/limit.h */
struct space_limits {
    uint64_t stack; /* of an area that grows; SPACE_STACK_MAX is one in any case */
    uint64_t data;  /* that may be written and are not shared */
    uint64_t all;
};

struct policy;
/* Policies of a space, by number: mm/mempolicy/mempolicy.h. Under space->lock. */
struct mempolicy_list {
    struct policy *known; /* by number - 1; mode DEFAULT: not known here */
    uint32_t room;
};

struct space {
    struct list node;          /* in the table of spaces */
    uint32_t references;       /* [k] table lock: the creator's one, and one for each handler at work */
    uint32_t users;            /* [k] table lock: groups on this kernel that have it */
    bool published;            /* [k] table lock: in the table */
    bool filled;               /* [k] strategy upfront: this kernel has got what there was when it began */
    uint32_t home;             /* [i] kernel; but a stop changes it while all programs are quiesced (mm/evacuate) */
    uint64_t id;               /* [i] the group's id */
    struct page_tables tables; /* [i] root */
    struct spinlock lock;
    struct area_list areas;     /* [k] */
    uint32_t slow;              /* [k] tasks here that wait for a distributed lock or have one: nobody is alone then */
    uint32_t later;             /* [k] home only: AREA_LOCKED, if new areas are to have it */
    kernel_set members;         /* [k] at the home: kernels that host it; elsewhere: as the last lock grant said */
    uint64_t break_start;       /* [k] home only; set by the loader, a fork, or a stop's successor */
    uint64_t break_now;         /* [k] home only */
    struct space_limits limits; /* [k] home only */
    struct list locks;          /* [k] home only, lock=home: requests of the lock manager in order of arrival */
    struct space_lamport lamport;   /* [k] lock=lamport */
    struct space_leases leases;     /* [k] */
    uint64_t get_count;             /* [k] questions so far */
    struct mempolicy_list policies; /* [k] */
    struct list gets;               /* [k] questions under way: mm/page/question.h */
    struct list deferred;           /* [k] what waits for their answers */
    struct list queries;            /* [k] of strategy chain: under way */
    uint64_t query_count;           /* [k] so far */
    uint64_t mode;                  /* [k] names the strategy, and how often it has changed: mm/retrieve/strategy.c */
    struct space_adapting adapting; /* [k] */
    uint32_t prefetch;              /* [k] runs of pages that an answer may bring along */
    const struct space_retrieval *retrieval; /* [k] changes only while all of the space is locked */
    struct space_stats stats;                /* [k] */
    int64_t resident;                        /* [k] pages that entries here hold, without those pending free */
    uint64_t peak;                           /* [k] the most that has been */
    uint64_t revokes_seen; /* [i] a fork's child: space_revokes when that began (mm/change/revoke.h) */
};

/* --- the table of spaces, by which messages find them --- */

/* Empties it. Once. */
void space_table_init(void);
/* From now on messages about its id reach SPACE. No other of that id is published. */
void space_publish(struct space *space);
/* The space ID here with a reference taken, or NULL. */
struct space *space_get(uint64_t id);
void space_put(struct space *space);
/* One reference more, for who has one or is a user. */
void space_hold(struct space *space);
/* The space here, that messages find, with the lowest id from ID on; with a reference, or NULL. */
struct space *space_next(uint64_t id);
/* Calls EACH for every space here that messages find. Programs are quiesced: none comes or goes; EACH may wait. */
void space_each(void (*each)(struct space *space, void *context), void *context);

/* One user more, as for vfork; each calls space_destroy of mm/life/life.h. */
void space_share(struct space *space);
/* One user less. True: it was the last, messages do not find SPACE any more, and nobody else has a reference. Waits for
 * those who have. Tasks only. */
bool space_leave(struct space *space);

/* --- who hosts it --- */

/* The other kernels that host the space, as far as is known here. */
kernel_set space_others(struct space *space);

/* --- its pages on this kernel --- */

/* Entries hold PAGES more, or less, in SPACE on this kernel. */
static inline void space_hold_pages_locked(struct space *space, int64_t pages)
{
    space->resident += pages;
    if (space->resident > (int64_t)space->peak)
        space->peak = (uint64_t)space->resident;
}
/* The most pages that this kernel has held of SPACE. */
static inline uint64_t space_peak(const struct space *space)
{
    return space->peak;
}

/* Flushes [START, END) of SPACE from the TLBs of this instance's CPUs; returns when all have. */
static inline void space_flush(const struct space *space, uint64_t start, uint64_t end)
{
    tlb_flush(space->tables.root, start, end);
}

/* Loads SPACE's page tables on this CPU; NULL: the kernel's own. */
static inline void space_load(const struct space *space)
{
    if (space != NULL)
        tlb_load(space->tables.root);
    else
        tlb_load_own();
}

#endif
