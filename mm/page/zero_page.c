/* The zero page. See the header. */
#include "mm/page/zero_page.h"

#include "kernel/abi/errno.h"
#include "mm/frame/frame.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/space/entry.h"

static struct spinlock lock;    /* taken after space->lock and before the locks of frames */
static volatile uint64_t zeros; /* [a] the physical address, set under LOCK; 0: not allocated yet */

uint64_t zero_page_frame(void)
{
    return zeros;
}

/* Returns the zero page, allocated if necessary, with a reference taken for the caller; 0: out of memory. */
static uint64_t share(void)
{
    uint64_t frame;

    if (zeros == 0) {
        spin_lock(&lock);
        frame = zeros == 0 ? frame_alloc_page(true) : 0;
        if (frame != 0) {
            frame_share(frame);
            zeros = frame;
        }
        spin_unlock(&lock);
    }
    if (zeros != 0)
        frame_share(zeros);
    return zeros;
}

bool zero_page_compare(uint64_t entry)
{
    return zeros != 0 && (entry & PAGING_FRAME) == zeros && (entry & PAGING_SOFT_PENDING_FREE) == 0;
}

bool zero_page_map_locked(struct space *space, uint64_t page, uint32_t prot)
{
    uint64_t *entry = paging_entry(&space->tables, page, true);
    uint64_t frame = entry != NULL ? share() : 0;

    if (frame == 0)
        return false;
    *entry = space_entry_own(frame, prot, true, 0);
    space_hold_pages_locked(space, 1);
    return true;
}

int zero_page_replace_locked(struct space *space, uint64_t page, uint64_t *entry, uint32_t prot)
{
    uint64_t frame = mempolicy_frame_near(true);

    if (frame == 0)
        return -ENOMEM;
    frame_share(frame);
    *entry = space_entry_own(frame, prot, false, 0);
    space_flush(space, page, page + PAGE_SIZE);
    frame_release(zeros);
    return 0;
}

void zero_page_let_go_locked(struct space *space, uint64_t page, uint64_t *entry)
{
    *entry = 0;
    space_hold_pages_locked(space, -1);
    space_flush(space, page, page + PAGE_SIZE);
    frame_release(zeros);
}

static void leave(struct space *space, void *context)
{
    uint64_t *leaf;

    (void)context;
    spin_lock(&space->lock);
    for (uint64_t va = 0; (leaf = paging_next_leaf(&space->tables, &va, USER_END)) != NULL; va += LEAF_SIZE) {
        for (uint32_t i = 0; (i = paging_next_used(leaf, i, LEAF_ENTRIES)) < LEAF_ENTRIES; i++) {
            if (!zero_page_is(leaf[i]))
                continue;
            leaf[i] = 0;
            space_hold_pages_locked(space, -1);
            frame_release(zeros);
        }
    }
    space_flush(space, 0, USER_END);
    spin_unlock(&space->lock);
}

void zero_page_leave(void)
{
    uint64_t frame = zeros;

    if (frame == 0)
        return;
    space_each(leave, NULL);
    zeros = 0;
    frame_release(frame);
}
