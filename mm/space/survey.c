/* The number of a space's pages on this kernel. See the header. */
#include "mm/space/survey.h"

#include "mm/space/entry.h"

/* Only owning entries are counted, so no page of the space is counted on two kernels. The lock is released between leaf
 * tables, so that messages about the space are not delayed for long. */
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
