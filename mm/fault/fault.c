/* Page faults, from a program or from the kernel on its behalf. See mm/retrieve/retrieval.md.
 *
 * If this kernel may decide (mm/lease/decide.h), one critical section of space->lock is enough: only this kernel hosts
 * the space, or it has leased the page, or it is the home and its tables are the directory. If the home's tables are
 * the directory and this is another kernel, one question to the home (mm/fault/get.c, the fast path) answers most
 * faults. The rest take the page's distributed lock, which excludes every other kernel, and use the retrieval strategy.
 */
#include "mm/fault/fault.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/window.h"
#include "kernel/lib/panic.h"
#include "mm/area/backing.h"
#include "mm/fault/around.h"
#include "mm/fault/cow.h"
#include "mm/fault/get.h"
#include "mm/fault/grow.h"
#include "mm/fault/huge.h"
#include "mm/fault/still.h"
#include "mm/file/page.h"
#include "mm/frame/frame.h"
#include "mm/frame/object_page.h"
#include "mm/frame/reference.h"
#include "mm/lease/decide.h"
#include "mm/lock/lock.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/page/install.h"
#include "mm/page/replica.h"
#include "mm/page/zero_page.h"
#include "mm/retrieve/adaptive.h"
#include "mm/retrieve/upfront.h"
#include "mm/seen/hint.h"
#include "mm/seen/mark.h"
#include "mm/seen/seen.h"
#include "mm/space/entry.h"
#include "mm/space/question.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/slice.h"

#define FETCH_NS_MAX 1000000000ull
#define TIMED 8u

void (*space_touch_marked)(struct space *space, uint64_t page);

/* Maps a new frame of this kernel at PAGE, whose entry paging_look has returned as SEEN: it is empty, or there is no
 * table for it. 1: by the mempolicy the frame has to come from another kernel's memory, or that is not known without a
 * question; -ENOMEM. */
static int install_new_locked(struct space *space, uint64_t page, uint32_t prot, const uint64_t *seen)
{
    uint64_t *entry = paging_entry_seen(&space->tables, page, seen);
    bool elsewhere = false;
    uint64_t frame = entry != NULL ? mempolicy_frame_here_locked(space, prot, page, true, &elsewhere) : 0;

    if (frame == 0)
        return elsewhere ? 1 : -ENOMEM;
    frame_share(frame);
    *entry = space_entry_own(frame, prot, false, 0);
    space_hold_pages_locked(space, 1);
    return 0;
}

static bool pending_free(const uint64_t *entry)
{
    return entry != NULL && (*entry & PAGING_SOFT_PENDING_FREE) != 0;
}

enum resolved { RESOLVED, NOT_KNOWN, NEEDS_LOCK, WANTS_HUGE, WANTS_FRAME, WANTS_MOVE };

/* True when no other kernel has an entry for PAGE, at which the home, this kernel, decides. */
static bool only_here_locked(const struct space *space, uint64_t page)
{
    return (space_sharers_locked(space, (struct space_range){page, page + PAGE_SIZE}) & ~(1ull << instance.kernel)) ==
           0;
}

/* What a task has done for a fault before this kernel decides on it. */
struct prepared {
    bool huge;      /* it can make a large page */
    bool frames;    /* it can get a frame from another kernel's memory */
    bool moves;     /* it can move a marked page */
    uint64_t frame; /* such a frame, or 0: none, or it is mapped now */
    uint32_t prot;  /* of the area for which a frame, or a large page, is wanted */
};

/* Maps a new frame at PAGE, whose entry is SEEN (paging_look): one of this kernel, or the prepared one. An enum
 * resolved. */
static inline __attribute__((always_inline)) int new_frame_locked(struct space *space, uint64_t page, uint32_t prot,
                                                                  const uint64_t *seen, struct prepared *prepared)
{
    int result = 0;

    if (prepared->frame == 0)
        result = install_new_locked(space, page, prot, seen);
    else if ((result = space_install_locked(space, page, prepared->frame, prot, true, false)) == 0)
        prepared->frame = 0;
    prepared->prot = prot;
    if (result == 0)
        return RESOLVED;
    return result > 0 && prepared->frames ? WANTS_FRAME : NEEDS_LOCK; /* to ask other kernels for memory */
}

/* What a page of AREA, which has a backing, gets instead of a new frame: a file's page, or -ENXIO behind the end of the
 * object. NOT_KNOWN: a new frame. */
