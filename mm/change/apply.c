/* Applies changes of an address space on one kernel: to its areas, entries and TLBs. Functions that end in _locked need
 * space->lock; nothing here waits, except for the TLB flushes of this instance's CPUs, and changes of ranges that are
 * long (mm/change/walk.c) pause between slices. See mm/retrieve/retrieval.md. */
#include "kernel/abi/errno.h"
#include "mm/area/backing.h"
#include "mm/change/internal.h"
#include "mm/file/hold.h"
#include "mm/frame/frame.h"
#include "mm/frame/object_page.h"
#include "mm/frame/reference.h"
#include "mm/lease/decide.h"
#include "mm/lease/lease.h"
#include "mm/lease/room.h"
#include "mm/retrieve/strategy.h"
#include "mm/space/call_home.h"
#include "mm/space/entry.h"
#include "mm/space/limit.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"

#define SETTLED_AT_ONCE (128 * PAGE_SIZE) /* a power of two */

/* How a change rewrites the entries of a range. */
enum rewrite_kind {
    REWRITE_PROTECT,
    REWRITE_UNMAP,
    REWRITE_FREE, /* as UNMAP, where no other kernel has anything: this kernel's frames need not become pending free */
    REWRITE_WRITE_PROTECT,
    REWRITE_UNMAP_FILE /* as UNMAP, of a private area: only pages of the file behind it, not copies of them */
};

struct rewrite {
    enum rewrite_kind kind;
    uint32_t prot;
    bool at_home; /* REWRITE_UNMAP_FILE: this is the home */
    bool flush;   /* a TLB may have an entry that is no longer valid */
    bool owns;    /* the range has an owning entry */
    bool pending; /* the range has entries that are pending free now */
    uint32_t prefetch_used;
    int64_t let_go;          /* owning entries that became pending free, or empty */
    struct freeing *freeing; /* REWRITE_FREE */
    uint64_t start, named;   /* REWRITE_UNMAP_FILE: a page of the area, and the name of the file's page there */
};

/* This kernel's frames that no entry names any more; TLBs may have entries for them from START on. */
struct freeing {
    const struct space *space;
    uint64_t start;
    struct frame_runs runs;
};

static struct freeing *freeing_begin(struct freeing *freeing, const struct space *space, uint64_t start)
{
    freeing->space = space;
    freeing->start = start;
    freeing->runs.count = 0;
    return freeing;
}

/* Releases the frames of entries below END, once no TLB has them. */
static void free_frames(struct freeing *freeing, uint64_t end)
{
    space_flush(freeing->space, freeing->start, end);
    freeing->start = end;
    frame_runs_release(&freeing->runs);
}

/* Empties ENTRY, which owns a frame of this kernel. */
static __attribute__((noinline)) void free_entry(struct rewrite *rewrite, uint64_t va, uint64_t *entry)
{
    uint64_t frame = *entry & PAGING_FRAME;

    *entry = 0;
    if (frame_runs_add(&rewrite->freeing->runs, frame))
        return;
    free_frames(rewrite->freeing, va);
    frame_runs_add(&rewrite->freeing->runs, frame);
}

/* True if OLD, the entry of VA in a private area, is to go because the file behind it has lost the page. The home is
 * the file's kernel, so the file's frames that it maps have their names there, and only those. Other kernels may have
 * borrowed them; what else they have borrowed they can fetch again. */
static bool is_of_file(const struct rewrite *rewrite, uint64_t va, uint64_t old)
{
    if (!rewrite->at_home)
        return (old & PAGING_SOFT_OWNING) == 0;
    return (old & (PAGING_SOFT_COW | PAGING_SOFT_OWNING | PAGING_SOFT_REMOTE)) ==
               (PAGING_SOFT_COW | PAGING_SOFT_OWNING) &&
           frame_object_page(old & PAGING_FRAME) == rewrite->named + (va - rewrite->start) / PAGE_SIZE;
}

