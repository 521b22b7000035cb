/* Replicating pages, at the home of their space. See the header and replicate.md.
 *
 * Under the lock of up to 64 pages: all other kernels empty their entries for a page (SPACE_SWITCH without a frame),
 * and the home write-protects its own, which says from then on that there may be copies. What other kernels get when
 * they read the page afterwards, and who takes the copies away before a write, is in mm/fault and mm/page. */
#include "mm/replicate/replicate.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/window.h"
#include "mm/fault/cow.h"
#include "mm/frame/abroad.h"
#include "mm/frame/content.h"
#include "mm/frame/frame.h"
#include "mm/frame/reference.h"
#include "mm/lock/lock.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/page/zero_page.h"
#include "mm/retrieve/wire.h"
#include "mm/seen/seen.h"
#include "mm/space/entry.h"
#include "mm/space/question.h"
#include "msg/call.h"
#include "msg/slice.h"

#define CHUNK (64 * PAGE_SIZE) /* a power of two: what one lock covers */
#define CHUNKS_MOST 8u         /* of a call */

/* What is to be done with a page. */
enum step { STEP_NONE, STEP_DONE, STEP_EMPTY, STEP_FETCH };

/* Not a page that moves, or is to move when it is touched. */
static const uint64_t busy = PAGING_SOFT_PENDING_FREE | PAGING_SOFT_STILL | PAGING_SOFT_MARKED;

static bool is_own(uint64_t entry)
{
    return (entry & (PAGING_SOFT_OWNING | PAGING_SOFT_REMOTE)) == PAGING_SOFT_OWNING;
}

static enum step look(struct space *space, uint64_t page, uint64_t *frame)
{
    const struct area *area;
    const uint64_t *entry;
    enum step step = STEP_NONE;

    spin_lock(&space->lock);
    area = area_find(&space->areas, page);
    entry = paging_look(&space->tables, page);
    if (area != NULL && area->backing == BACKING_NONE && (area->prot & AREA_SHARED) == 0 && entry != NULL &&
        *entry != 0 && (*entry & busy) == 0 && !zero_page_is(*entry)) {
        *frame = *entry & PAGING_FRAME;
        if ((*entry & PAGING_SOFT_REPLICATED) != 0)
            step = STEP_DONE;
        else if (is_own(*entry))
            step = STEP_EMPTY;
        else if (mempolicy_is_near_locked(space, area->prot, page))
            step = STEP_FETCH;
    }
    spin_unlock(&space->lock);
    return step;
}

/* Has OTHERS empty their entries for PAGE. *OWNED: one of these had the space's reference, which is the home's now. */
static int empty_others(struct space *space, uint64_t page, kernel_set others, bool *owned)
{
    struct msg_space_record message = {.space = space->id, .page = page};
    struct letting_go letting = {0};

    if (others != 0)
        msg_multicast(others, MSG_SPACE_SWITCH, &message, sizeof(message), space_note_owned, &letting,
                      "copies of a page", page);
    *owned = letting.owned;
    return letting.error;
}

/* Gives PAGE a frame of the home in place of FRAME. Only when no kernel can write to FRAME any more is it copied. 0,
 * also if the home has no memory on the nodes that the mempolicy wants: the page keeps its frame; or a negative errno.
 */
static int fetch_page(struct space *space, uint64_t page, uint64_t frame, kernel_set others)
{
    uint64_t new, *entry;
    bool elsewhere, owned = false;
    uint32_t prot;
    int error;

    spin_lock(&space->lock);
    prot = area_find(&space->areas, page)->prot; /* the page is locked */
    new = mempolicy_frame_here_locked(space, prot, page, false, &elsewhere);
    spin_unlock(&space->lock);
    if (new == 0)
        return 0;
    error = empty_others(space, page, others, &owned);
    owned = owned && (!window_owns(frame, PAGE_SIZE) || abroad_take(frame));
    spin_lock(&space->lock);
    entry = paging_entry(&space->tables, page, false);
    if (error != 0) { /* some have emptied their entries: the reference stays with the home's */
        *entry |= owned ? PAGING_SOFT_OWNING : 0;
        space_hold_pages_locked(space, owned ? 1 : 0);
    } else {
        space_hold_pages_locked(space, (*entry & PAGING_SOFT_OWNING) != 0 ? 0 : 1);
        owned = owned || (*entry & PAGING_SOFT_OWNING) != 0;
        *entry = 0;
        space_flush(space, page, page + PAGE_SIZE);
        frame_copy(new, frame);
        frame_share(new);
        *entry = space_entry_own(new, prot, false, 0);
    }
    spin_unlock(&space->lock);
    if (error != 0)
        frame_free(new, 0);
    else if (owned)
        release_one(frame);
    return error;
}

