/* This kernel's copies of pages that are read from several nodes. See the header. */
#include "mm/page/replica.h"

#include "mm/frame/content.h"
#include "mm/frame/frame.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/space/entry.h"
#include "mm/space/strategy.h"
#include "msg/slice.h"

/* Only a strategy whose directory is the home's tables asks the home alone, which never has a copy. */
bool replica_install_locked(struct space *space, uint64_t page, uint64_t frame, uint32_t prot, uint64_t *spare)
{
    uint64_t *entry = paging_entry(&space->tables, page, false);
    bool elsewhere;

    if (entry == NULL || *entry != 0 || space->home == instance.kernel || !space->retrieval->home_knows ||
        (frame_nodes() >> policy_node_of(frame) & 1) != 0 || !frame_is_ample() ||
        (*spare != 0 && !mempolicy_accepts_locked(space, prot, page, *spare)))
        return false;
    if (*spare == 0)
        *spare = mempolicy_frame_here_locked(space, prot, page, false, &elsewhere);
    if (*spare == 0)
        return false;
    frame_copy(*spare, frame);
    frame_share(*spare);
    *entry = space_entry_own(*spare, prot, true, PAGING_SOFT_REPLICA);
    *spare = 0;
    space_hold_pages_locked(space, 1);
    space->replicas++;
    space->stats.replicas_made++;
    return true;
}

/* Flushes what is before END, and releases the frames that its entries had. */
static void release(struct space *space, struct frame_runs *runs, uint64_t *from, uint64_t end)
{
    if (runs->count == 0)
        return;
    space_flush(space, *from, end);
    frame_runs_release(runs);
    *from = end;
}

static void drop_in_leaf_locked(struct space *space, const uint64_t *leaf, uint64_t va, uint32_t first, uint32_t end)
{
    struct frame_runs runs;
    uint64_t from = va + first * PAGE_SIZE;

    runs.count = 0;
    for (uint32_t i = first; (i = paging_next_used(leaf, i, end)) < end; i++) {
        uint64_t frame = leaf[i] & PAGING_FRAME;

        if (!replica_is(leaf[i]))
            continue;
        *paging_entry(&space->tables, va + i * PAGE_SIZE, false) = 0;
        space_hold_pages_locked(space, -1);
        space->replicas--;
        space->stats.replicas_dropped++;
        if (frame_runs_add(&runs, frame))
            continue;
        release(space, &runs, &from, va + (i + 1) * PAGE_SIZE);
        frame_runs_add(&runs, frame);
        from = va + i * PAGE_SIZE;
    }
    release(space, &runs, &from, va + end * PAGE_SIZE);
}

void replicas_drop_all_locked(struct space *space, uint64_t start, uint64_t end)
{
    const uint64_t *leaf;

    for (uint64_t va = start; va < end && (leaf = paging_next_leaf_look(&space->tables, &va, end)) != NULL && va < end;
         va = (va & ~(LEAF_SIZE - 1)) + LEAF_SIZE) {
        uint64_t base = va & ~(LEAF_SIZE - 1);

        drop_in_leaf_locked(space, leaf, base, base < start ? paging_index(start) : 0,
                            end - base < LEAF_SIZE ? paging_index(end) : LEAF_ENTRIES);
    }
}

/* Drops the copies in the first leaf table from *AT on, behind which *AT is then. False: there are none left. */
static bool drop_some(struct space *space, uint64_t *at)
{
    bool some;

    spin_lock(&space->lock);
    some = space->replicas != 0 && paging_next_leaf_look(&space->tables, at, USER_END) != NULL;
    if (some) {
        *at &= ~(LEAF_SIZE - 1);
        replicas_drop_all_locked(space, *at, *at + LEAF_SIZE);
        *at += LEAF_SIZE;
    }
    spin_unlock(&space->lock);
    return some;
}

/* Between two tables no reference to the space is held, whose end spins for it. */
void replicas_give_up(void)
{
    struct space *space;

    for (uint64_t id = 0, at = 0; (space = space_next(id)) != NULL; slice_check()) {
        at = space->id == id ? at : 0;
        id = space->id;
        if (!drop_some(space, &at)) {
            id++;
            at = 0;
        }
        space_put(space);
    }
}

void replicas_end(struct space *space)
{
    const uint64_t *leaf;

    for (uint64_t va = 0;; va += LEAF_SIZE) {
        spin_lock(&space->lock);
        leaf = paging_next_leaf_look(&space->tables, &va, USER_END);
        for (uint32_t i = 0; leaf != NULL && (i = paging_next_used(leaf, i, LEAF_ENTRIES)) < LEAF_ENTRIES; i++) {
            if ((leaf[i] & PAGING_SOFT_REPLICATED) != 0)
                *paging_entry(&space->tables, (va & ~(LEAF_SIZE - 1)) + i * PAGE_SIZE,
                              false) &= ~PAGING_SOFT_REPLICATED;
        }
        spin_unlock(&space->lock);
        if (leaf == NULL)
            return;
        slice_check();
    }
}