static void rewrite_entry(void *context, uint64_t va, uint64_t *entry, uint64_t size)
{
    struct rewrite *rewrite = context;
    uint64_t old = *entry;
    uint64_t keep = old &
                    (PAGING_FRAME | PAGING_SOFT_REMOTE | PAGING_SOFT_OWNING | PAGING_SOFT_COW | PAGING_SOFT_REPLICATED);
    uint64_t seen = old & (PAGING_SOFT_PREFETCHED | PAGING_ACCESSED);

    (void)size;
    if ((old & PAGING_SOFT_PENDING_FREE) != 0) {
        rewrite->pending = true;
        return; /* only SPACE_SETTLE changes such an entry */
    }
    if (rewrite->kind == REWRITE_UNMAP_FILE && !is_of_file(rewrite, va, old))
        return;
    if ((old & PAGING_SOFT_OWNING) != 0)
        rewrite->owns = true;
    if (rewrite->kind != REWRITE_WRITE_PROTECT || (old & PAGING_WRITE) != 0)
        rewrite->flush = true;
    if (rewrite->kind == REWRITE_PROTECT)
        *entry = keep | seen | space_page_flags(rewrite->prot, (keep & PAGING_SOFT_COW) != 0);
    else if (rewrite->kind == REWRITE_WRITE_PROTECT)
        *entry = (old & ~PAGING_WRITE) | PAGING_SOFT_COW;
    else {
        rewrite->prefetch_used += space_prefetch_used(old);
        rewrite->let_go += (keep & PAGING_SOFT_OWNING) != 0;
        if (rewrite->kind == REWRITE_FREE && (keep & (PAGING_SOFT_OWNING | PAGING_SOFT_REMOTE)) == PAGING_SOFT_OWNING) {
            free_entry(rewrite, va, entry);
            return;
        }
        *entry = (keep & PAGING_SOFT_OWNING) != 0 ? keep | PAGING_SOFT_PENDING_FREE : 0;
        rewrite->pending |= (keep & PAGING_SOFT_OWNING) != 0;
    }
}

/* Adds up what REWRITE has changed since the last call. */
static void count_locked(struct space *space, struct rewrite *rewrite)
{
    space->stats.prefetch_used += rewrite->prefetch_used;
    space_hold_pages_locked(space, -rewrite->let_go);
    rewrite->prefetch_used = 0;
    rewrite->let_go = 0;
}

/* The end of a rewrite of [START, END): flushes, releases and counts. Returns SPACE_PENDING or 0. */
static inline __attribute__((always_inline)) int rewritten(struct space *space, struct rewrite *rewrite, uint64_t start,
                                                           uint64_t end)
{
    count_locked(space, rewrite);
    if (rewrite->flush)
        space_flush(space, start, end);
    if (rewrite->freeing != NULL && rewrite->freeing->runs.count != 0)
        frame_runs_release(&rewrite->freeing->runs);
    return rewrite->pending ? SPACE_PENDING : 0;
}

/* Rewrites the entries of [START, END) table by table, or in smaller steps if frames are freed. Most ranges are one
 * step, for which no table is searched beforehand. */
static void rewrite_tables_locked(struct space *space, uint64_t start, uint64_t end, struct rewrite *rewrite)
{
    uint64_t step = rewrite->freeing != NULL ? SETTLED_AT_ONCE : LEAF_SIZE, stop;

    if (end - start <= step && start / LEAF_SIZE == (end - 1) / LEAF_SIZE) {
        paging_visit(&space->tables, start, end, rewrite_entry, rewrite);
        count_locked(space, rewrite);
        return;
    }
    for (uint64_t at = start; space_next_pages_locked(space, &at, end, step, &stop); at = stop) {
        if (at != start) {
            count_locked(space, rewrite);
            if (rewrite->freeing != NULL)
                free_frames(rewrite->freeing, at); /* more would be a long silence */
            space_pause_locked(space);
        }
        paging_visit(&space->tables, at, stop, rewrite_entry, rewrite);
    }
    count_locked(space, rewrite);
}

