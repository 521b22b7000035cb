/* Replicating pages, at the home of their space. See the header and replicate.md.
 *
 * Under the lock of up to 64 pages: all other kernels empty their entries for those that can be replicated (one
 * SPACE_SWITCH without a frame for each kernel), and the home write-protects its own, which say from then on that there
 * may be copies. What other kernels get when they read the page afterwards, and who takes the copies away before a
 * write, is in mm/fault and mm/page. */
#include "mm/replicate/replicate.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/window.h"
#include "mm/fault/cow.h"
#include "mm/fault/wire.h"
#include "mm/frame/abroad.h"
#include "mm/frame/content.h"
#include "mm/frame/frame.h"
#include "mm/frame/reference.h"
#include "mm/lock/lock.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/page/zero_page.h"
#include "mm/seen/seen.h"
#include "mm/space/entry.h"
#include "mm/space/question.h"
#include "msg/request/call.h"
#include "msg/slice.h"

#define CHUNK (SPACE_SWITCH_MAX * PAGE_SIZE) /* a power of two: what one lock and one message cover */
#define CHUNKS_MOST 8u                       /* of a call */

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

/* Pages that are replicated together, under one lock. */
struct batch {
    uint64_t start;   /* a multiple of CHUNK */
    uint64_t done;    /* a bit for each page that is replicated already */
    uint64_t pages;   /* a bit for each that is to be */
    uint64_t fetched; /* of these: the home gets a frame, as the page's is not its own memory */
    uint64_t old[SPACE_SWITCH_MAX], new[SPACE_SWITCH_MAX]; /* of FETCHED: the page's frame, and the home's */
};

static uint64_t address_of(const struct batch *batch, uint64_t left)
{
    return batch->start + (uint64_t)__builtin_ctzll(left) * PAGE_SIZE;
}

/* A new frame of the home for PAGE, or 0: there is no memory on the nodes that the mempolicy wants. */
static uint64_t frame_for(struct space *space, uint64_t page)
{
    uint64_t frame;
    bool elsewhere;

    spin_lock(&space->lock);
    frame = mempolicy_frame_here_locked(space, area_find(&space->areas, page)->prot, page, false, &elsewhere);
    spin_unlock(&space->lock);
    return frame;
}

/* PAGE, which is locked, is to be replicated with BATCH if it can be. FOLLOWS: and if it may follow its users; a policy
 * that it gets later finds it as it is then. */
static void add_page(struct space *space, struct batch *batch, uint64_t page, bool follows)
{
    uint32_t i = (uint32_t)((page - batch->start) / PAGE_SIZE);
    enum step step = look(space, page, &batch->old[i]);

    if (step == STEP_DONE)
        batch->done |= 1ull << i;
    if (step == STEP_NONE || step == STEP_DONE || (follows && seen_may_follow(space, page) == 0))
        return;
    batch->new[i] = step == STEP_FETCH ? frame_for(space, page) : 0;
    if (step == STEP_FETCH && batch->new[i] == 0)
        return; /* the page keeps its frame */
    batch->pages |= 1ull << i;
    batch->fetched |= (uint64_t)(step == STEP_FETCH) << i;
}

/* Has OTHERS empty their entries for the pages of BATCH. *OWNED: those whose reference one of these had, which is the
 * home's now; also after an error, when some have emptied their entries, and some have not. */
static int empty_others(struct space *space, const struct batch *batch, kernel_set others, uint64_t *owned)
{
    struct msg_space_switch message = {.space = space->id, .page = batch->start, .pages = batch->pages};
    struct letting_go letting = {0};

    if (others != 0)
        msg_multicast(others, MSG_SPACE_SWITCH, &message, sizeof(message), space_note_owned, &letting,
                      "copies of pages", batch->start);
    *owned = letting.owned & batch->fetched;
    return letting.error;
}

/* The reference to the frame OLD has come with a peer's answer; a peer may lie about the home's own. */
static bool has_come(uint64_t old)
{
    return !window_owns(old, PAGE_SIZE) || abroad_take(old);
}

