/* What an address space has, for those who look from outside (/proc). */
#include "boot/instance.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/layout.h"
#include "mm/internal.h"
#include "mm/lease.h"
#include "mm/space.h"

int space_areas_of(uint64_t id, uint32_t home, uint64_t from, struct msg_space_areas *head)
{
    struct msg_space_page ask = {.space = id, .page = from};
    struct space *space;
    int length;

    if (home != instance.kernel) {
        length = msg_call(home, MSG_SPACE_AREAS, &ask, sizeof(ask), head, MSG_MAX, "areas of a process", id);
        return length >= 0 && length < (int)sizeof(*head) ? -EPROTO : length;
    }
    space = space_get(id);
    if (space == NULL)
        return -ESRCH;
    length = lease_await(space, (struct space_range){from, USER_END});
    if (length >= 0)
        length = (int)space_list_areas(space, from, head);
    space_put(space);
    return length;
}

/* One entry in the machine holds a space's reference to a frame, so no page is counted twice. The lock is free between
 * tables, so that messages about the space are not held up for long. */
void space_count_pages(struct space *space, struct space_pages *out)
{
    *out = (struct space_pages){0};

    for (uint64_t va = 0;; va += LEAF_SIZE) {
        const uint64_t *leaf;

        spin_lock(&space->lock);
        leaf = paging_next_leaf_look(&space->tables, &va, USER_END);
        for (uint32_t i = 0; leaf != NULL && i < LEAF_ENTRIES; i++) {
            out->held += (leaf[i] & PAGING_SOFT_HELD) != 0;
            out->prefetch_used += space_prefetch_used(leaf[i]);
        }
        out->huge += leaf != NULL && paging_large(&space->tables, va) != 0;
        spin_unlock(&space->lock);
        if (leaf == NULL)
            return;
    }
}
