/* Four-level page tables (Intel SDM 3A, chapter 4): building, looking up and walking them.
 *
 * The functions reach a table frame at its physical address plus DELTA, so the same code serves an instance's own
 * tables through the direct map, another instance's tables while they are built, and a host test. They flush nothing
 * and take no lock; the caller does both.
 *
 * 512 entries that map 512 consecutive frames can be replaced by one large entry (paging_make_large). Their table is
 * kept (deposited) and remains authoritative: the functions below that return an entry for changing first put the table
 * back. Both sizes give the same translations, so no flush is needed. See mm/fault/huge.md. */
#ifndef KERNEL_ARCH_PAGING_H
#define KERNEL_ARCH_PAGING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGING_PRESENT (1ull << 0)
#define PAGING_WRITE (1ull << 1)
#define PAGING_USER (1ull << 2)
#define PAGING_UNCACHED (1ull << 4)
#define PAGING_ACCESSED (1ull << 5)
#define PAGING_DIRTY (1ull << 6)
#define PAGING_LARGE (1ull << 7)
#define PAGING_GLOBAL (1ull << 8)
#define PAGING_NO_EXECUTE (1ull << 63)
#define PAGING_FRAME 0x000ffffffffff000ull
/* Bits that the hardware ignores; the address space code uses them. */
#define PAGING_SOFT_REMOTE (1ull << 9)        /* the frame is another instance's memory */
#define PAGING_SOFT_PENDING_FREE (1ull << 10) /* not present: unmapped, but not freed until no peer maps the frame */
#define PAGING_SOFT_OWNING (1ull << 11)       /* this entry owns its space's reference to the frame */
#define PAGING_SOFT_COW (1ull << 52) /* write-protected whatever the area says: other spaces may share the frame */

/* not present: a question to the home (mm/fault/get.c) may be answered with another frame */
#define PAGING_SOFT_ASKED (1ull << 54)
#define PAGING_SOFT_PREFETCHED (1ull << 53) /* prefetched with another page's answer */
/* write-protected whatever the area says, while the page moves (mm/move/move.md) */
#define PAGING_SOFT_STILL (1ull << 55)
/* not present, but for that as if it were: the next access is to be seen (mm/seen/hints.md); also of a large entry */
#define PAGING_SOFT_HINT (1ull << 56)
/* the page moves when it is touched (mm/move/lazy.md) */
#define PAGING_SOFT_MARKED (1ull << 57)
/* copy-on-write, and kernels of other nodes may have copies, which a write has to take away first; and such a copy
 * (mm/replicate/replicate.md) */
#define PAGING_SOFT_REPLICATED (1ull << 58)
#define PAGING_SOFT_REPLICA (1ull << 59)

#define PAGING_SIZE_2M (1ull << 21)
#define PAGING_SIZE_1G (1ull << 30)

struct page_tables {
    uint64_t root;                    /* physical address of the top-level table */
    uint64_t delta;                   /* virtual minus physical address of table frames */
    uint64_t (*alloc)(void *context); /* a zeroed frame's physical address, or 0 when there is none */
    void *context;                    /* for alloc */
    uint64_t deposits;                /* root of the tree of deposited tables, or 0 when there is no tree */
};

/* Maps SIZE bytes (whole pages) from virtual address VA to physical address PA with FLAGS (PAGING_*), using pages of up
 * to LARGEST bytes (PAGE_SIZE, PAGING_SIZE_2M, PAGING_SIZE_1G). Existing mappings are replaced.
 * -ENOMEM: a table could not be allocated; the part before it is mapped. */
int paging_map(const struct page_tables *tables, uint64_t va, uint64_t pa, uint64_t size, uint64_t flags,
               uint64_t largest);

/* Returns the 4 KiB entry for VA, or NULL: there is no table (and CREATE is false or there is no frame for one), or VA
 * was mapped as a large page by paging_map. */
uint64_t *paging_entry(const struct page_tables *tables, uint64_t va, bool create);
/* Like paging_entry without CREATE, for reading only: a large page stays as it is, and its accessed and dirty bits may
 * be set in the large entry alone. */
const uint64_t *paging_look(const struct page_tables *tables, uint64_t va);
/* paging_entry with CREATE, for a caller to whom paging_look has returned SEEN, and nothing has changed since. An empty
 * entry is not part of a large page, so that it needs no second walk. */