/* Returns SPACE_PENDING if the range has entries that are pending free now, else 0. */
static int rewrite_range_locked(struct space *space, uint64_t start, uint64_t end, uint32_t prot,
                                enum rewrite_kind kind)
{
    struct freeing freeing;
    struct rewrite rewrite = {.prot = prot, .kind = kind};
    uint64_t *only = end - start == PAGE_SIZE ? paging_entry(&space->tables, start, false) : NULL;

    if (kind == REWRITE_FREE)
        rewrite.freeing = freeing_begin(&freeing, space, start);
    if (only == NULL)
        rewrite_tables_locked(space, start, end, &rewrite);
    else if (*only != 0) /* the fast path of a change of one page */
        rewrite_entry(&rewrite, start, only, PAGE_SIZE);
    return rewritten(space, &rewrite, start, end);
}

/* The same for a file's pages in a private area, the first of which is NAMED. */
static int unmap_file_locked(struct space *space, uint64_t start, uint64_t end, uint64_t named)
{
    struct rewrite rewrite = {
        .kind = REWRITE_UNMAP_FILE, .at_home = space->home == instance.kernel, .start = start, .named = named};

    rewrite_tables_locked(space, start, end, &rewrite);
    return rewritten(space, &rewrite, start, end);
}

/* Rewrites the entries of private areas in [START, END). *OWNS: the range may have an owning entry here. Returns
 * SPACE_PENDING if it has entries that are pending free now, else 0. */
static int rewrite_private_locked(struct space *space, uint64_t start, uint64_t end, enum rewrite_kind kind, bool *owns)
{
    struct freeing freeing;
    struct rewrite rewrite = {.kind = kind};
    const struct area *area;
    uint32_t areas = 0;

    if (kind == REWRITE_FREE)
        rewrite.freeing = freeing_begin(&freeing, space, start);
    for (uint64_t at = start; at < end && (area = area_next(&space->areas, at)) != NULL && area->start < end;) {
        uint64_t from = area->start > at ? area->start : at;

        at = area->end < end ? area->end : end;
        if (++areas % AREAS_AT_ONCE == 0) {
            space_pause_locked(space);
            area = area_find(&space->areas, from); /* the lock of the range keeps it, but it may have been merged */
        }
        if (kind == REWRITE_WRITE_PROTECT && (area->prot & AREA_NOT_COPIED) != 0)
            continue;
        if ((area->prot & AREA_SHARED) != 0)
            rewrite.owns = true; /* shared areas are not visited: one may have owning entries */
        else
            rewrite_tables_locked(space, from, at, &rewrite);
    }
    *owns = rewrite.owns;
    return rewritten(space, &rewrite, start, end);
}

struct settle {
    struct releasing releasing; /* frames of other kernels */
    struct frame_runs own;
    int error;
};

static void settle_entry(void *context, uint64_t va, uint64_t *entry, uint64_t size)
{
    struct settle *settle = context;

    (void)va;
    (void)size;
    if ((*entry & PAGING_SOFT_PENDING_FREE) == 0)
        return;
    if ((*entry & PAGING_SOFT_REMOTE) == 0) {
        frame_runs_drop(&settle->own, *entry & PAGING_FRAME);
        *entry = 0;
    } else if (release_add(&settle->releasing, *entry & PAGING_FRAME) == 0) {
        *entry = 0;
    } else {
        settle->error = -ENOMEM;
    }
}

