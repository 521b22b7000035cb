/* Large pages whose 4 KiB table is deposited. See paging.h and mm/fault/huge.md.
 *
 * A second tree of the same form as the page tables, which the hardware never walks, records the deposited tables:
 * where the page tables have a large entry, this tree has the physical address of the deposited table.
 *
 * A CPU may have cached the upper-level entry (paging-structure caches) and still walk a deposited table. The table is
 * unchanged, so the translations are correct, but the CPU may set accessed and dirty bits in it at any time. So the
 * kernel sets bits in the table with locked instructions. */
#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/paging_internal.h"

#define USED (PAGING_ACCESSED | PAGING_DIRTY)
/* The bits of an entry that the hardware reads, except the frame. */
#define RIGHTS (PAGING_PRESENT | PAGING_WRITE | PAGING_USER | PAGING_UNCACHED | PAGING_GLOBAL | PAGING_NO_EXECUTE)

/* Returns the entry of the deposit tree for the table of VA, or NULL if there is none. */
static uint64_t *deposit_slot(const struct page_tables *tables, uint64_t va, bool create)
{
    struct page_tables aside = {
        .root = tables->deposits, .delta = tables->delta, .alloc = tables->alloc, .context = tables->context};

    return aside.root != 0 ? paging_entry_at(&aside, va, LEVEL_LARGE, create) : NULL;
}

uint64_t paging_large_of(const uint64_t *leaf)
{
    uint64_t expected = leaf[0] & (PAGING_FRAME | RIGHTS);

    /* Executable pages stay small: some processors halt with a machine check when the instruction TLB has translations
     * of both sizes for one address (iTLB multihit). */
    if ((expected & (PAGING_PRESENT | PAGING_NO_EXECUTE)) != (PAGING_PRESENT | PAGING_NO_EXECUTE))
        return 0;
    if ((expected & PAGING_FRAME & (PAGING_SIZE_2M - 1)) != 0)
        return 0;
    for (unsigned i = 0; i < ENTRIES; i++) {
        if ((leaf[i] & (PAGING_FRAME | RIGHTS)) != expected + i * PAGE_SIZE)
            return 0;
    }
    return expected | PAGING_LARGE;
}

uint64_t paging_deposit(const struct page_tables *tables, uint64_t va)
{
    const uint64_t *slot = deposit_slot(tables, va, false);

    return slot != NULL ? *slot : 0;
}

uint64_t *paging_deposited(const struct page_tables *tables, uint64_t va)
{
    uint64_t frame = paging_deposit(tables, va);

    return frame != 0 ? table_at(tables, frame) : NULL;
}

void paging_note_used(uint64_t *leaf, uint64_t used)
{
    used &= USED;
    for (unsigned i = 0; used != 0 && i < ENTRIES; i++) {
        if ((leaf[i] & PAGING_PRESENT) != 0 && (leaf[i] & used) != used)
            __atomic_fetch_or(&leaf[i], used, __ATOMIC_RELAXED);
    }
}

uint64_t *paging_demote(const struct page_tables *tables, uint64_t va, uint64_t *entry)
{
    uint64_t *slot = deposit_slot(tables, va, false);
    uint64_t *leaf;

    if (slot == NULL || *slot == 0)
        return NULL;
    leaf = table_at(tables, *slot);
    paging_note_used(leaf, __atomic_exchange_n(entry, *slot | TABLE_FLAGS | PAGING_USER, __ATOMIC_RELEASE));
    *slot = 0;
    return leaf;
}

void paging_renew(const struct page_tables *tables, uint64_t va, uint64_t *entry, uint64_t *leaf)
{
    uint64_t large = paging_large_of(leaf);

    if (large == 0)
        paging_demote(tables, va, entry);
    else if (large != (*entry & ~USED))
        paging_note_used(leaf, __atomic_exchange_n(entry, large, __ATOMIC_RELEASE));
}

int paging_make_large(struct page_tables *tables, uint64_t va)
{
    uint64_t *entry = paging_entry_at(tables, va, LEVEL_LARGE, false);
    uint64_t *slot;
    uint64_t large;

    if (entry == NULL || !is_table(*entry))
        return -EINVAL;
    large = paging_large_of(table_at(tables, *entry & PAGING_FRAME));
    if (large == 0)
        return -EINVAL;
    if (tables->deposits == 0)
        tables->deposits = tables->alloc(tables->context);
    slot = deposit_slot(tables, va, true);
    if (slot == NULL)
        return -ENOMEM;
    *slot = *entry & PAGING_FRAME;
    __atomic_store_n(entry, large, __ATOMIC_RELEASE);
    return 0;
}

