/* Looking at this kernel's tables: taking accessed bits, or hiding entries. See seen.h. A bit that is taken is set
 * again at the next access, as the entry is flushed; an entry that is rewritten meanwhile may lose one, which costs one
 * observation. */
#include "kernel/instance/instance.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/page/zero_page.h"
#include "mm/seen/hint.h"
#include "mm/seen/seen.h"
#include "mm/space/entry.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/trace.h"

#define AREAS_AT_ONCE 64u /* areas that are searched for a table with the lock held */

static uint32_t own_node(void)
{
    return instance.plan.kernels[instance.kernel].node;
}

void seen_note_page_locked(const struct space *space, uint64_t page, uint32_t node)
{
    if (trace_is_on()) /* this is for each page */
        trace_note("uses a page", (uint32_t)space->id, instance.kernel, page / PAGE_SIZE / SEEN_BLOCK_PAGES,
                   page / PAGE_SIZE % SEEN_BLOCK_PAGES | node << 4);
}

/* A function of its own, by whose address an exact trace shows when a table is looked at. */
static __attribute__((noinline)) void note_table_locked(const struct space *space, uint64_t va)
{
    trace_note("looks at a table", (uint32_t)space->id, instance.kernel, va / PAGE_SIZE / SEEN_BLOCK_PAGES,
               space->stats.seen_looks);
}

static void count_locked(struct space *space, struct msg_space_seen *out, uint32_t index, uint64_t entry)
{
    if (policy_node_of(entry & PAGING_FRAME) == own_node())
        space->stats.seen_local++;
    else
        space->stats.seen_remote++;
    seen_add(out, index);
    if ((entry & PAGING_DIRTY) != 0)
        out->written |= 1u << index / SEEN_BLOCK_PAGES;
    seen_note_page_locked(space, out->start + index * PAGE_SIZE, own_node());
}

/* The first entry of [INDEX, END) of LEAF that was accessed, or END: others are passed eight at a time. */
static uint32_t next_accessed(const uint64_t *leaf, uint32_t index, uint32_t end)
{
    for (const uint64_t *next = leaf + index; index + 8 <= end; index += 8, next += 8) {
        uint64_t any = next[0] | next[1] | next[2] | next[3] | next[4] | next[5] | next[6] | next[7];

        if ((any & PAGING_ACCESSED) != 0)
            break;
    }
    while (index < end && (leaf[index] & PAGING_ACCESSED) == 0)
        index++;
    return index;
}

/* Takes the accessed and dirty bits of the entries [FIRST, END) of LEAF, whose pages are all small. */
static bool look_at_entries_locked(struct space *space, uint64_t *leaf, uint32_t first, uint32_t end,
                                   struct msg_space_seen *out)
{
    bool found = false;

    for (uint32_t i = first; (i = next_accessed(leaf, i, end)) < end; i++) {
        uint64_t old = leaf[i], taken = PAGING_ACCESSED | PAGING_DIRTY;

        if ((old & PAGING_PRESENT) == 0 || zero_page_is(old))
            continue;
        if (space_prefetch_used(old) != 0) {
            space->stats.prefetch_used++;
            taken |= PAGING_SOFT_PREFETCHED;
        }
        __atomic_fetch_and(&leaf[i], ~taken, __ATOMIC_RELAXED);
        count_locked(space, out, i, old);
        found = true;
    }
    return found;
}

/* Takes the bits of a table of small pages, at VA, of those entries that areas have: others are empty, and reading them
 * costs as much. */
static bool look_small_locked(struct space *space, uint64_t va, struct msg_space_seen *out)
{
    uint64_t *leaf = paging_entry(&space->tables, va, false), end = va + LEAF_SIZE;
    bool found = false;

    for (const struct area *area = area_next(&space->areas, va); area != NULL && area->start < end;
         area = area_next(&space->areas, area->end)) {
        uint64_t first = area->start > va ? area->start - va : 0;
        uint64_t behind = area->end < end ? area->end - va : LEAF_SIZE;

        found |= look_at_entries_locked(space, leaf, (uint32_t)(first / PAGE_SIZE), (uint32_t)(behind / PAGE_SIZE),
                                        out);
    }
    return found;
}

enum search { SEARCH_END, SEARCH_FOUND, SEARCH_GOES_ON };

/* Sets *VA to the first leaf table at or above it, or after many areas without one to where the search is to go on.
 * Tables are searched only where there are areas, since between them upper tables are mostly empty, and long. */
static enum search next_table_locked(const struct space *space, uint64_t *va)
{
    const struct area *area = area_next(&space->areas, *va);

    for (uint32_t i = 0; area != NULL && i < AREAS_AT_ONCE; i++) {
        uint64_t at = *va > area->start ? *va : area->start;

        if (paging_next_leaf_look(&space->tables, &at, area->end) != NULL) {
            *va = at & ~(LEAF_SIZE - 1);
            return SEARCH_FOUND;
        }
        *va = area->end;
        area = area_next(&space->areas, *va);
    }
    return area != NULL ? SEARCH_GOES_ON : SEARCH_END;
}

bool seen_look(struct space *space, uint64_t *at, bool *found, struct msg_space_seen *out)
{
    uint64_t va = *at, large;
    enum search search;

    *found = false;
    spin_lock(&space->lock);
    search = next_table_locked(space, &va);
    if (search != SEARCH_FOUND) {
        *at = va;
        space->stats.seen_looks += search == SEARCH_END;
        spin_unlock(&space->lock);
        return search != SEARCH_END;
    }
    *at = va + LEAF_SIZE;
    *out = (struct msg_space_seen){
        .space = space->id, .start = va, .node = (uint16_t)own_node(), .kernel = (uint16_t)instance.kernel};
    note_table_locked(space, va);
    large = paging_large(&space->tables, va);
    if (seen_way_locked(space) == SEEN_BY_FAULTS) {
        hint_hide_locked(space, va);
    } else if (large == 0) {
        *found = look_small_locked(space, va, out);
    } else if (paging_large_take_accessed(&space->tables, va)) {
        large |= paging_large_take_dirty(&space->tables, va) ? PAGING_DIRTY : 0;
        for (uint32_t i = 0; i < LEAF_ENTRIES; i++)
            count_locked(space, out, i, large + i * PAGE_SIZE);
        *found = true;
    }
    if (*found)
        space_flush(space, va, va + LEAF_SIZE);
    spin_unlock(&space->lock);
    return true;
}
