/* Address spaces that may span kernels. Each kernel that hosts a member of a thread group has a struct space with its
 * own areas and page tables, filled on demand. The group's home has every area except those in other kernels' leases
 * (mm/lease/lease.md); the other kernels have the areas they fetched. A page has at most one frame in the whole
 * machine. Popcorn thesis 5.7; mm/retrieve/retrieval.md describes the protocol.
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
#include "mm/directory/sharers.h"
#include "mm/space/account.h"
#include "mm/space/events.h"
#include "mm/space/strategy.h"
#include "msg/message.h"

/* Bytes; UINT64_MAX: no limit. mm/space/limit.h */
struct space_limits {
    uint64_t stack;  /* of an area that grows; SPACE_STACK_MAX limits it in any case */
    uint64_t data;   /* of private writable areas */
    uint64_t all;    /* of all areas */
    uint64_t locked; /* of those that have AREA_LOCKED */
};

struct policy;
/* Policies of a space, by number: mm/mempolicy/mempolicy.h. Under space->lock. */
struct mempolicy_list {
    struct policy *known; /* indexed by number - 1; mode DEFAULT: not known here */
    uint32_t room;
};

struct space {
    struct list node;          /* in the table of spaces */
    uint32_t references;       /* [k] table lock: one of the creator, and one for each running handler */
    bool published;            /* [k] table lock: in the table */
    bool filled;               /* [k] strategy upfront: this kernel has fetched what existed when it joined */
    uint32_t home;             /* [i] kernel; a kernel stop changes it while all programs are quiesced (mm/evacuate) */
    uint64_t id;               /* [i] the group's id */
    struct page_tables tables; /* [i] root */
    struct spinlock lock;
    bool at_once;           /* [k] whoever holds the lock changes the space without pauses: space_pause_locked */
    struct area_list areas; /* [k] */
    uint32_t slow;          /* [k] tasks here that hold or await a distributed lock; if not 0, never DECIDES_ALONE */
    uint32_t later;         /* [k] home only: AREA_LOCKED, if new areas are to have it; with SPACE_FILLS, filled */
    uint64_t locking;       /* [k] home only: bytes that changes under way are going to lock */
    kernel_set members;     /* [k] at the home: kernels that host it; elsewhere: as in the grants of its locks so far */
    uint64_t break_start;   /* [k] home only; set by the loader, a fork, or the successor of a stopped kernel */
    uint64_t break_now;     /* [k] home only */
    struct space_limits limits;     /* [k] home only */
    struct list locks;              /* [k] home only, lock=home: requests of the lock manager in order of arrival */
    struct space_lamport lamport;   /* [k] lock=lamport */
    struct space_leases leases;     /* [k] */
    struct sharers sharers;         /* [k] home only: where other kernels may have areas or entries */
    struct sharers owners;          /* [k] where entries here name frames of other kernels: mm/directory/owners.h */
    uint64_t taken;                 /* [k] how often forks have taken pages that this kernel owns */
    uint64_t get_count;             /* [k] fast-path questions so far */
    struct mempolicy_list policies; /* [k] */
    struct seen *seen;              /* [k] home only: who uses which memory, mm/seen; or NULL */
    struct seen_account account;    /* [k] used at the home: the time that moves by mm/seen may take */
    uint32_t seen_ends;             /* [k] of mm/seen: how often numa= had become none at the last look */
    struct seen_groups *groups;     /* [k] home only: where the threads of NUMA groups are, mm/seen; or NULL */
    struct hints *hints;            /* [k] accesses that faults have shown, mm/seen; NULL: nothing was ever hidden */
    uint64_t replicas;              /* [k] entries here that are copies: mm/page/replica.h */
    struct list gets;               /* [k] questions under way: mm/space/question.h */
    struct list deferred;           /* [k] changes deferred until their answers arrive */
    uint32_t late;                  /* [a] changes for other kernels that are deferred, or made by a worker */
    struct list queries;            /* [k] strategy chain: queries under way */
    uint64_t query_count;           /* [k] queries so far */
    uint64_t mode; /* [k] the strategy, the policy of numa=, and how often they have changed: mm/retrieve/strategy.c */
    uint32_t numa; /* [k] its own policy of numa= and way to see accesses, or the options': seen_choice_of */
    struct space_adapting adapting;          /* [k] */
    uint32_t prefetch;                       /* [k] the most runs of pages that an answer may bring along */
    const struct space_retrieval *retrieval; /* [k] changes only while all of the space is locked */
    struct space_stats stats;                /* [k] */
    int64_t resident;                        /* [k] pages that entries here hold, without those pending free */
    uint64_t table_count;                    /* [k] page tables: they are freed with the space */
    uint64_t peak;                           /* [k] the greatest value of resident so far */
    uint64_t revokes_seen; /* [i] in a fork's child: space_revokes when the fork began (mm/change/revoke.h) */
};

/* --- the table of spaces, in which message handlers look them up --- */

/* Initialises the table. Once. */
void space_table_init(void);
/* Puts SPACE into the table, so that messages about its id reach it. No other space with that id may be published. */
void space_publish(struct space *space);
/* Returns the space ID of this kernel with a reference taken, or NULL. */
struct space *space_get(uint64_t id);
void space_put(struct space *space);
/* Takes one more reference, for a caller that has one or is a user. */
void space_hold(struct space *space);
/* Returns the published space of this kernel with the lowest id that is not below ID, with a reference taken; or NULL.
 */
struct space *space_next(uint64_t id);
/* Calls EACH for every published space of this kernel. Programs are quiesced, so no space is added or removed; EACH may
 * wait. */
void space_each(void (*each)(struct space *space, void *context), void *context);

/* Takes SPACE out of the table, and waits until all references but the caller's are dropped. Tasks only. */
void space_withdraw(struct space *space);

/* If no handler or other task has SPACE, and no change of it is under way for another kernel, takes it out of the
 * table, so that space_withdraw finds no one to wait for: true. */
bool space_retire(struct space *space);

/* --- the kernels that host it --- */

/* Returns the other kernels that host the space, as far as this kernel knows. */
kernel_set space_others(struct space *space);

/* At the home: KERNEL may have areas or entries in [START, END) from now on (mm/directory/directory.md). */
void space_mark(struct space *space, uint64_t start, uint64_t end, uint32_t kernel);

/* --- its pages on this kernel --- */

/* Adds PAGES, which may be negative, to the count of pages that entries of SPACE on this kernel hold. */
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

/* Flushes [START, END) of SPACE from the TLBs of this instance's CPUs; returns when all of them have done so. */
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
