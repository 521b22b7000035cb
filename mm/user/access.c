/* Access to the memory of a space that is not loaded on this CPU. Each page is made usable as by a fault, and then
 * copied under space->lock, so that it cannot be unmapped from this kernel meanwhile. */
#include "mm/user/access.h"

#include "kernel/abi/errno.h"
#include "mm/fault/fault.h"
#include "mm/frame/content.h"

/* The frame of ADDRESS's page, to be used under space->lock; -EAGAIN: the page has been unmapped since the fault. */
static int64_t frame_locked(struct space *space, uint64_t address, bool write)
{
    const uint64_t *entry = paging_look(&space->tables, address & ~(PAGE_SIZE - 1));

    if (entry == NULL || (*entry & PAGING_PRESENT) == 0 || (write && (*entry & PAGING_WRITE) == 0))
        return -EAGAIN;
    return (int64_t)(*entry & PAGING_FRAME);
}

/* Copies within one page. -EAGAIN as above. */
static int copy(struct space *space, uint64_t address, void *bytes, uint32_t size, bool write)
{
    int64_t frame;

    spin_lock(&space->lock);
    frame = frame_locked(space, address, write);
    if (frame >= 0)
        frame_bytes((uint64_t)frame, (uint32_t)(address & (PAGE_SIZE - 1)), bytes, size, write);
    spin_unlock(&space->lock);
    return frame < 0 ? (int)frame : 0;
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

int space_swap(struct space *space, uint64_t address, uint32_t *expected, uint32_t value)
{
    bool swapped = false;
    int64_t frame;

    do {
        if (space_fault(space, address, AREA_WRITE) < 0)
            return -EFAULT;
        spin_lock(&space->lock);
        frame = frame_locked(space, address, true);
        if (frame >= 0)
            swapped = frame_swap((uint64_t)frame, (uint32_t)(address & (PAGE_SIZE - 1)), expected, value);
        spin_unlock(&space->lock);
    } while (frame < 0);
    return swapped ? 0 : -EAGAIN;
}
