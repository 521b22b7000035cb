/* Four-level page tables. See the header. */
#include "kernel/arch/x86_64/paging.h"

#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/paging_internal.h"

static uint64_t *entry_in(uint64_t *table, uint64_t va, int level)
{
    return &table[va >> level_shift(level) & (ENTRIES - 1)];
}

uint64_t *paging_entry_at(const struct page_tables *tables, uint64_t va, int level, bool create)
{
    uint64_t *table = table_at(tables, tables->root);

    for (int at = LEVEL_ROOT; at > level; at--) {
        uint64_t *entry = entry_in(table, va, at);

        if (is_nothing(*entry)) {
            uint64_t frame = create ? tables->alloc(tables->context) : 0;

            if (frame == 0)
                return NULL;
            *entry = frame | TABLE_FLAGS | ((int64_t)va >= 0 ? PAGING_USER : 0);
        } else if ((*entry & PAGING_LARGE) != 0 && (at != LEVEL_LARGE || paging_demote(tables, va, entry) == NULL)) {
            return NULL;
        }
        table = table_at(tables, *entry & PAGING_FRAME);
    }
    return entry_in(table, va, level);
}

int paging_map(const struct page_tables *tables, uint64_t va, uint64_t pa, uint64_t size, uint64_t flags,
               uint64_t largest)
{
    while (size > 0) {
        int level = LEVEL_LEAF;
        uint64_t step, *entry;

        while (level < 3 && (1ull << level_shift(level + 1)) <= largest &&
               ((va | pa) & ((1ull << level_shift(level + 1)) - 1)) == 0 && size >= 1ull << level_shift(level + 1))
            level++;
        step = 1ull << level_shift(level);
        entry = paging_entry_at(tables, va, level, true);
        if (entry == NULL)
            return -ENOMEM;
        *entry = pa | flags | PAGING_PRESENT | (level > LEVEL_LEAF ? PAGING_LARGE : 0);
        va += step;
        pa += step;
        size -= step;
    }
    return 0;
}

/* The entry for VA if all its tables exist, or NULL. Unrolled, because faults and changes spend most of their time
 * here. */
static inline __attribute__((always_inline)) uint64_t *find_entry(const struct page_tables *tables, uint64_t va)
{
    uint64_t *table = table_at(tables, tables->root);

#pragma GCC unroll 3
    for (int level = LEVEL_ROOT; level > LEVEL_LEAF; level--) {
        uint64_t entry = *entry_in(table, va, level);

        if (!is_table(entry))
            return NULL;
        table = table_at(tables, entry & PAGING_FRAME);
    }
    return entry_in(table, va, LEVEL_LEAF);
}

uint64_t *paging_entry(const struct page_tables *tables, uint64_t va, bool create)
{
    uint64_t *entry = find_entry(tables, va);

    return entry != NULL ? entry : paging_entry_at(tables, va, LEVEL_LEAF, create);
}

const uint64_t *paging_look(const struct page_tables *tables, uint64_t va)
{
    const uint64_t *entry = find_entry(tables, va);

    return entry != NULL ? entry : paging_look_aside(tables, va);
}

int paging_prepare(const struct page_tables *tables, uint64_t va, uint64_t size)
{
    for (uint64_t end = va + size; va - 1 < end - 1; va = (va | ((1ull << level_shift(LEVEL_ROOT)) - 1)) + 1) {
        if (paging_entry_at(tables, va, LEVEL_ROOT - 1, true) == NULL)
            return -ENOMEM;
        if (va + (1ull << level_shift(LEVEL_ROOT)) < va)
            break; /* the last slot of the address space */
    }
    return 0;
}

/* Returns the table that ENTRY at LEVEL, for VA, points to, or NULL. With LOOK, large pages stay large. */
static uint64_t *table_below(const struct page_tables *tables, uint64_t *entry, int level, uint64_t va, bool look)
{
    if (is_table(*entry))
        return table_at(tables, *entry & PAGING_FRAME);
    if (level != LEVEL_LARGE || (*entry & PAGING_LARGE) == 0)
        return NULL;
    return look ? paging_deposited(tables, va) : paging_demote(tables, va, entry);
}

/* paging_next_leaf within the table at LEVEL; *VA is behind the table if it has no leaf. */
static uint64_t *next_leaf(const struct page_tables *tables, uint64_t *table, int level, uint64_t *va, uint64_t end,
                           bool look)
{
    uint64_t step = 1ull << level_shift(level);
    uint64_t base = *va & ~(step * ENTRIES - 1);
    unsigned first = (unsigned)((*va - base) / step);
    unsigned last = end - base < step * ENTRIES ? (unsigned)((end - base + step - 1) / step) : ENTRIES;

    if (level == LEVEL_LEAF) {
        *va = base;
        return table;
    }
    for (unsigned i = first; (i = paging_next_used(table, i, last)) < last; i++) {
        uint64_t *found;

        if (i != first)
            *va = base + i * step;
        found = table_below(tables, &table[i], level, *va, look);
        if (found != NULL)
            found = next_leaf(tables, found, level - 1, va, end, look);
        if (found != NULL)
            return found;
    }
    *va = base + step * ENTRIES;
    return NULL;
}