int space_settle_locked(struct space *space, uint64_t start, uint64_t end)
{
    struct settle settle;
    uint64_t stop;

    settle.releasing = (struct releasing){0};
    settle.own.count = 0;
    settle.error = 0;
    for (uint64_t at = start; space_next_pages_locked(space, &at, end, SETTLED_AT_ONCE, &stop); at = stop) {
        if (at != start) {
            frame_runs_release(&settle.own);
            space_pause_locked(space);
        }
        paging_visit(&space->tables, at, stop, settle_entry, &settle);
    }
    frame_runs_release(&settle.own);
    release_send(&settle.releasing);
    return settle.error;
}

int space_settle(struct space *space, uint64_t start, uint64_t end)
{
    int error;

    spin_lock(&space->lock);
    error = space_settle_locked(space, start, end);
    spin_unlock(&space->lock);
    return error;
}

/* The backing of the new area of CHANGE, a SPACE_MAP. */
static uint64_t backing_of_locked(const struct space *space, const struct msg_space_change *change)
{
    const struct area *before;

    if ((change->map.how & SPACE_MAP_GOES_ON) == 0)
        return change->map.backing;
    before = change->start > 0 ? area_find(&space->areas, change->start - PAGE_SIZE) : NULL;
    return before != NULL ? area_backing_at(before, change->start) : BACKING_NONE;
}

static bool shares_file(uint32_t prot, uint64_t backing)
{
    return (prot & AREA_SHARED) != 0 && backing_is_file(backing);
}

bool space_leased_change_locked(const struct space *space, const struct msg_space_change *change)
{
    if (change->operation == MSG_SPACE_MAP && ((change->map.how & (SPACE_MAP_FIXED | SPACE_MAP_KEEP)) == 0 ||
                                               !lease_may_have(change->prot, change->map.backing)))
        return false;
    return space_decides_locked(space, space_change_range(change), DECIDES_LEASE) != DECIDES_NOT;
}

/* True when this kernel has all areas in the range of CHANGE, which is not a SPACE_MAP. */
static bool knows_all_locked(const struct space *space, const struct msg_space_change *change)
{
    return space->home == instance.kernel || space_leased_change_locked(space, change);
}

/* Makes the area of CHANGE at START. If it has an object behind it, another area of a space at home here must hold that
 * object, or CHANGE must bring a grant; else -EFAULT. */
static int set_area_locked(struct space *space, const struct msg_space_change *change, uint64_t start, uint64_t backing)
{
    bool granted = (change->map.how & SPACE_MAP_GRANTED) != 0;
    int error = backing_is_file(backing) ? file_hold_begin(backing, granted) : 0;

    if (error != 0)
        return error;
    space->areas.granted = granted;
    error = area_set_backed(&space->areas, start, start + change->length,
                            (change->prot & AREA_BITS) | (space->later & AREA_LOCKED), backing);
    space->areas.granted = false;
    if (backing_is_file(backing))
        file_hold_end(backing);
    return error;
}

/* What the limits of the process say about the area of CHANGE at START. */
static int refused_locked(const struct space *space, const struct msg_space_change *change, uint64_t start)
{
    if (((change->prot | space->later) & AREA_LOCKED) != 0 &&
        !space_may_lock_locked(space, change->prot, change->length))
        return -ENOLCK;
    return space_may_have_locked(space, change->prot, start, start + change->length) ? 0 : -ENOMEM;
}