static __attribute__((noinline)) int backed_locked(struct space *space, uint64_t page, const struct area *area,
                                                   uint32_t access)
{
    uint64_t backing = area_backing_at(area, page);
    int result;

    if (!backing_is_file(backing))
        return backing_left(backing) != 0 ? NOT_KNOWN : -ENXIO;
    result = space_install_file_locked(space, page, area, access, NULL);
    if (result == 0 && (access & AREA_WRITE) == 0)
        around_map_locked(space, page, area, AROUND_HERE);
    return result > 0 ? NEEDS_LOCK : result;
}

/* PAGE of AREA, whose pages processes share, has a new frame. */
static __attribute__((noinline)) void name_new_locked(const struct space *space, uint64_t page, const struct area *area,
                                                      const uint64_t *entry)
{
    if (entry == NULL) /* its table is new */
        entry = paging_look(&space->tables, page);
    if ((*entry & PAGING_SOFT_REMOTE) == 0)
        frame_set_object_page(*entry & PAGING_FRAME, area->backing + (page - area->start) / PAGE_SIZE);
}

/* Resolves a fault with what this kernel knows, and may decide at PAGE (DECIDES). Returns an enum resolved, of which
 * WANTS_HUGE, WANTS_FRAME and WANTS_MOVE only if PREPARED says so, and NOT_KNOWN also for a write to a copy-on-write
 * page; -EACCES: the area forbids the access; -EHWPOISON: its pages are lost; -EFAULT: there is no area (never with
 * DECIDES_NOT); -ENXIO: the page is behind the end of its object; -ENOMEM. */
static inline __attribute__((always_inline)) int resolve_locked(struct space *space, uint64_t page, uint32_t access,
                                                                enum space_decides decides, struct prepared *prepared)
{
    struct area *area = area_find(&space->areas, page);
    const uint64_t *entry = paging_look(&space->tables, page);
    int result;

    if (pending_free(entry))
        return NEEDS_LOCK;
    if (area == NULL)
        return decides != DECIDES_NOT ? -EFAULT : NOT_KNOWN;
    if (!area_allows(area->prot, access))
        return space_forbidden(area->prot);
    if (__builtin_expect(space->hints != NULL, 0) && entry != NULL) {
        if (prepared->moves && mark_touched_locked(space, area, page, entry))
            return WANTS_MOVE;
        hint_take_locked(space, page, entry);
    }
    if (entry != NULL && (*entry & PAGING_SOFT_STILL) != 0 && (access & AREA_WRITE) != 0) {
        space->stats.moving_written++;
        return NEEDS_LOCK; /* which waits for the end of the move */
    }
    if (entry != NULL && (access & AREA_WRITE) != 0 && zero_page_is(*entry)) {
        if (decides != DECIDES_NOT && mempolicy_is_near_locked(space, area->prot, page))
            return zero_page_replace_locked(space, page, paging_entry(&space->tables, page, false), area->prot);
        /* the new frame may have to be recorded at the home, or come from another kernel */
        zero_page_let_go_locked(space, page, paging_entry(&space->tables, page, false));
    }
    if (entry != NULL && __builtin_expect(replica_is(*entry), 0) && (access & AREA_WRITE) != 0)
        replicas_drop_locked(space, page, page + PAGE_SIZE); /* the page is asked for, as if nothing were here */
    if (entry != NULL && (*entry & PAGING_SOFT_COW) != 0 && (access & AREA_WRITE) != 0) {
        if (decides == DECIDES_NOT)
            return NOT_KNOWN;
        if (decides == DECIDES_MISSING && !only_here_locked(space, page))
            return NEEDS_LOCK;
        return space_cow_alone_locked(space, page, paging_entry(&space->tables, page, false), area->prot);
    }
    if (entry != NULL && *entry != 0) /* another thread was faster, or the TLB was stale, or a question is under way */
        return (*entry & PAGING_SOFT_ASKED) != 0 ? NOT_KNOWN : RESOLVED;
    if (decides == DECIDES_NOT)
        return NOT_KNOWN;
    if (prepared->huge && huge_wanted_locked(space, area, page, access) &&
        mempolicy_is_known_locked(space, area->prot)) {
        prepared->prot = area->prot;
        return WANTS_HUGE;
    }
    space->stats.faults_local++;
    if (area->backing != BACKING_NONE) {
        result = backed_locked(space, page, area, access);
        if (result != NOT_KNOWN)
            return result;
    }
    if ((access & AREA_WRITE) == 0 && (area->prot & AREA_SHARED) == 0 && decides == DECIDES_ALONE &&
        zero_page_map_locked(space, page, area->prot))
        return 0;
    result = new_frame_locked(space, page, area->prot, entry, prepared);
    if (area->backing != BACKING_NONE && result == RESOLVED)
        name_new_locked(space, page, area, entry);
    return result;
}

