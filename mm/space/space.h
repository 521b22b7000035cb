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
#include "mm/area/area.h"
#include "mm/area/range.h"
#include "mm/lock/lamport_queue.h"
#include "mm/policy/policy.h"
#include "mm/retrieve/adapt.h"
#include "mm/space/events.h"
#include "mm/space/wire.h"
#include "msg/call.h"

/* Moving average of the time in ns that fetching from other kernels takes here, over all spaces; 0: nothing yet. */
uint64_t space_fetch_ns(void);

/* What strategy adaptive has seen since its last decision. */
struct space_adapting {
    struct adapt_window window;
    uint64_t since; /* ns; 0: nothing yet */
    uint32_t samples;
    uint64_t sample[ADAPT_WINDOW]; /* pages that came along */
};

/* lock=lamport: what a kernel knows of who wants what of a space. */
struct space_lamport {
    struct lamport_queues queues; /* every request, of tasks here and of other kernels */
    struct list own;              /* those of tasks here */
    struct list held;             /* those of other kernels that are not answered yet */
};

/* mm/lease/lease.h */
struct space_leases {
    struct area_list ranges; /* at the home all that there are, elsewhere this kernel's; the protection is the kernel */
    struct list waits;       /* home: who waits for a recall */
    uint64_t last;           /* where this kernel's latest is */
    uint64_t low;            /* home: where the last one begins that was granted */
    uint64_t recalls;        /* of what this kernel has, so far */
};

/* Bytes; UINT64_MAX: no limit. */
struct space_limits {
    uint64_t stack; /* of an area that grows; SPACE_STACK_MAX is one in any case */
    uint64_t data;  /* that may be written and are not shared */
    uint64_t all;
};