int64_t space_apply_map_locked(struct space *space, const struct msg_space_change *change)
{
    uint64_t start = change->start, end, backing = backing_of_locked(space, change);
    int error;

    if (!shares_file(change->prot, backing) && !space_commit_allowed(change->prot, change->length))
        return -ENOMEM;
    if ((change->map.how & SPACE_MAP_GOES_ON) != 0 && !backing_may_grow(backing, 0, change->length / PAGE_SIZE))
        return -ENOMEM;
    if ((change->map.how & (SPACE_MAP_FIXED | SPACE_MAP_KEEP)) == 0)
        start = space_room_locked(space, start, change->length, change->map.how);
    if (start == 0) { /* -EAGAIN if there would be room without the ranges that others have locked */
        start = space_room_locked(space, 0, change->length, change->map.how | SPACE_MAP_BUSY);
        return start != 0 ? -EAGAIN : -ENOMEM;
    }
    end = start + change->length;
    error = refused_locked(space, change, start);
    if (error != 0)
        return error;
    if ((change->map.how & SPACE_MAP_TRY) != 0)
        return (int64_t)start;
    if ((change->map.how & SPACE_MAP_KEEP) != 0 && area_overlaps(&space->areas, start, end))
        return -EEXIST;
    if ((change->map.how & SPACE_MAP_GOES_ON) != 0 && backing_attached(backing))
        return -EEXIST; /* attached areas are never merged: it would be a second one, and be counted */
    error = set_area_locked(space, change, start, backing);
    return error != 0 ? error : (int64_t)(start | ((space->later & SPACE_FILLS) != 0 ? MAP_FILL : 0));
}

/* SPACE_LOOK for areas made by a shmat at ATTACHED. A piece that is left of such an area is recognised by its address:
 * its distance from ATTACHED is the page of the segment at which it starts. */
static int64_t look_attached_locked(const struct space *space, const struct msg_space_change *change)
{
    const struct area *area = area_next(&space->areas, change->start);

    while (area != NULL && (!backing_attached(area->backing) || area->start < change->look.attached ||
                            (area->start - change->look.attached) / PAGE_SIZE != backing_page(area->backing)))
        area = area_after(&space->areas, area);
    if (area == NULL)
        return -ESRCH;
    if (change->look.what == SPACE_LOOK_ATTACHED_OBJECT)
        return (int64_t)backing_whole(area->backing);
    return (int64_t)(change->look.what == SPACE_LOOK_ATTACHED ? area->start : area->end);
}

static int64_t look_backing(uint64_t backing, uint32_t what)
{
    if (backing_is_anonymous(backing) != (what == SPACE_LOOK_ANONYMOUS))
        return 0;
    return (int64_t)(backing & ~BACKING_ANONYMOUS);
}

bool space_looks_attached(const struct msg_space_change *change)
{
    return change->look.what >= SPACE_LOOK_ATTACHED && change->look.what <= SPACE_LOOK_ATTACHED_OBJECT;
}

int64_t space_apply_look_locked(struct space *space, const struct msg_space_change *change)
{
    const struct area *area = area_next(&space->areas, change->start);
    int64_t known = space_known_locked(space, change->start, change->start + PAGE_SIZE);

    if (space_looks_at_page(change) && known != 0)
        return known;
    if (known == -EAGAIN && space->home != instance.kernel)
        return -EPROTO;
    if (space_looks_attached(change))
        return look_attached_locked(space, change);
    if (change->look.what == SPACE_LOOK_POLICY)
        return area != NULL && area->start <= change->start ? (int64_t)(area->prot >> AREA_POLICY_SHIFT) : -ENOMEM;
    if (change->look.what == SPACE_LOOK_BACKING || change->look.what == SPACE_LOOK_ANONYMOUS)
        return area != NULL && area->start <= change->start
                   ? look_backing(area_backing_at(area, change->start), change->look.what)
                   : 0;
    if (change->look.what == SPACE_LOOK_THERE && (area == NULL || area->start > change->start))
        return -EFAULT; /* not ENOMEM, which the caller may take for want of memory */
    if (area == NULL || (change->look.what == SPACE_LOOK_STOP && area->start > change->start))
        return -ENOMEM;
    return (int64_t)((change->look.what == SPACE_LOOK_START ? area->start : area->end) |
                     (area->prot & (PAGE_SIZE - 1)));
}

/* Refuses to make areas writable: -EACCES for a shared mapping of a file that was not opened for writing, -ENOMEM when
 * the commit charge is not allowed. */