/* A frame for a page that no kernel maps. COUNTED: the frame has a reference for it already, even if it is this
 * kernel's. */
struct fresh {
    uint64_t frame;
    bool cow, counted;
};

/* Sets *FRAME to a frame for PAGE, as mempolicy_frame, with a copy of the file's page BACKING. */
static int copy_make(struct space *space, uint64_t page, uint32_t prot, uint64_t backing, uint64_t *frame)
{
    uint64_t source;
    int error = file_page_get(backing, page, false, &source);

    if (error != 0)
        return error;
    *frame = mempolicy_frame(space, prot, page, source);
    release_one(source);
    return *frame != 0 ? 0 : -ENOMEM;
}

static int fresh_make(struct space *space, uint64_t page, struct fresh *fresh, uint32_t prot, uint64_t backing,
                      uint32_t access)
{
    *fresh = (struct fresh){0};
    if (backing_is_file(backing) && !space_wants_copy(prot, access)) {
        fresh->cow = (prot & AREA_SHARED) == 0;
        fresh->counted = true;
        return file_page_get(backing, page, (access & AREA_WRITE) != 0, &fresh->frame);
    }
    if (backing_is_file(backing))
        return copy_make(space, page, prot, backing, &fresh->frame);
    if (backing_is_anonymous(backing) && backing_left(backing) == 0)
        return -ENXIO;
    fresh->frame = mempolicy_frame(space, prot, page, 0);
    return fresh->frame != 0 ? 0 : -ENOMEM;
}

/* Drops FRESH's frame, which is not used, or FRESH's reference, if space_install has counted one of its own. */
static void fresh_drop(const struct fresh *fresh)
{
    if (fresh->counted)
        release_one(fresh->frame);
    else
        space_drop_new(fresh->frame);
}

/* Gets a frame for PAGE, in an area with PROT and BACKING, records it as the strategy requires, and maps it. All that
 * can fail precedes the record, because other kernels may map the frame after it. */
static int install_recorded(struct space *space, uint64_t page, uint32_t prot, uint64_t backing, uint32_t access)
{
    struct fresh fresh;
    int error = fresh_make(space, page, &fresh, prot, backing, access);
    bool room;

    if (error != 0)
        return error;
    spin_lock(&space->lock);
    room = paging_entry(&space->tables, page, true) != NULL;
    spin_unlock(&space->lock);
    error = room ? space->retrieval->record(space, page, fresh.frame, fresh.cow) : -ENOMEM;
    if (error != 0) {
        fresh_drop(&fresh);
        return error;
    }
    error = space_install(space, page, fresh.frame, true, fresh.cow);
    assert(error == 0); /* the area and the table exist, and the page is locked */
    if (fresh.counted && window_owns(fresh.frame, PAGE_SIZE))
        fresh_drop(&fresh);
    return 0;
}

static volatile uint64_t fetch_ns; /* [a] */

/* Not atomic: two CPUs at once lose a sample, which an average tolerates. A sample counts as one second at most. */
static void note_fetch(uint64_t ns)
{
    uint64_t old = fetch_ns;

    if (ns > FETCH_NS_MAX)
        ns = FETCH_NS_MAX;
    fetch_ns = old == 0 ? ns : old - old / 8 + ns / 8;
}

uint64_t space_fetch_ns(void)
{
    return fetch_ns;
}

/* Maps at PAGE what another kernel has answered: its frame, or a copy of it if the page is replicated. -ENOMEM. */
static int install_found_locked(struct space *space, uint64_t page, const struct msg_space_mapping *answer,
                                uint32_t prot)
{
    bool replicated = answer->cow != 0 && answer->replicated != 0;
    uint64_t *entry, spare = 0;

    if (replicated && answer->marked == 0 && paging_entry(&space->tables, page, true) != NULL &&
        replica_install_locked(space, page, answer->frame, prot, &spare))
        return 0;
    if (space_install_locked(space, page, answer->frame, prot, false, answer->cow != 0) != 0)
        return -ENOMEM;
    entry = paging_entry(&space->tables, page, false);
    *entry |= replicated ? PAGING_SOFT_REPLICATED : 0;
    seen_mapped_locked(space, answer->frame);
    return 0;
}