/* The large entry for VA with a deposited table, or NULL. */
static uint64_t *large_entry(const struct page_tables *tables, uint64_t va)
{
    uint64_t *entry = paging_entry_at(tables, va, LEVEL_LARGE, false);

    return entry != NULL && (*entry & PAGING_LARGE) != 0 && paging_deposit(tables, va) != 0 ? entry : NULL;
}

uint64_t paging_large(const struct page_tables *tables, uint64_t va)
{
    const uint64_t *entry = large_entry(tables, va);

    return entry != NULL ? *entry : 0;
}

static bool large_take(const struct page_tables *tables, uint64_t va, uint64_t bit)
{
    uint64_t *entry = paging_entry_at(tables, va, LEVEL_LARGE, false);

    return entry != NULL && (*entry & PAGING_LARGE) != 0 &&
           (__atomic_fetch_and(entry, ~bit, __ATOMIC_RELAXED) & bit) != 0;
}

bool paging_large_take_accessed(const struct page_tables *tables, uint64_t va)
{
    return large_take(tables, va, PAGING_ACCESSED);
}

bool paging_large_take_dirty(const struct page_tables *tables, uint64_t va)
{
    return large_take(tables, va, PAGING_DIRTY);
}

/* The hardware may set bits of an entry that is present, so the change is one locked instruction. */
bool paging_large_hide(const struct page_tables *tables, uint64_t va)
{
    uint64_t *entry = large_entry(tables, va);

    if (entry == NULL || (*entry & PAGING_PRESENT) == 0)
        return false;
    __atomic_fetch_xor(entry, PAGING_PRESENT | PAGING_SOFT_HINT, __ATOMIC_RELEASE);
    return true;
}

bool paging_large_show(const struct page_tables *tables, uint64_t va)
{
    uint64_t *entry = large_entry(tables, va);

    if (entry == NULL || (*entry & PAGING_PRESENT) != 0)
        return false;
    __atomic_fetch_xor(entry, PAGING_PRESENT | PAGING_SOFT_HINT, __ATOMIC_RELEASE);
    return true;
}

const uint64_t *paging_look_aside(const struct page_tables *tables, uint64_t va)
{
    const uint64_t *entry = paging_entry_at(tables, va, LEVEL_LARGE, false);
    const uint64_t *leaf;

    if (entry == NULL || is_nothing(*entry))
        return NULL;
    leaf = is_table(*entry) ? table_at(tables, *entry & PAGING_FRAME) : paging_deposited(tables, va);
    return leaf != NULL ? &leaf[paging_index(va)] : NULL;
}

/* Releases a table at LEVEL of the deposit tree with everything below it. Deposited tables have 4 KiB entries, so their
 * pages are released, too. */
static void release_aside(const struct page_tables *tables, uint64_t frame, int level,
                          const struct paging_release *release)
{
    const uint64_t *table = table_at(tables, frame);

    for (unsigned i = 0; (i = paging_next_used(table, i, ENTRIES)) < ENTRIES; i++) {
        if (level > LEVEL_LARGE) {
            release_aside(tables, table[i] & PAGING_FRAME, level - 1, release);
            continue;
        }
        if (release->leaf != NULL)
            release->leaf(release->context, table_at(tables, table[i]));
        release->table(release->context, table[i]);
    }
    release->table(release->context, frame);
}

void paging_release_deposits(struct page_tables *tables, unsigned first, unsigned last,
                             const struct paging_release *release)
{
    uint64_t *root = table_at(tables, tables->deposits);

    for (unsigned i = first; (i = paging_next_used(root, i, last)) < last; i++) {
        release_aside(tables, root[i] & PAGING_FRAME, LEVEL_ROOT - 1, release);
        root[i] = 0;
    }
    if (paging_next_used(root, 0, ENTRIES) < ENTRIES)
        return;
    release->table(release->context, tables->deposits);
    tables->deposits = 0;
}