static int protect_refused(const struct space *space, uint64_t start, uint64_t end, uint32_t prot)
{
    if ((prot & AREA_WRITE) == 0)
        return 0;
    for (const struct area *area = area_next(&space->areas, start); area != NULL && area->start < end;
         area = area_after(&space->areas, area)) {
        uint64_t from = area->start > start ? area->start : start, to = area->end < end ? area->end : end;

        if (shares_file(area->prot, area->backing) && (area->backing & BACKING_READ_ONLY) != 0)
            return -EACCES;
        if ((area->prot & (AREA_WRITE | AREA_SHARED)) == 0 &&
            !space_commit_allowed((area->prot & AREA_NORESERVE) | (prot & AREA_WRITE), to - from))
            return -ENOMEM;
    }
    return 0;
}

/* The areas' part of a protect of many areas. KNOWN: this kernel has all areas of the range. */
static int protect_many_locked(struct space *space, uint64_t start, uint64_t end, uint32_t prot, bool known)
{
    struct area_spares spares = {NULL, NULL};
    int error = 0;

    for (uint64_t at = start, stop; at < end && error == 0 && known; at = stop) {
        stop = space_next_areas_locked(space, at, end);
        error = protect_refused(space, at, stop, prot);
        if (error == 0 && !area_covers(&space->areas, at, stop))
            error = -ENOMEM;
        space_pause_locked(space);
    }
    if (error == 0)
        error = area_spares_take(&spares, &space->areas, start, end);
    for (uint64_t at = start, stop = start; stop < end && error == 0; at = area_part_from(&space->areas, stop)) {
        stop = space_next_areas_locked(space, at, end);
        error = area_protect_part(&space->areas, at, stop, prot, &spares);
        space_pause_locked(space);
    }
    area_spares_drop(&spares);
    return error;
}

int64_t space_apply_protect_locked(struct space *space, const struct msg_space_change *change)
{
    uint64_t end = change->start + change->length;
    int error;

    if (space_next_areas_locked(space, change->start, end) < end) {
        error = protect_many_locked(space, change->start, end, change->prot, knows_all_locked(space, change));
    } else if (knows_all_locked(space, change)) {
        error = protect_refused(space, change->start, end, change->prot);
        if (error == 0)
            error = area_protect(&space->areas, change->start, end, change->prot);
    } else {
        error = area_protect_known(&space->areas, change->start, end, change->prot);
    }
    if (error == 0)
        rewrite_range_locked(space, change->start, end, change->prot, REWRITE_PROTECT);
    return error;
}

/* VALUE is that of CHANGE, which may leave frames pending free. Without memory to release them, SPACE_PENDING stays. */
static int64_t settle_if_last_locked(struct space *space, const struct msg_space_change *change, int64_t value)
{
    if ((change->prot & SPACE_LAST) == 0 || value < 0 || (value & SPACE_PENDING) == 0)
        return value;
    return space_settle_locked(space, change->start, change->start + change->length) != 0 ? value
                                                                                          : value & ~SPACE_PENDING;
}

int64_t space_apply_revoke_locked(struct space *space, const struct msg_space_change *change)
{
    uint64_t first = backing_page(change->revoke.first), behind = first + change->revoke.pages;
    uint64_t at = change->start, end = change->start + change->length;
    const struct area *area;
    uint32_t areas = 0;
    int pending = 0;

    while (at < end && (area = area_next(&space->areas, at)) != NULL && area->start < end) {
        uint64_t page = backing_page(area->backing), start = area->start, from, to;
        bool copies_stay;

        at = area->end;
        if (++areas % AREAS_AT_ONCE == 0) {
            space_pause_locked(space);
            area = area_find(&space->areas, start);
            if (area == NULL || area->start != start) /* unmapped or merged: it is none of a file, or has no pages */
                continue;
        }
        copies_stay = (area->prot & AREA_SHARED) == 0 && change->revoke.copies == 0;
        if (area->backing == BACKING_NONE || backing_whole(area->backing) != backing_whole(change->revoke.first) ||
            (copies_stay && backing_kernel(area->backing) != space->home))
            continue;
        from = page > first ? page : first;
        to = page + (area->end - area->start) / PAGE_SIZE;
        to = to < behind ? to : behind;
        if (from >= to)
            continue;
        if (copies_stay)
            pending |= unmap_file_locked(space, start + (from - page) * PAGE_SIZE, start + (to - page) * PAGE_SIZE,
                                         backing_name(area->backing) + (from - page));
        else
            pending |= rewrite_range_locked(space, start + (from - page) * PAGE_SIZE, start + (to - page) * PAGE_SIZE,
                                            0, REWRITE_UNMAP);
    }
    return settle_if_last_locked(space, change, pending);
}

