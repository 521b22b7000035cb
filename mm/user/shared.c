/* The frame behind an address in shared memory. All spaces that share the page map the same frame, so frame and offset
 * name a futex word for all of them. */
#include "mm/user/shared.h"

#include "kernel/abi/errno.h"
#include "mm/user/user_copy.h"

/* Whether Linux finds a page of the process's own in a private area: one that is written to, or a file's. */
static bool is_own_page(uint32_t prot, uint64_t backing)
{
    return (prot & AREA_WRITE) != 0 || (backing != BACKING_NONE && area_allows(prot, AREA_READ));
}

/* 0, 1 or -EFAULT as space_shared_frame; -EAGAIN: the area or the page is not mapped on this kernel yet. */
static int look(struct space *space, uint64_t address, uint64_t *frame)
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
            *frame = *entry & PAGING_FRAME;
            result = 1;
        }
    }
    spin_unlock(&space->lock);
    return result;
}

int space_shared_frame(struct space *space, uint64_t address, uint64_t *frame)
{
    uint8_t byte;
    int result;

    while ((result = look(space, address, frame)) == -EAGAIN) {
        if (user_read(&byte, address, sizeof(byte)) != 0)
            return -EFAULT;
    }
    return result;
}
