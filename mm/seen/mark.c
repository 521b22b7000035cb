/* Marked entries. See the header and mm/move/lazy.md. The hardware may set bits of an entry that is present, so such an
 * entry is changed by one locked instruction. */
#include "mm/seen/mark.h"

#include "kernel/arch/x86_64/cpu.h"
#include "mm/page/zero_page.h"
#include "mm/seen/hint.h"

struct marking {
    const struct policy *policy; /* NULL: none */
    uint64_t count;
    bool hides; /* each entry; else the caller hides the large entry */
    bool flush;
};

static void mark_entry(void *context, uint64_t va, uint64_t *entry, uint64_t size)
{
    struct marking *marking = context;
    uint64_t old = *entry, nodes = marking->policy != NULL ? mempolicy_leaves(marking->policy, va) : 0, changed;

    (void)size;
    if (!mark_possible(old) || zero_page_is(old) || (nodes >> policy_node_of(old & PAGING_FRAME) & 1) != 0)
        return;
    changed = mark_changes(old, marking->hides);
    marking->flush |= (changed & PAGING_PRESENT) != 0;
    __atomic_fetch_xor(entry, changed, __ATOMIC_RELEASE);
    marking->count++;
}

void mark_pages_locked(struct space *space, uint64_t start, uint64_t end, const struct policy *policy)
{
    bool large = (start & (LEAF_SIZE - 1)) == 0 && end - start == LEAF_SIZE && paging_large(&space->tables, start) != 0;
    struct marking marking = {.policy = policy, .hides = !large};

    if (!hint_begin_locked(space))
        return;
    paging_visit(&space->tables, start, end, mark_entry, &marking);
    if (large && marking.count != 0)
        marking.flush = paging_large_hide(&space->tables, start);
    if (marking.flush)
        space_flush(space, start, end);
    space->stats.lazy_set += marking.count;
}

bool mark_new_locked(struct space *space, uint64_t page)
{
    uint64_t *entry = paging_entry(&space->tables, page, false);

    if (entry == NULL || (*entry & PAGING_PRESENT) == 0 || !hint_begin_locked(space))
        return false;
    *entry ^= mark_changes(*entry, true);
    return true;
}

bool mark_touched_locked(const struct space *space, const struct area *area, uint64_t page, const uint64_t *seen)
{
    uint32_t number = area->prot >> AREA_POLICY_SHIFT;
    const struct policy *policy = number != 0 ? policy_known_locked(space, number) : NULL;
    uint64_t large;

    if ((*seen & (PAGING_SOFT_MARKED | PAGING_SOFT_STILL)) != PAGING_SOFT_MARKED)
        return false; /* while a page moves, it can be read where it is */
    large = paging_large(&space->tables, page);
    if (!mark_hidden(*seen) && (large == 0 || (large & PAGING_PRESENT) != 0))
        return false;
    return policy == NULL || mempolicy_lets_move(policy, page, cpu_self()->node);
}
