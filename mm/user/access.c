/* Access to the memory of a space that is not loaded on this CPU. Each page is made usable as by a fault, and then
 * copied under space->lock, so that it cannot be unmapped from this kernel meanwhile. */
#include "mm/user/access.h"

#include "kernel/abi/errno.h"
#include "mm/fault/fault.h"
#include "mm/frame/content.h"

/* Copies within one page. -EAGAIN: the page has been unmapped again since the fault. */
static int copy(struct space *space, uint64_t address, void *bytes, uint32_t size, bool write)
{
    const uint64_t *entry;
    int result = -EAGAIN;

    spin_lock(&space->lock);
    entry = paging_look(&space->tables, address & ~(PAGE_SIZE - 1));
    if (entry != NULL && (*entry & PAGING_PRESENT) != 0 && (!write || (*entry & PAGING_WRITE) != 0)) {
        frame_bytes(*entry & PAGING_FRAME, (uint32_t)(address & (PAGE_SIZE - 1)), bytes, size, write);
        result = 0;
    }
    spin_unlock(&space->lock);
    return result;
}

int64_t space_access(struct space *space, uint64_t address, void *bytes, uint64_t size, bool write)
{
    uint64_t done = 0;

    while (done < size) {
        uint64_t at = address + done, part = PAGE_SIZE - (at & (PAGE_SIZE - 1));
        int error;

        if (part > size - done)
            part = size - done;
        do {
            error = space_fault(space, at, write ? AREA_WRITE : AREA_READ);
            if (error >= 0)
                error = copy(space, at, (uint8_t *)bytes + done, (uint32_t)part, write);
        } while (error == -EAGAIN);
        if (error != 0)
            return done > 0 ? (int64_t)done : -EFAULT;
        done += part;
    }
    return (int64_t)done;
}