/* No other kernel has an entry for PAGE. False: it is not the home's own memory. */
static bool protect(struct space *space, uint64_t page)
{
    uint64_t *entry;
    bool own;

    spin_lock(&space->lock);
    entry = paging_entry(&space->tables, page, false);
    own = entry != NULL && (*entry & busy) == 0 && is_own(*entry) && !zero_page_is(*entry);
    if (own) {
        *entry = (*entry & ~PAGING_WRITE) | PAGING_SOFT_COW | PAGING_SOFT_REPLICATED;
        space_flush(space, page, page + PAGE_SIZE);
        space->stats.pages_replicated++;
    }
    spin_unlock(&space->lock);
    return own;
}

/* 1: PAGE is replicated; 0: it is not, and stays; or a negative errno. The page is locked: a policy that it gets later
 * finds it as it is then. */
static int replicate_page(struct space *space, uint64_t page, kernel_set others, bool follows)
{
    uint64_t frame = 0;
    enum step step = look(space, page, &frame);
    bool owned;
    int error;

    if (step == STEP_NONE || step == STEP_DONE || (follows && seen_may_follow(space, page) == 0))
        return step == STEP_DONE;
    error = step == STEP_EMPTY ? empty_others(space, page, others, &owned) : fetch_page(space, page, frame, others);
    return error != 0 ? error : protect(space, page);
}

static int64_t replicate_chunk(struct space *space, uint64_t start, uint64_t end, bool follows)
{
    struct space_range range = {start, end};
    struct space_lock lock;
    kernel_set others;
    int64_t done = 0;
    int error = space_acquire(space, range, &lock);

    if (error != 0)
        return error;
    space_gets_await(space, range);
    others = space_lock_others(space, &lock) & ~(1ull << instance.kernel);
    if (!space->retrieval->home_knows)
        error = -EOPNOTSUPP;
    for (uint64_t page = start; page < end && error >= 0; page += PAGE_SIZE) {
        error = replicate_page(space, page, others, follows);
        done += error > 0;
        slice_check();
    }
    space_release(space, &lock);
    return error < 0 ? error : done;
}

/* The next address from AT on in whose table the home has entries, or END. */
static uint64_t next_used(struct space *space, uint64_t at, uint64_t end)
{
    uint64_t table = at; /* becomes the start of a table, which may be below AT */
    bool found;

    spin_lock(&space->lock);
    found = paging_next_leaf_look(&space->tables, &table, end) != NULL && table < end;
    spin_unlock(&space->lock);
    return !found ? end : table > at ? table : at;
}

int64_t space_replicate(struct space *space, uint64_t *start, uint64_t end, bool follows)
{
    int64_t done = 0, part = *start < end ? space_lock_once(space, *start, end) : 0;
    uint64_t at = next_used(space, *start, end), stop;

    /* Leases have been recalled now: pages that the home does not know are newer than this call. */
    for (uint32_t i = 0; i < CHUNKS_MOST && at < end && part >= 0; i++) {
        stop = (at & ~(CHUNK - 1)) + CHUNK < end ? (at & ~(CHUNK - 1)) + CHUNK : end;
        part = replicate_chunk(space, at, stop, follows);
        done += part;
        at = next_used(space, stop, end);
    }
    *start = at;
    return part < 0 ? part : done;
}