/* A write to a copy-on-write page: as space_cow_break. */
static int break_cow(struct space *space, uint64_t page, uint64_t frame, kernel_set others, uint32_t spaces,
                     bool replicated)
{
    int error = space_cow_break(space, page, frame, others, spaces, replicated);

    if (error == 0 && replicated) {
        spin_lock(&space->lock);
        space->stats.collapses++;
        spin_unlock(&space->lock);
    }
    return error;
}

/* Resolves a fault with the page's distributed lock held: no other task changes any kernel's entry for the page.
 * OTHERS: the other kernels that may map it. */
static int fault_shared(struct space *space, uint64_t page, uint32_t access, kernel_set others)
{
    int error;
    uint64_t began;
    struct msg_space_mapping answer;
    struct area *area;
    const uint64_t *entry;
    uint64_t here;
    uint64_t backing = BACKING_NONE;
    uint32_t prot = 0;
    struct prepared none = {0};
    bool copy;
    int result;

    spin_lock(&space->lock);
    space_still_end_locked(space, page);
    result = resolve_locked(space, page, access, DECIDES_NOT, &none);
    entry = paging_look(&space->tables, page);
    here = entry != NULL ? *entry : 0;
    if (result > 0 && pending_free(entry))
        result = -ENOMEM; /* an unmap has run out of memory; the page is unusable until another unmap completes it */
    spin_unlock(&space->lock);
    if (result <= 0)
        return result;
    if (here !=
        0) /* a COW page: a question about it that is under way is answered BUSY, so it is still there to read */
        return (access & AREA_WRITE) != 0
                   ? break_cow(space, page, here & PAGING_FRAME, others, 0, (here & PAGING_SOFT_REPLICATED) != 0)
                   : 0;

    began = clock_now();
    error = space->retrieval->fetch(space, page, &answer);
    note_fetch(clock_now() - began);
    if (answer.kind == SPACE_FRAME) /* ERROR does not matter: a kernel that failed to answer has this frame, or none */
        error = (answer.frame & ~PAGING_FRAME) != 0 || frame_owner(answer.frame) == KERNELS_MAX ? -EPROTO : 0;
    if (error != 0)
        return error == -EHOSTDOWN ? error : -ENOMEM;

    spin_lock(&space->lock);
    space->stats.fetches++;
    area = area_find(&space->areas, page);
    space_count_answer_locked(space, answer.kind, backing_is_file(answer.backing));
    result = 0;
    if (area == NULL && answer.kind != SPACE_NONE) {
        uint32_t follows = space->home != instance.kernel ? 1 : 0; /* a piece of an area of the home */

        space->areas.follows += follows;
        /* only the page is locked: its surroundings may be changing */
        result = area_set_backed(&space->areas, page, page + PAGE_SIZE, answer.prot, answer.backing);
        space->areas.follows -= follows;
        area = result == 0 ? area_find(&space->areas, page) : NULL;
    }
    if (result == 0 && area == NULL)
        result = -EFAULT;
    if (result == 0 && (!area_allows(area->prot, access) || (answer.prot & AREA_LOST) != 0))
        result = space_forbidden(area->prot | answer.prot);
    if (result == 0) {
        prot = area->prot;
        backing = area_backing_at(area, page);
    }
    /* breaks_first does not apply to a file: its frame is the same for all kernels until a write */
    copy = answer.kind == SPACE_FRAME && answer.cow != 0 &&
           ((access & AREA_WRITE) != 0 || (space->retrieval->breaks_first && !backing_is_file(backing)));
    if (result == 0 && answer.kind == SPACE_FRAME && !copy)
        result = install_found_locked(space, page, &answer, prot);
    if (result == 0 && answer.kind == SPACE_FRAME && !copy && answer.marked != 0)
        mark_new_locked(space, page); /* the access is made again, and moves the page */
    spin_unlock(&space->lock);
    if (result == 0 && copy)
        return break_cow(space, page, answer.frame, others, answer.spaces, answer.replicated != 0);
    if (result == 0 && answer.kind != SPACE_FRAME)
        result = install_recorded(space, page, prot, backing, access);
    return result;
}