/* How the change lets pages go: LAST is SPACE_LAST or 0. */
static enum rewrite_kind letting_go(uint32_t last)
{
    return (last & SPACE_LAST) != 0 ? REWRITE_FREE : REWRITE_UNMAP;
}

int space_unmap_locked(struct space *space, uint64_t start, uint64_t length, uint32_t last)
{
    uint64_t end = start + length;
    int error = 0;

    for (uint64_t at = start, stop; at < end && error == 0; at = stop) { /* only one piece can fail: the only one */
        if (at != start)
            space_pause_locked(space);
        stop = space_next_areas_locked(space, at, end);
        error = area_remove(&space->areas, at, stop);
    }
    return error != 0 ? error : rewrite_range_locked(space, start, end, 0, letting_go(last));
}

int64_t space_apply_unmap_locked(struct space *space, const struct msg_space_change *change)
{
    return settle_if_last_locked(space, change, space_unmap_locked(space, change->start, change->length, change->prot));
}

/* As area_covers, with pauses. */
static bool covers_locked(struct space *space, uint64_t start, uint64_t end)
{
    for (uint64_t at = start, stop; at < end; at = stop) {
        if (at != start)
            space_pause_locked(space);
        stop = space_next_areas_locked(space, at, end);
        if (!area_covers(&space->areas, at, stop))
            return false;
    }
    return true;
}

int64_t space_apply_discard_locked(struct space *space, const struct msg_space_change *change)
{
    uint64_t end = change->start + change->length;
    bool owns;
    int pending = rewrite_private_locked(space, change->start, end, letting_go(change->prot), &owns);

    if (knows_all_locked(space, change) && !covers_locked(space, change->start, end))
        pending |= SPACE_HOLE;
    return settle_if_last_locked(space, change, pending);
}

int64_t space_apply_write_protect_locked(struct space *space, const struct msg_space_change *change)
{
    bool frozen = lease_freeze_locked(space), owns;

    rewrite_private_locked(space, change->start, change->start + change->length, REWRITE_WRITE_PROTECT, &owns);
    return owns || frozen;
}

int64_t space_apply_room_locked(struct space *space, const struct msg_space_change *change)
{
    uint64_t place = space_room_locked(space, change->start, change->length, 0);

    if (place == 0) /* the caller then locks the place, which waits for other lock holders, and checks again */
        place = space_room_locked(space, 0, change->length, SPACE_MAP_BUSY);
    return place != 0 ? (int64_t)place : -ENOMEM;
}

/* SPACE_RECLAIM: the recall of leases that precedes the operation is all it does. */
int64_t space_apply_nothing_locked(struct space *space, const struct msg_space_change *change)
{
    (void)space;
    (void)change;
    return 0;
}

int64_t space_apply_strategy_locked(struct space *space, const struct msg_space_change *change)
{
    space_mode_note_locked(space, change->strategy.mode);
    if (!space->retrieval->home_knows) /* the others would take a copy for the page */
        space_drop_replicas_locked(space, 0, USER_END);
    return 0;
}

int64_t space_apply_fence_locked(struct space *space, const struct msg_space_change *change)
{
    space_flush(space, change->start, change->start + change->length); /* an interrupt is a fence */
    return 0;
}