static inline uint64_t *paging_entry_seen(const struct page_tables *tables, uint64_t va, const uint64_t *seen)
{
    return seen != NULL && *seen == 0 ? (uint64_t *)(uintptr_t)seen : paging_entry(tables, va, true);
}

/* Makes the 2 MiB that contain VA one large page. -EINVAL: they have no table, or its entries do not map 512 aligned,
 * consecutive frames that are present with equal, non-executable rights; -ENOMEM: no frame for the tree of deposits. */
int paging_make_large(struct page_tables *tables, uint64_t va);
/* Returns the large entry for VA whose table is deposited, or 0 if there is none. */
uint64_t paging_large(const struct page_tables *tables, uint64_t va);
/* Clears PAGING_ACCESSED in that entry, and returns whether it was set. The caller flushes. */
bool paging_large_take_accessed(const struct page_tables *tables, uint64_t va);
/* The same of PAGING_DIRTY. */
bool paging_large_take_dirty(const struct page_tables *tables, uint64_t va);
/* Makes that entry not present, with PAGING_SOFT_HINT, and returns true; false: there is none, or it was so already.
 * All else works as if it were present, and whatever changes the page makes it present. The caller flushes. */
bool paging_large_hide(const struct page_tables *tables, uint64_t va);
/* Makes such an entry present again, which needs no flush. False: there is none. */
bool paging_large_show(const struct page_tables *tables, uint64_t va);
/* Returns the large entry equivalent to LEAF's 512 entries, without PAGING_ACCESSED and PAGING_DIRTY, or 0 if they
 * cannot be one. */
uint64_t paging_large_of(const uint64_t *leaf);
/* Returns the physical address of the table deposited for the large page at VA, or 0 if there is none. */
uint64_t paging_deposit(const struct page_tables *tables, uint64_t va);

/* Creates the second-level tables for [VA, VA + SIZE), so that top-level entries copied into other roots stay valid. */
int paging_prepare(const struct page_tables *tables, uint64_t va, uint64_t size);

/* Finds the first table of 4 KiB entries that maps an address of [*VA, END) and returns it, or NULL if there is none.
 * If it is not the table of *VA, *VA becomes the first address that the table maps. For the lower half: END is at most
 * 2^47. */
uint64_t *paging_next_leaf(const struct page_tables *tables, uint64_t *va, uint64_t end);
/* As paging_next_leaf, for reading only: large pages stay as they are. */
const uint64_t *paging_next_leaf_look(const struct page_tables *tables, uint64_t *va, uint64_t end);
/* The index of VA's entry in its table. */
static inline uint32_t paging_index(uint64_t va)
{
    return (uint32_t)(va >> 12 & 511);
}

/* Returns the index of the first nonzero entry of TABLE, which is aligned, from INDEX up to END, or END. Most tables
 * are nearly empty and a walk spends most of its time here, so the function tests eight entries at a time. */
static inline uint32_t paging_next_used(const uint64_t *table, uint32_t index, uint32_t end)
{
    const uint64_t *next = table + index;

    if (index >= end || *next != 0)
        return index;
    for (; index + 8 <= end; index += 8, next += 8) {
        if ((next[0] | next[1] | next[2] | next[3] | next[4] | next[5] | next[6] | next[7]) != 0)
            break;
    }
    while (index < end && table[index] == 0)
        index++;
    return index;
}

/* Calls VISIT for each nonzero leaf entry of [VA, END) in ascending order; SIZE is the page's size in bytes. A page
 * of paging_make_large is visited as 4 KiB entries; it stays large if all of it is in the range and its entries are
 * still equivalent to a large one. */
void paging_visit(const struct page_tables *tables, uint64_t va, uint64_t end,
                  void (*visit)(void *context, uint64_t va, uint64_t *entry, uint64_t size), void *context);

/* The functions that paging_release calls for the tables of a range. */
struct paging_release {
    void (*leaf)(void *context, uint64_t *entries); /* a table of 4 KiB pages, 512 entries; NULL: nothing */
    void (*table)(void *context,
                  uint64_t frame); /* the frame of a table that is no longer used, after all tables below it */
    void *context;
};

/* Removes all tables below the top level that have a page of [VA, END), in the lower half, in one walk, and clears
 * their top-level entries. */
void paging_release(struct page_tables *tables, uint64_t va, uint64_t end, const struct paging_release *release);

#endif
