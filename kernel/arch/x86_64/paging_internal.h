/* Declarations shared by paging.c and paging_large.c. */
#ifndef KERNEL_ARCH_PAGING_INTERNAL_H
#define KERNEL_ARCH_PAGING_INTERNAL_H

#include "kernel/abi/limits.h"
#include "kernel/arch/x86_64/paging.h"

#define ENTRIES 512u
#define LEVEL_LEAF 1 /* levels count from the leaves: 1 is the table of 4 KiB pages, 4 the root */
#define LEVEL_LARGE 2
#define LEVEL_ROOT 4
#define TABLE_FLAGS (PAGING_PRESENT | PAGING_WRITE)

static inline unsigned level_shift(int level)
{
    return PAGE_SHIFT + 9u * (unsigned)(level - 1);
}

static inline uint64_t *table_at(const struct page_tables *tables, uint64_t frame)
{
    return (uint64_t *)(frame + tables->delta);
}

static inline bool is_table(uint64_t entry)
{
    return (entry & (PAGING_PRESENT | PAGING_LARGE)) == PAGING_PRESENT;
}

/* A large entry stays one while it is not present: PAGING_SOFT_HINT. */
static inline bool is_nothing(uint64_t entry)
{
    return (entry & (PAGING_PRESENT | PAGING_LARGE)) == 0;
}

/* Returns the entry for VA at LEVEL, walking down from the root; NULL when a table is missing and not created. */
uint64_t *paging_entry_at(const struct page_tables *tables, uint64_t va, int level, bool create);
/* paging_look for the case that VA has no 4 KiB table in the page tables: looks for a deposited one. */
const uint64_t *paging_look_aside(const struct page_tables *tables, uint64_t va);

/* Returns the table deposited for the large page at VA, or NULL. */
uint64_t *paging_deposited(const struct page_tables *tables, uint64_t va);
/* Makes the large ENTRY for VA point to its deposited table again and returns the table, or NULL if there is none. */
uint64_t *paging_demote(const struct page_tables *tables, uint64_t va, uint64_t *entry);
/* Copies the accessed and dirty bits of the large entry USED to LEAF's entries. */
void paging_note_used(uint64_t *leaf, uint64_t used);
/* Updates the large ENTRY at VA after its deposited table LEAF may have changed: ENTRY becomes equivalent to LEAF. */
void paging_renew(const struct page_tables *tables, uint64_t va, uint64_t *entry, uint64_t *leaf);
/* As paging_release, for the tables deposited below the top-level entries from FIRST up to LAST. */
void paging_release_deposits(struct page_tables *tables, unsigned first, unsigned last,
                             const struct paging_release *release);

#endif
