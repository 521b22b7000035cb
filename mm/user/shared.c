/* The page of an object behind an address in shared memory. All spaces that share the page know it by the same name,
 * whichever frame it has, so name and offset are a futex word's name for all of them. mm/area/object.md. */
#include "mm/user/shared.h"

#include "kernel/abi/errno.h"
#include "mm/user/access.h"

/* Whether Linux finds a page of the process's own in a private area: one that is written to, or a file's. */
static bool is_own_page(uint32_t prot, uint64_t backing)
{
    return (prot & AREA_WRITE) != 0 || (backing != BACKING_NONE && area_allows(prot, AREA_READ));
}

/* 0, 1 or -EFAULT as space_shared_object; -EAGAIN: the area or the page is not mapped on this kernel yet. */
static int look(struct space *space, uint64_t address, uint64_t *backing)
{
    const struct area *area;
    const uint64_t *entry;
    int result = -EAGAIN;

    spin_lock(&space->lock);
    area = area_find(&space->areas, address);
    if (area != NULL && (area->prot & AREA_SHARED) == 0) {
        result = is_own_page(area->prot, area->backing) ? 0 : -EFAULT;
    } else if (area != NULL) {
        entry = paging_look(&space->tables, address & ~(PAGE_SIZE - 1));
        if (entry != NULL && (*entry & PAGING_PRESENT) != 0) {
            *backing = area_backing_at(area, address & ~(PAGE_SIZE - 1));
            result = 1;
        }
    }
    spin_unlock(&space->lock);
    return result;
}

int space_shared_object(struct space *space, uint64_t address, uint64_t *backing)
{
    uint8_t byte;
    int result;

    while ((result = look(space, address, backing)) == -EAGAIN) {
        if (space_access(space, address, &byte, sizeof(byte), false) < 0)
            return -EFAULT;
    }
    return result;
}