/* paging_next_leaf and paging_next_leaf_look. Mostly *VA itself has a table. */
static inline __attribute__((always_inline)) uint64_t *first_leaf(const struct page_tables *tables, uint64_t *va,
                                                                  uint64_t end, bool look)
{
    uint64_t *entry = *va < end ? find_entry(tables, *va) : NULL;

    if (entry != NULL) {
        uint64_t *table = entry - paging_index(*va);

        *va &= ~((1ull << level_shift(LEVEL_LEAF + 1)) - 1);
        return table;
    }
    return *va < end ? next_leaf(tables, table_at(tables, tables->root), LEVEL_ROOT, va, end, look) : NULL;
}

uint64_t *paging_next_leaf(const struct page_tables *tables, uint64_t *va, uint64_t end)
{
    return first_leaf(tables, va, end, false);
}

const uint64_t *paging_next_leaf_look(const struct page_tables *tables, uint64_t *va, uint64_t end)
{
    return first_leaf(tables, va, end, true);
}

struct visit {
    const struct page_tables *tables;
    void (*leaf)(void *context, uint64_t va, uint64_t *entry, uint64_t size);
    void *context;
};

/* Visits the entries of a table of 4 KiB pages from VA's up to END. */
static inline void visit_leaves(const struct visit *visit, uint64_t *table, uint64_t va, unsigned end)
{
    uint64_t base = va & ~((1ull << level_shift(LEVEL_LEAF + 1)) - 1);

    for (unsigned i = paging_index(va); (i = paging_next_used(table, i, end)) < end; i++)
        visit->leaf(visit->context, base + ((uint64_t)i << PAGE_SHIFT), &table[i], PAGE_SIZE);
}

/* Visits all of the large page at VA as 4 KiB entries. False: paging_map mapped it as a large page. */
static bool visit_large(const struct visit *visit, uint64_t va, uint64_t *entry)
{
    uint64_t *leaf = paging_deposited(visit->tables, va);

    if (leaf == NULL)
        return false;
    paging_note_used(leaf, *entry);
    for (unsigned i = 0; (i = paging_next_used(leaf, i, ENTRIES)) < ENTRIES; i++)
        visit->leaf(visit->context, va + i * PAGE_SIZE, &leaf[i], PAGE_SIZE);
    paging_renew(visit->tables, va, entry, leaf);
    return true;
}

/* LAST is the last address of the range (inclusive), because the end of a range at the top of the address space
 * is 0. */
static void visit_table(const struct visit *visit, uint64_t frame, int level, uint64_t va, uint64_t last)
{
    uint64_t *table = table_at(visit->tables, frame);
    uint64_t step = 1ull << level_shift(level);
    uint64_t base = va & ~(step * ENTRIES - 1);
    unsigned first = (unsigned)((va - base) / step);
    unsigned end = last - base < step * ENTRIES ? (unsigned)((last - base) / step) + 1 : ENTRIES;

    for (unsigned i = first; (i = paging_next_used(table, i, end)) < end; i++) {
        uint64_t at = base + i * step;
        bool whole = at >= va && last - at >= step - 1;

        if (level == LEVEL_LARGE && (table[i] & PAGING_LARGE) != 0) {
            if (whole && visit_large(visit, at, &table[i]))
                continue;
            if (!whole)
                paging_demote(visit->tables, at, &table[i]);
        }
        if (level == LEVEL_LEAF || (table[i] & PAGING_LARGE) != 0)
            visit->leaf(visit->context, at, &table[i], step);
        else if ((table[i] & PAGING_PRESENT) != 0)
            visit_table(visit, table[i] & PAGING_FRAME, level - 1, i == first ? va : at, last);
    }
}

void paging_visit(const struct page_tables *tables, uint64_t va, uint64_t end,
                  void (*visit)(void *context, uint64_t va, uint64_t *entry, uint64_t size), void *context)
{
    struct visit v = {tables, visit, context};
    uint64_t *first;

    if (va >= end)
        return;
    first = va >> level_shift(LEVEL_LEAF + 1) == (end - 1) >> level_shift(LEVEL_LEAF + 1) ? find_entry(tables, va)
                                                                                          : NULL;
    if (first != NULL) /* the common case: one table maps the whole range */
        visit_leaves(&v, first - paging_index(va), va, paging_index(end - 1) + 1);
    else
        visit_table(&v, tables->root, LEVEL_ROOT, va, end - 1);
}

static void release_table(const struct page_tables *tables, uint64_t frame, int level,
                          const struct paging_release *release)
{
    uint64_t *table = table_at(tables, frame);

    if (level == LEVEL_LEAF && release->leaf != NULL)
        release->leaf(release->context, table);
    for (unsigned i = 0; level > LEVEL_LEAF && (i = paging_next_used(table, i, ENTRIES)) < ENTRIES; i++) {
        if (is_table(table[i]))
            release_table(tables, table[i] & PAGING_FRAME, level - 1, release);
    }
    release->table(release->context, frame);
}

void paging_release(struct page_tables *tables, uint64_t va, uint64_t end, const struct paging_release *release)
{
    uint64_t *root = table_at(tables, tables->root);
    unsigned first = (unsigned)(va >> level_shift(LEVEL_ROOT));
    unsigned last = (unsigned)((end - 1) >> level_shift(LEVEL_ROOT)) + 1;

    if (tables->deposits != 0)
        paging_release_deposits(tables, first, last, release);
    for (unsigned i = first; (i = paging_next_used(root, i, last)) < last; i++) {
        if ((root[i] & PAGING_PRESENT) != 0)
            release_table(tables, root[i] & PAGING_FRAME, LEVEL_ROOT - 1, release);
        root[i] = 0;
    }
}