/* Gets what the fault lacks, without a lock. False: there is none. */
static bool prepare(struct space *space, uint64_t page, struct prepared *prepared)
{
    prepared->frames = false;
    prepared->frame = mempolicy_frame(space, prepared->prot, page, 0);
    return prepared->frame != 0;
}

static int resolve(struct space *space, uint64_t page, uint32_t access)
{
    struct prepared prepared = {.huge = true, .frames = true, .moves = space_touch_marked != NULL};
    enum space_decides decides;
    int result;

    for (;;) {
        spin_lock(&space->lock);
        decides = space_decides_locked(space, (struct space_range){page, page + PAGE_SIZE}, DECIDES_MISSING);
        result = resolve_locked(space, page, access, decides, &prepared);
        spin_unlock(&space->lock);
        if (result == WANTS_HUGE) {
            if (huge_map(space, page, prepared.prot, access)) {
                result = RESOLVED;
                break;
            }
            prepared.huge = false;
        } else if (result == WANTS_MOVE) {
            space_touch_marked(space, page);
            prepared.moves = false;
        } else if (result != WANTS_FRAME) {
            break;
        } else if (!prepare(space, page, &prepared)) {
            return NEEDS_LOCK;
        }
    }
    if (prepared.frame != 0)
        space_drop_new(prepared.frame);
    return result == -EACCES && decides == DECIDES_NOT ? NEEDS_LOCK
                                                       : result; /* a change may be under way that allows it */
}

/* space_get_page, whose time is noted for one question of TIMED: an average needs no more. */
static int get_timed(struct space *space, uint64_t page, uint32_t access)
{
    bool adapts = space->retrieval->adapts, timed = adapts || space->get_count % TIMED == 0;
    uint64_t began = timed ? clock_now() : 0;
    int result = space_get_page(space, page, access);

    if (timed)
        note_fetch(clock_now() - began);
    if (adapts && space_adapt_fault(space, began))
        space_fill(space); /* an error is ignored: pages that are left out are fetched one by one */
    return result;
}

/* Resolves a fault with the page's lock. 1: done. */
static int fault_with_lock(struct space *space, uint64_t page, uint32_t access)
{
    struct space_range range = {page, page + PAGE_SIZE};
    struct space_lock lock;
    int result = space_acquire(space, range, &lock);

    if (result != 0)
        return result;
    space_gets_await(space, range); /* questions that begin later bring nothing for the page */
    result = fault_shared(space, page, access, space_lock_others(space, &lock));
    space_release(space, &lock);
    return result == 0 ? 1 : result;
}

/* fault_within, after RESULT of resolve. */
static __attribute__((noinline)) int fault_asking(struct space *space, uint64_t page, uint32_t access, int result)
{
    bool asked = false;

    if (result == NOT_KNOWN && space->retrieval->fills && !space->filled && space->home != instance.kernel) {
        space_fill(space); /* an error is ignored: pages that are left out are fetched one by one */
        result = resolve(space, page, access);
    }
    while (result == NOT_KNOWN && !asked && space_get_possible(space)) {
        result = get_timed(space, page, access);
        asked = result != SPACE_GET_AGAIN;
        if (!asked)
            result = resolve(space, page, access);
    }
    if (result <= 0 && result != -ENOMEM) /* -ENOMEM: with the page's lock, other kernels can be asked for a frame */
        return result == 0 ? asked : result;
    return fault_with_lock(space, page, access);
}

/* Resolves a fault without letting an area grow. 0 or 1 as space_fault. */
static inline int fault_within(struct space *space, uint64_t page, uint32_t access)
{
    int result = resolve(space, page, access);

    return result == RESOLVED ? 0 : fault_asking(space, page, access, result);
}

int space_fault(struct space *space, uint64_t address, uint32_t access)
{
    uint64_t page = address & ~(PAGE_SIZE - 1);
    int result;

    if (address >= USER_END)
        return -EFAULT;
    do {
        result = fault_within(space, page, access);
        if (result != -EFAULT)
            return result;
        result = space_grow(space, page, access);
    } while (result == 0);
    return result;
}

int space_touch(struct space *space, uint64_t start, uint64_t end, uint32_t access)
{
    int error = 0;

    for (uint64_t page = start; page < end && error >= 0; page += PAGE_SIZE) {
        error = fault_within(space, page, access);
        if (slice_check()) /* a space that is alone takes no messages otherwise */
            return -EINTR;
    }
    return error < 0 ? error : 0;
}
