/* Leases of empty pages, at the home: where a kernel touches pages of private memory that nobody has touched, the
 * answer to its question leases those around them to it, so that it asks no more. See mm/lease/lease.md.
 *
 * Either of two things tells that a kernel is about to touch more: nothing is mapped in the part of the page table that
 * the area has, or the page before this one and the one ROW before it, in either direction, have frames of that kernel.
 * If such leases are recalled again and again, they pause: each wait for a recall holds twice as many back as the one
 * before; two that are granted with no recall between them halve that.
 *
 * Each cuts a hole into the areas at the home, and a recall of all of the space takes them one after the other: so a
 * space has LEASE_EMPTIES_MAX at the most, and an area limit that is higher by their number (struct area_list, HOLES).
 */
#include "mm/frame/reference.h"
#include "mm/lease/internal.h"
#include "mm/lease/lease.h"
#include "mm/space/entry.h"
#include "mm/space/strategy.h"
#include "msg/channel.h"

#define TABLE_LEAST 128u /* pages of a table without entries that are worth a lease */
#define ROW_LEAST 16u    /* pages behind a row */
#define ROW 3u
#define PAUSE_MAX 127u
#define NOT_LEASED (AREA_SHARED | AREA_GROWS | AREA_LOCKED | AREA_MOVING | AREA_LOST | AREA_POLICY)

static bool is_of(uint64_t entry, uint32_t kernel)
{
    return (entry & PAGING_SOFT_REMOTE) != 0 && frame_owner(entry & PAGING_FRAME) == kernel;
}

/* Sets [*FROM, *TO), indices in LEAF within [FIRST, LAST), to the empty pages from INDEX on, away from a row of pages
 * that have frames of KERNEL. False: there is no row. */
static bool behind_row(const uint64_t *leaf, uint32_t index, uint32_t kernel, uint32_t *from, uint32_t *to)
{
    uint32_t first = *from, last = *to;

    *from = index;
    if (index >= first + ROW && is_of(leaf[index - 1], kernel) && is_of(leaf[index - ROW], kernel)) {
        *to = paging_next_used(leaf, index, last);
        return true;
    }
    *to = index + 1;
    if (index + ROW >= last || !is_of(leaf[index + 1], kernel) || !is_of(leaf[index + ROW], kernel))
        return false;
    while (*from > first && leaf[*from - 1] == 0)
        --*from;
    return true;
}

/* Reduces RANGE, around PAGE, to what no other kernel has leased, and to the home's own lease if that has PAGE. False:
 * another kernel has leased PAGE. */
static bool clip_locked(const struct space *space, uint64_t page, struct space_range *range)
{
    const struct lease *lease;

    if (lease_map_empty(&space->leases.map))
        return true;
    lease = lease_map_find(&space->leases.map, page);
    if (lease == NULL) {
        lease_clip_locked(space, page, &range->start, &range->end);
        return true;
    }
    if (lease->start > range->start)
        range->start = lease->start;
    if (lease->end < range->end)
        range->end = lease->end;
    return lease->kernel == instance.kernel;
}

bool lease_empty_find_locked(struct space *space, uint32_t kernel, uint64_t page, const struct area *area,
                             const uint64_t *entry, bool first, struct space_range *range)
{
    uint64_t table = page & ~(LEAF_SIZE - 1), least = TABLE_LEAST;

    if (area->end - area->start < ROW_LEAST * PAGE_SIZE || area->backing != BACKING_NONE ||
        (area->prot & NOT_LEASED) != 0)
        return false;
    *range = (struct space_range){area->start > table ? area->start : table,
                                  area->end - table < LEAF_SIZE ? area->end : table + LEAF_SIZE};
    if (entry != NULL) {
        uint32_t from = paging_index(range->start), to = (uint32_t)((range->end - table) / PAGE_SIZE);
        const uint64_t *leaf = entry - paging_index(page);

        if (!first || paging_next_used(leaf, from, to) != to) {
            if (!behind_row(leaf, paging_index(page), kernel, &from, &to))
                return false;
            *range = (struct space_range){table + from * PAGE_SIZE, table + to * PAGE_SIZE};
            least = ROW_LEAST;
        }
    }
    if (!clip_locked(space, page, range) || range->end - range->start < least * PAGE_SIZE ||
        space->leases.map.empties >= LEASE_EMPTIES_MAX || !leases_allowed_locked(space) ||
        (space->members >> kernel & 1) == 0 || space->leases.held ||
        space_locking->taken_locked(space, range->start, range->end) ||
        (sharers_in(&space->sharers, range->start, range->end) & ~(1ull << kernel)) != 0)
        return false;
    if (space->leases.rest > 0) {
        space->leases.rest--;
        return false;
    }
    return true;
}

bool lease_empty_give_locked(struct space *space, uint32_t kernel, struct space_range range)
{
    struct area *memory = area_reserve();

    if (memory == NULL || space->areas.count >= AREA_COUNT_MAX ||
        lease_map_set_empty(&space->leases.map, range.start, range.end, kernel) != 0) {
        area_unreserve(memory);
        return false;
    }
    lease_count_holes_locked(space);
    area_remove_reserved(&space->areas, range.start, range.end, memory); /* cannot fail: there is room for one more */
    if (space->leases.quiet)
        space->leases.pause /= 2;
    space->leases.quiet = true;
    return true;
}

bool lease_is_of_locked(const struct space *space, uint64_t page, uint32_t kernel)
{
    const struct lease *lease = lease_map_empty(&space->leases.map) ? NULL : lease_map_find(&space->leases.map, page);

    return lease != NULL && lease->kernel == kernel && list_empty(&space->leases.waits);
}

void lease_note_recall_locked(struct space *space, struct space_range range)
{
    if (range.start == 0 && range.end >= USER_END) /* of everything: no kernel wants a page */
        return;
    space->leases.pause = space->leases.pause < PAUSE_MAX / 2 ? 2 * space->leases.pause + 1 : PAUSE_MAX;
    space->leases.rest = space->leases.pause;
    space->leases.quiet = false;
}
