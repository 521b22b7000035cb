/* Memory of a space in which no thread runs yet. See the header. */
#include "mm/page/populate.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/window.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/frame/frame.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/page/install.h"
#include "mm/space/entry.h"
#include "msg/slice.h"

#define PAGES_AT_ONCE 16u /* that are zeroed and mapped under the lock */

/* Maps a new zeroed frame near this kernel; exec moves it to where the
 * policy of its thread wants it (tasks/program/spawn.c). */
static int install_near_locked(struct space *space, uint64_t page, uint32_t prot)
{
    uint64_t frame = mempolicy_frame_near(true);
    int error = frame == 0 ? -ENOMEM : space_install_locked(space, page, frame, prot, true, false);

    if (error != 0 && frame != 0)
        frame_free(frame, 0);
    return error;
}

int space_populate(struct space *space, uint64_t start, uint64_t end, uint32_t prot)
{
    int error;

    spin_lock(&space->lock);
    error = area_overlaps(&space->areas, start, end) ? -ENOEXEC : area_set(&space->areas, start, end, prot);
    spin_unlock(&space->lock);
    for (uint64_t page = start; page < end && error == 0; slice_check()) {
        uint64_t next = end - page < PAGES_AT_ONCE * PAGE_SIZE ? end : page + PAGES_AT_ONCE * PAGE_SIZE;

        spin_lock(&space->lock);
        for (; page < next && error == 0; page += PAGE_SIZE)
            error = install_near_locked(space, page, prot);
        spin_unlock(&space->lock);
    }
    return error;
}

/* Maps the frames of pages from START up to END, of one leaf table. */
static int map_leaf_locked(struct space *space, uint64_t start, uint64_t end, uint32_t prot,
                           const uint8_t *const *pages)
{
    uint64_t *entry = paging_entry(&space->tables, start, true);
    uint64_t count = (end - start) / PAGE_SIZE;

    if (entry == NULL)
        return -ENOMEM;
    for (uint64_t i = 0, next; i < count; i = next) { /* a run of consecutive frames */
        uint64_t first = window_physical(pages[i]);

        for (next = i; next < count && window_physical(pages[next]) == first + (next - i) * PAGE_SIZE; next++) {
            assert(entry[next] == 0);
            entry[next] = space_entry_own(window_physical(pages[next]), prot, true, 0);
        }
        frame_share_run(first, next - i);
    }
    space_hold_pages_locked(space, (int64_t)count);
    return 0;
}

int space_populate_with(struct space *space, uint64_t start, uint64_t end, uint32_t prot, const uint8_t *const *pages)
{
    int error;

    spin_lock(&space->lock);
    error = area_overlaps(&space->areas, start, end) ? -ENOEXEC : area_set(&space->areas, start, end, prot);
    spin_unlock(&space->lock);
    for (uint64_t page = start, next; page < end && error == 0; page = next) {
        next = (page & ~(LEAF_SIZE - 1)) + LEAF_SIZE;
        next = next < end ? next : end;
        spin_lock(&space->lock);
        error = map_leaf_locked(space, page, next, prot, pages + (page - start) / PAGE_SIZE);
        spin_unlock(&space->lock);
        slice_check();
    }
    return error;
}

void space_write(struct space *space, uint64_t address, const void *data, uint64_t size)
{
    const uint8_t *bytes = data;

    while (size > 0) {
        uint64_t offset = address & (PAGE_SIZE - 1);
        uint64_t part = PAGE_SIZE - offset < size ? PAGE_SIZE - offset : size;
        const uint64_t *entry = paging_look(&space->tables, address);

        assert(entry != NULL && *entry != 0);
        memcpy((uint8_t *)window_direct(*entry & PAGING_FRAME) + offset, bytes, part);
        address += part;
        bytes += part;
        size -= part;
        slice_check();
    }
}