/* Others have emptied their entries for PAGE, but not all: the home's has what they had. */
static void take_back(struct space *space, uint64_t page)
{
    spin_lock(&space->lock);
    *paging_entry(&space->tables, page, false) |= PAGING_SOFT_OWNING;
    space_hold_pages_locked(space, 1);
    spin_unlock(&space->lock);
}

/* PAGE has the frame NEW in place of OLD, to which no kernel can write any more. OWNED: its reference has come. */
static void change_frame(struct space *space, uint64_t page, uint64_t old, uint64_t new, bool owned)
{
    uint64_t *entry;

    spin_lock(&space->lock);
    entry = paging_entry(&space->tables, page, false);
    space_hold_pages_locked(space, (*entry & PAGING_SOFT_OWNING) != 0 ? 0 : 1);
    owned = owned || (*entry & PAGING_SOFT_OWNING) != 0;
    *entry = 0;
    space_flush(space, page, page + PAGE_SIZE);
    frame_copy(new, old);
    frame_share(new);
    *entry = space_entry_own(new, area_find(&space->areas, page)->prot, false, 0);
    spin_unlock(&space->lock);
    if (owned)
        release_one(old);
}

/* Gives the fetched pages of BATCH frames of the home; after an ERROR, back what others had. */
static void change_frames(struct space *space, const struct batch *batch, uint64_t owned, int error)
{
    for (uint64_t left = batch->fetched; left != 0; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        uint64_t page = address_of(batch, left);
        bool came = (owned >> i & 1) != 0 && has_come(batch->old[i]);

        if (error == 0)
            change_frame(space, page, batch->old[i], batch->new[i], came);
        else if (came)
            take_back(space, page);
        if (error != 0)
            frame_free(batch->new[i], 0);
        slice_check();
    }
}

/* No other kernel has an entry for a page of BATCH: write-protects those that are the home's own memory. Returns how
 * many. */
static int64_t protect(struct space *space, const struct batch *batch)
{
    int64_t count = 0;

    spin_lock(&space->lock);
    for (uint64_t left = batch->pages; left != 0; left &= left - 1) {
        uint64_t *entry = paging_entry(&space->tables, address_of(batch, left), false);

        if (entry == NULL || (*entry & busy) != 0 || !is_own(*entry) || zero_page_is(*entry))
            continue;
        *entry = (*entry & ~PAGING_WRITE) | PAGING_SOFT_COW | PAGING_SOFT_REPLICATED;
        count++;
    }
    if (count != 0)
        space_flush(space, batch->start, batch->start + CHUNK);
    space->stats.pages_replicated += (uint64_t)count;
    spin_unlock(&space->lock);
    return count;
}

/* Returns how many pages of [START, END), which are locked, are replicated, or a negative errno. */
static int64_t replicate_batch(struct space *space, uint64_t start, uint64_t end, kernel_set others, bool follows)
{
    struct batch batch = {.start = start & ~(CHUNK - 1)};
    uint64_t owned;
    int error;

    for (uint64_t page = start; page < end; page += PAGE_SIZE)
        add_page(space, &batch, page, follows);
    if (batch.pages == 0)
        return kernel_set_count(batch.done);
    error = empty_others(space, &batch, others, &owned);
    change_frames(space, &batch, owned, error);
    return error != 0 ? error : kernel_set_count(batch.done) + protect(space, &batch);
}

static int64_t replicate_chunk(struct space *space, uint64_t start, uint64_t end, bool follows)
{
    struct space_range range = {start, end};
    struct space_lock lock;
    kernel_set others;
    int64_t done;
    int error = space_acquire(space, range, &lock);

    if (error != 0)
        return error;
    space_gets_await(space, range);
    others = space_lock_others(space, &lock) & ~(1ull << instance.kernel);
    done = space->retrieval->home_knows ? replicate_batch(space, start, end, others, follows) : -EOPNOTSUPP;
    space_release(space, &lock);
    return done;
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
