/* Pages of a file around one that is read. See the header. */
#include "mm/fault/around.h"

#include "mm/file/object.h"
#include "mm/frame/frame.h"
#include "mm/lease/lease.h"
#include "mm/lock/lock.h"
#include "mm/space/entry.h"

_Static_assert(LEAF_ENTRIES % AROUND_ASKED == 0 && AROUND_ASKED % AROUND_HERE == 0, "a block lies in one table");

void around_map_locked(struct space *space, uint64_t page, const struct area *area, uint32_t pages)
{
    uint64_t start = page & ~(pages * PAGE_SIZE - 1), end = start + pages * PAGE_SIZE;
    uint64_t frames[AROUND_ASKED];
    uint64_t *entry;
    uint32_t count;
    int64_t held = 0;

    if (space->home != instance.kernel || !backing_is_file(area->backing) || !around_may_come(area) ||
        backing_kernel(area->backing) != instance.kernel)
        return;
    if (start < area->start)
        start = area->start;
    if (end > area->end)
        end = area->end;
    if (lease_lowest_locked(space, start, end) != end || space_locking->taken_locked(space, start, end))
        return;
    entry = paging_entry(&space->tables, start, false); /* the table of PAGE */
    for (; start < end && *entry != 0; entry++)
        start += PAGE_SIZE;
    while (end > start && entry[(end - start) / PAGE_SIZE - 1] != 0)
        end -= PAGE_SIZE;
    if (start == end)
        return;
    count = (uint32_t)((end - start) / PAGE_SIZE);
    file_object_here(area_backing_at(area, start), count, frames);
    for (uint32_t i = 0; i < count; i++, entry++) {
        if (frames[i] == 0)
            continue;
        if (*entry != 0) {
            frame_release(frames[i]);
            continue;
        }
        *entry = space_entry_own(frames[i], area->prot, (area->prot & AREA_SHARED) == 0, 0);
        held++;
    }
    space_hold_pages_locked(space, held);
}
