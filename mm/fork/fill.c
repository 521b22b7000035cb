/* Fork: frames for the pages of shared areas that have none yet, so that parent and child share them. Areas of files
 * are left out: the file's kernel keeps their frames. */
#include "kernel/abi/errno.h"
#include "kernel/lib/list.h"
#include "kernel/lib/panic.h"
#include "mm/area/backing.h"
#include "mm/fork/internal.h"
#include "mm/frame/frame.h"
#include "mm/page/install.h"
#include "mm/space/entry.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/slice.h"

/* The end of AREA, or of the object behind it, if that is smaller. */
static uint64_t end_of(const struct area *area)
{
    uint64_t pages = backing_is_anonymous(area->backing) ? backing_left(area->backing) : BACKING_PAGES;

    return pages < (area->end - area->start) / PAGE_SIZE ? area->start + pages * PAGE_SIZE : area->end;
}

/* Allocates the frames and enters them in the child, with PAGING_SOFT_PENDING_FREE as a mark. The child comes first, so
 * that a fork without memory for all of them leaves the parent as it was. */
static int fill_child(struct fork *fork, const struct area *area)
{
    for (uint64_t page = area->start, end = end_of(area); page < end; page += PAGE_SIZE) {
        uint64_t *entry = fork_child_entry(fork, page);
        uint64_t frame;

        if (entry == NULL)
            return -ENOMEM;
        if (*entry != 0)
            continue;
        frame = frame_alloc_page(true);
        if (frame == 0)
            return -ENOMEM;
        frame_share(frame);
        *entry = space_entry_own(frame, 0, false, PAGING_SOFT_PENDING_FREE);
        space_hold_pages_locked(fork->child, 1); /* fill_parent clears the mark before the fork ends */
        slice_check();
    }
    return 0;
}

/* Enters the frames of PAIRS in the parent, on this kernel and, if the strategy requires it, at its home. */
static int fill_parent(struct fork *fork, const struct area *area, const struct msg_space_pair *pairs, uint32_t count)
{
    struct space *parent = fork->parent;
    int error = 0;

    spin_lock(&parent->lock);
    for (uint32_t i = 0; i < count && error == 0; i++) {
        /* of the area only the pages that are recorded at the home for this kernel */
        if (area_find(&parent->areas, pairs[i].page) == NULL)
            error = area_set_backed(&parent->areas, pairs[i].page, pairs[i].page + PAGE_SIZE, area->prot,
                                    area_backing_at(area, pairs[i].page));
        if (error == 0 && paging_entry(&parent->tables, pairs[i].page, true) == NULL)
            error = -ENOMEM;
    }
    spin_unlock(&parent->lock);
    if (error == 0)
        error = parent->retrieval->record_many(parent, pairs, count);
    for (uint32_t i = 0; i < count && error == 0; i++) {
        error = space_install(parent, pairs[i].page, pairs[i].frame, true, false);
        assert(error == 0); /* the area and the table exist, and no kernel had a frame for the page */
        *fork_child_entry(fork, pairs[i].page) = space_entry_own(pairs[i].frame, area->prot, false, 0);
    }
    return error;
}

static int fill_area(struct fork *fork, const struct area *area)
{
    struct msg_space_pair *pairs;
    uint64_t end = end_of(area);
    uint32_t count = 0;
    int error = fork_buffers(fork) ? fill_child(fork, area) : -ENOMEM;

    pairs = (struct msg_space_pair *)(void *)fork->buffer;
    for (uint64_t page = area->start; page < end && error == 0; page += PAGE_SIZE) {
        uint64_t entry = *fork_child_entry(fork, page); /* fill_child has made its table */

        if ((entry & PAGING_SOFT_PENDING_FREE) != 0)
            pairs[count++] = (struct msg_space_pair){page, entry & PAGING_FRAME};
        if (count == PAIRS_MAX || (count > 0 && page + PAGE_SIZE == end)) {
            error = fill_parent(fork, area, pairs, count);
            count = 0;
        }
    }
    return error;
}

int fork_fill_shared(struct fork *fork)
{
    int error = 0;

    list_for_each(node, &fork->child->areas.head) {
        const struct area *area = container_of(node, const struct area, node);

        slice_check();
        if (error == 0 && (area->prot & (AREA_SHARED | AREA_LOST)) == AREA_SHARED && !backing_is_file(area->backing))
            error = fill_area(fork, area);
    }
    return error;
}
