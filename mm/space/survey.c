/* How many pages of a space are here. See the header. */
#include "mm/space/survey.h"

#include "mm/space/entry.h"

/* One entry in the machine holds a space's reference to a frame, so no page is counted twice. The lock is free between
 * tables, so that messages about the space are not held up for long. */
void space_count_pages(struct space *space, struct space_pages *out)
{
    *out = (struct space_pages){0};

    for (uint64_t va = 0;; va += LEAF_SIZE) {
        const uint64_t *leaf;
        uint64_t large;

        spin_lock(&space->lock);
        leaf = paging_next_leaf_look(&space->tables, &va, USER_END);
        large = leaf != NULL ? paging_large(&space->tables, va) : 0;
        for (uint32_t i = 0; leaf != NULL && i < LEAF_ENTRIES; i++) {
            out->owned += (leaf[i] & PAGING_SOFT_OWNING) != 0;
            out->prefetch_used += space_prefetch_used(leaf[i] | (large & PAGING_ACCESSED));
        }
        out->huge += large != 0;
        spin_unlock(&space->lock);
        if (leaf == NULL)
            return;
    }
}