struct space {
    struct list node;          /* in the table of spaces */
    uint32_t references;       /* [k] table lock: the creator's one, and one for each handler at work */
    uint32_t users;            /* [k] table lock: groups on this kernel that have it */
    bool published;            /* [k] table lock: in the table */
    bool filled;               /* [k] strategy upfront: this kernel has got what there was when it began */
    uint32_t home;             /* [i] kernel */
    uint64_t id;               /* [i] the group's id */
    struct page_tables tables; /* [i] root */
    struct spinlock lock;
    struct area_list areas;     /* [k] */
    uint32_t slow;              /* [k] tasks here that wait for a distributed lock or have one: nobody is alone then */
    uint32_t later;             /* [k] home only: AREA_LOCKED, if new areas are to have it */
    kernel_set members;         /* [k] at the home: kernels that host it; elsewhere: as the last lock grant said */
    uint64_t break_start;       /* [i] home only */
    uint64_t break_now;         /* [k] home only */
    struct space_limits limits; /* [k] home only */
    struct list locks;          /* [k] home only, lock=home: requests of the lock manager in order of arrival */
    struct space_lamport lamport;   /* [k] lock=lamport */
    struct space_leases leases;     /* [k] */
    uint64_t get_count;             /* [k] questions so far */
    struct policy_list policies;    /* [k] */
    struct list gets;               /* [k] questions under way: mm/fault/get.h */
    struct list deferred;           /* [k] what waits for their answers */
    struct list queries;            /* [k] of strategy chain: under way */
    uint64_t query_count;           /* [k] so far */
    uint64_t mode;                  /* [k] names the strategy, and how often it has changed: mm/retrieve/strategy.c */
    struct space_adapting adapting; /* [k] */
    uint32_t prefetch;              /* [k] runs of pages that an answer may bring along */
    const struct space_retrieval *retrieval; /* [k] changes only while all of the space is locked */
    struct space_stats stats;                /* [k] */
    int64_t resident;                        /* [k] pages that entries here hold, without those in limbo */
    uint64_t peak;                           /* [k] the most that has been */
    uint64_t revokes_seen;                   /* [i] a fork's child: space_revokes when that began */
};

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
/* How operations on one space that exclude each other are ordered: one for the whole machine, chosen at boot. */
struct space_locking {
    const char *name;
    /* Waits until RANGE is this task's alone in the machine. -ENOMEM. */
    int (*acquire)(struct space *space, struct space_range range);
    /* Of a range that was acquired. Never waits. */
    void (*release)(struct space *space, struct space_range range);
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
extern const struct space_retrieval space_retrieve_home;
extern const struct space_retrieval space_retrieve_members;
extern const struct space_retrieval space_retrieve_broadcast;
extern const struct space_retrieval space_retrieve_chain;
extern const struct space_retrieval space_retrieve_upfront;
extern const struct space_retrieval space_retrieve_adaptive;
extern const struct space_locking space_lock_home;
extern const struct space_locking space_lock_lamport;
extern const struct space_locking *space_locking; /* [i] */

/* Registers the message handlers and chooses the strategies: boot options retrieve=, of which kettle_control changes
 * what new spaces have, lock= and ranges=. Once. */
void space_init(void);

/* Makes the space ID on this kernel, for one user; HOME is the home of its group. Nobody finds it before it is
 * published: another with the same id may be in use. NULL without memory. */
struct space *space_create(uint64_t id, uint32_t home);
/* From now on messages about its id reach SPACE. No other of that id is published. */
void space_publish(struct space *space);
/* One user more, as for vfork; each calls space_destroy. */
void space_share(struct space *space);
/* The space ID here with a reference taken, or NULL. */
struct space *space_get(uint64_t id);
void space_put(struct space *space);
/* One reference more, for who has one or is a user. */
void space_hold(struct space *space);
/* One user less. The last one takes the space out of the table, if it is there, and frees everything this kernel holds
 * for it: then no kernel maps its pages any more, and no CPU has its tables loaded. Tasks only. */
void space_destroy(struct space *space);

/* Gives CHILD, made by space_create with this kernel as its home and still empty, all that PARENT has on any kernel:
 * areas, break, pages. Private pages are copied by whoever writes to them first. PARENT has threads on this kernel.
 * -ENOMEM: CHILD has a part and is to be destroyed; PARENT is as before. Waits for other kernels. */
int space_fork(struct space *parent, struct space *child);
/* The child can be found by space_revoke's callers from now on: what has been revoked since the fork began goes from
 * it, too. It does not run yet. */
int space_catch_up(struct space *space);

/* The object behind FIRST (mm/area/backing.h) has lost PAGES pages from there on: no entry of SPACE, on any kernel, is
 * for one of them when this returns, but private ones unless COPIES. This kernel is its home. -ENOMEM: try again.
 * Waits. */
int space_revoke(struct space *space, uint64_t first, uint64_t pages, bool copies);
/* This kernel has heard of one that is to be done here; and how many it has. */
void space_revoke_begins(void);
uint64_t space_revokes(void);

/* Home only: what may be mapped from now on. */
void space_set_limits(struct space *space, const struct space_limits *limits);

/* Home only: KERNEL is a member from now on. Returns the mode that it gives to space_mode_note. */
uint64_t space_join(struct space *space, uint32_t kernel);
/* The space's mode at its home, when this kernel joined or later. */
void space_mode_note(struct space *space, uint64_t mode);

/* The strategies by number, from 0 on; NULL: there is none. And the number of one, or one that has none. */
const struct space_retrieval *space_strategy(uint32_t index);
uint32_t space_strategy_find(const char *name);
/* Home only: SPACE has that strategy from now on, on every kernel. -EINVAL; -ENOMEM: nothing has changed. Its threads
 * run on. Waits for the members. */
int space_retrieve_switch(struct space *space, uint32_t strategy);

/* The most that an area which grows down comes to. */
#define SPACE_STACK_MAX (8ull << 20)
/* And what it keeps free below itself. */
#define SPACE_STACK_GAP (256 * PAGE_SIZE)

/* Makes PAGE's address ADDRESS usable for ACCESS (AREA_*) on this kernel, lets an area grow if need be. 0: this kernel
 * alone could; 1: it asked others, or took the page's lock; -EFAULT: nothing is there; -EACCES: the program may not;
 * -ENXIO: it is a page of a file, behind its end; -ENOMEM: no frame. Waits for other kernels. */
int space_fault(struct space *space, uint64_t address, uint32_t access);

/* As Linux's mmap, munmap, mprotect and brk; arguments checked. They wait. HOW: enum space_map_how; without
 * a fixed place ADDRESS is a hint. PROT may have more than AREA_PROT when mapping. BACKING: what is behind it
 * (mm/area/backing.h). -EACCES: memory shared with a file is not to be written. space_discard is madvise's
 * MADV_DONTNEED; shared pages keep what they have. */
int64_t space_map(struct space *space, uint64_t address, uint64_t length, uint32_t prot, uint32_t how,
                  uint64_t backing);
/* Gives the pages of [ADDRESS, ADDRESS + LENGTH), which has been mapped with PROT, frames as far as there are any. */
void space_map_fill(struct space *space, uint64_t address, uint64_t length, uint32_t prot);
int space_unmap(struct space *space, uint64_t address, uint64_t length);
/* As shmdt: takes out what a shmat at ADDRESS has mapped (BACKING_ATTACHED), as far as it is there. -EINVAL: nothing.
 */
int space_detach(struct space *space, uint64_t address);
int space_protect(struct space *space, uint64_t address, uint64_t length, uint32_t prot);
int space_discard(struct space *space, uint64_t address, uint64_t length);
/* The area that has ADDRESS or is the first behind it: WHAT of it, and AREA_* in the low 12 bits. -ENOMEM: there is
 * none. Waits for the home. */
int64_t space_look(struct space *space, uint64_t address, enum space_look_at what);
/* All areas in [START, END) lack the bits FORBIDDEN, of which AREA_BACKED may be one, and have the bits NEEDED
 * (AREA_*): 0, or 1 when a part is in no area; -EINVAL; -EACCES: AREA_SHARED is needed, and it is a file's. */
int space_check(struct space *space, uint64_t start, uint64_t end, uint32_t forbidden, uint32_t needed);
/* The areas in [START, END) lose the bits CLEAR, of AREA_KEPT, and get the bits SET. -EINVAL: one has a bit that is
 * FORBIDDEN; -ENOMEM. Waits. */
int space_flag(struct space *space, uint64_t start, uint64_t end, uint32_t forbidden, uint32_t set, uint32_t clear);
/* New areas get AREA_LOCKED and are filled, or not, from now on. */
int space_lock_later(struct space *space, bool lock);
/* Gives the pages of [START, END) frames, for writing or reading. -EINVAL: an area forbids that; -ENOMEM: a part is in
 * no area, or there is no memory. BEST: as each area allows; -EFAULT: one allows nothing, or a file ends before. Waits.
 */
enum space_fill { SPACE_FILL_READ, SPACE_FILL_WRITE, SPACE_FILL_BEST };
int space_fill_range(struct space *space, uint64_t start, uint64_t end, enum space_fill how);
/* Which of the pages from START on, COUNT of them, 32 at most, have a frame: a bit for each. Negative: an errno. */
int64_t space_resident_pages(struct space *space, uint64_t start, uint32_t count);
/* The pages of [START, END), which is shared, are filled with zeros for all who share them. -ENOMEM: they cannot all be
 * had here, or a part is in no area any more. Waits. */
int space_empty(struct space *space, uint64_t start, uint64_t end);
/* When it returns, each thread that uses SPACE, on any kernel, has executed a full memory fence since it was called.
 * -ENOMEM. Waits. */
int space_fence(struct space *space);
/* The same for every thread on any kernel, whatever space it uses. */
int space_fence_all(void);
/* As Linux's mremap; all arguments are checked. FLAGS: as there. */
int64_t space_remap(struct space *space, uint64_t address, uint64_t old_length, uint64_t new_length, uint64_t flags,
                    uint64_t new_address);
uint64_t space_break(struct space *space, uint64_t address);
/* Takes the lock of [START, END) over all kernels and gives it back: for measuring. -ENOMEM. Waits. */
int space_lock_once(struct space *space, uint64_t start, uint64_t end);

/* For loading a program into a space that runs nowhere yet: maps [START, END) with PROT and frames at once. */
int space_populate(struct space *space, uint64_t start, uint64_t end, uint32_t prot);
/* Writes into populated pages of such a space. */
void space_write(struct space *space, uint64_t address, const void *data, uint64_t size);
void space_set_break(struct space *space, uint64_t start);

/* Copies SIZE bytes at ADDRESS of SPACE, the current program's or another's that stays, to BYTES, or WRITEs them there
 * as the program may. Returns how many; -EFAULT: none. Waits for pages. */
int64_t space_access(struct space *space, uint64_t address, void *bytes, uint64_t size, bool write);
/* For those who look from outside. The areas of space ID, of home HOME, from FROM on: HEAD (MSG_MAX bytes), areas
 * behind it; returns the length, -ESRCH. Tasks only; waits for the home. */
int space_areas_of(uint64_t id, uint32_t home, uint64_t from, struct msg_space_areas *head);
/* The most pages that this kernel has held of SPACE. */
static inline uint64_t space_peak(const struct space *space)
{
    return space->peak;
}
/* What is here of a space now. */
struct space_pages {
    uint64_t held;          /* pages that this kernel answers for: over all kernels they are the pages it has */
    uint64_t prefetch_used; /* pages that came with others' answers and were touched since */
    uint64_t huge;          /* 2 MiB of them each are mapped here by one large page */
};
void space_count_pages(struct space *space, struct space_pages *out);
/* How many spaces are here; and how many requests for distributed locks this kernel keeps, granted or not: as the home,
 * or with lock=lamport as whoever asks or hosts the space. */
uint64_t space_count(void);
uint64_t space_lock_count(void);

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

/* Between the files of mm/: apply a change to this kernel's copy alone; free what a settled unmap left (-ENOMEM: part
 * of it, try again). */
int64_t space_apply(struct space *space, const struct msg_space_change *change);
int space_settle(struct space *space, uint64_t start, uint64_t end);
void space_lock_home_init(void);
void space_lock_lamport_init(void);
void space_retrieve_init(void);
void space_retrieve_members_init(void);
void space_retrieve_home_init(void);
void space_retrieve_chain_init(void);
void space_retrieve_upfront_init(void);
void space_change_init(void);
void space_cow_init(void);
void space_fence_init(void);
void space_fork_init(void);

/* Copies to or from the current program; -EFAULT. They may wait for pages. */
int user_read(void *to, uint64_t from, uint64_t size);
int user_write(uint64_t to, const void *from, uint64_t size);
/* How many of SIZE bytes (at least 1) from ADDRESS on, up to the first page that cannot, the current program can write:
 * none is changed. Waits as those. */
uint64_t user_reach(uint64_t address, uint64_t size);
/* Copies a string of at most SIZE - 1 bytes and its NUL; returns its length, -EFAULT or -ENAMETOOLONG. */
int64_t user_read_string(char *to, uint64_t from, uint64_t size);
/* 1: ADDRESS of SPACE, the current program's, is in memory that it shares, and *FRAME is the page's; 0: it is not.
 * -EFAULT. Such a page keeps its frame as long as it is mapped. Waits for it. */
int space_shared_frame(struct space *space, uint64_t address, uint64_t *frame);
/* True when [ADDRESS, ADDRESS + SIZE) lies in the lower half. */
bool user_range(uint64_t address, uint64_t size);

#endif
