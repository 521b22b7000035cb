/* Which frame is behind memory that a space shares with others: what names a word there for all of them. */
#include "mm/user/shared.h"

#include "kernel/abi/errno.h"
#include "mm/user/user_copy.h"

/* 0 or 1 as space_shared_frame; -EAGAIN: this kernel does not know. */
static int look(struct space *space, uint64_t address, uint64_t *frame)
{
    const struct area *area;
    const uint64_t *entry;
    int result = -EAGAIN;

    spin_lock(&space->lock);
    area = area_find(&space->areas, address);
    if (area != NULL && (area->prot & AREA_SHARED) == 0) {
        result = 0;
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
