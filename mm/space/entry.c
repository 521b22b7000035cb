/* The entries of a space's page tables. See the header. */
#include "mm/space/entry.h"

#include "kernel/abi/errno.h"
#include "mm/space/space.h"

int space_borrow_page_locked(struct space *space, uint64_t page, uint64_t frame, bool cow, uint64_t flags)
{
    const struct area *area = area_find(&space->areas, page);
    uint64_t *entry;

    if (area == NULL)
        return -EFAULT;
    entry = paging_entry(&space->tables, page, true);
    if (entry == NULL)
        return -ENOMEM;
    if (*entry != 0)
        return (*entry & PAGING_FRAME) == frame ? 0 : -EEXIST;
    *entry = space_entry(space, page, frame, area->prot, cow, false, flags);
    return 1;
}
