/* Four-level page tables (Intel SDM 3A, chapter 4): building, looking up and walking them.
 *
 * The functions reach a table frame at its physical address plus DELTA, so the same code serves an instance's own
 * tables through the direct map, another instance's tables while they are built, and a host test. They flush nothing
 * and take no lock: both are the caller's.
 *
 * 512 entries that name 512 frames in order can be shown to the hardware as one large page (paging_make_large). Their
 * table is kept aside and stays what counts: who may change an entry gets it through the functions below, which first
 * put the table back. Both sizes translate alike, so that needs no flush. mm/fault/huge.md. */
#ifndef KERNEL_ARCH_PAGING_H
#define KERNEL_ARCH_PAGING_H

#include <stdbool.h>
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
/* Bits the hardware ignores, for the address space code. */
#define PAGING_SOFT_REMOTE (1ull << 9)        /* the frame is another instance's memory */
#define PAGING_SOFT_PENDING_FREE (1ull << 10) /* not present: unmapped, the frame waits until no peer maps it */
#define PAGING_SOFT_OWNING (1ull << 11)       /* this entry has its space's reference to the frame */
#define PAGING_SOFT_COW (1ull << 52) /* not writable, whatever the area says: the frame may be in other spaces too */

#define PAGING_SOFT_PREFETCHED (1ull << 53) /* came with another page's answer */

#define PAGING_SIZE_2M (1ull << 21)
#define PAGING_SIZE_1G (1ull << 30)

struct page_tables {
    uint64_t root;                    /* physical address of the top-level table */
    uint64_t delta;                   /* virtual minus physical address of table frames */
    uint64_t (*alloc)(void *context); /* a zeroed frame's physical address, or 0 when there is none */
    void *context;                    /* for alloc */
    uint64_t deposits;                /* top of a tree of tables that are kept aside; 0: none ever was */
};

/* Maps SIZE bytes (whole pages) from virtual address VA to physical address PA with FLAGS (PAGING_*), using pages of up
 * to LARGEST bytes (PAGE_SIZE, PAGING_SIZE_2M, PAGING_SIZE_1G). What was mapped there is replaced.
 * -ENOMEM: a table could not be allocated; the part before it is mapped. */
int paging_map(const struct page_tables *tables, uint64_t va, uint64_t pa, uint64_t size, uint64_t flags,
               uint64_t largest);

/* The 4 KiB-level entry for VA, or NULL: no table there (and CREATE false or no frame for it), or a large page that was
 * mapped as such. */
uint64_t *paging_entry(const struct page_tables *tables, uint64_t va, bool create);
/* The same to be read only, without making one: a large page stays as it is. That it was accessed or written may be
 * noted in the large entry alone. */
const uint64_t *paging_look(const struct page_tables *tables, uint64_t va);

/* The 2 MiB that VA lies in become one large page. -EINVAL: they have no table, or its entries are not 512 frames in
 * order, aligned, that are present with equal rights, none to be executed; -ENOMEM: no table to keep theirs aside with.
 */
int paging_make_large(struct page_tables *tables, uint64_t va);
/* The large entry of 2 MiB that VA lies in, with a table that is kept aside; 0: it is none. */
uint64_t paging_large(const struct page_tables *tables, uint64_t va);
/* The large entry that LEAF's 512 entries make, without PAGING_ACCESSED and PAGING_DIRTY; 0: none. */
uint64_t paging_large_of(const uint64_t *leaf);
/* The table that is kept aside for the large page that VA lies in, physical; 0: none. */
uint64_t paging_deposit(const struct page_tables *tables, uint64_t va);

/* Creates the second-level tables for [VA, VA + SIZE), so that top-level entries copied into other roots stay right. */
int paging_prepare(const struct page_tables *tables, uint64_t va, uint64_t size);

/* The 512 entries of the 2 MiB that *VA lies in, or of the first 2 MiB behind it, below END, that have such a table;
 * then *VA becomes the start of those. NULL: none is left. For the lower half: END is at most 2^47. */
uint64_t *paging_next_leaf(const struct page_tables *tables, uint64_t *va, uint64_t end);
/* The same to be read only: large pages stay. */
const uint64_t *paging_next_leaf_look(const struct page_tables *tables, uint64_t *va, uint64_t end);
/* The index of VA's entry in it. */
static inline uint32_t paging_index(uint64_t va)
{
    return (uint32_t)(va >> 12 & 511);
}

/* The first entry of TABLE, which is aligned, from INDEX up to END that is not 0, or END. Most tables are nearly empty,
 * and who walks them does little else: so it looks at eight at a time. */
static inline uint32_t paging_next_used(const uint64_t *table, uint32_t index, uint32_t end)
{
    while (index < end && table[index] == 0) {
        const uint64_t *next = table + ++index;

        for (; index % 8 == 0 && index + 8 <= end; index += 8, next += 8) {
            if ((next[0] | next[1] | next[2] | next[3] | next[4] | next[5] | next[6] | next[7]) != 0)
                break;
        }
    }
    return index;
}

/* Calls VISIT for each nonzero leaf entry of [VA, END) in ascending order; SIZE is the page's size in bytes. What was
 * made large is visited by 4 KiB; it stays large if all of it is in the range and its entries still are alike. */
void paging_visit(const struct page_tables *tables, uint64_t va, uint64_t end,
                  void (*visit)(void *context, uint64_t va, uint64_t *entry, uint64_t size), void *context);

/* What is done at the end of a range. */
struct paging_release {
    void (*leaf)(void *context, uint64_t *entries); /* a table of 4 KiB pages, 512 entries; NULL: nothing */
    void (*table)(void *context, uint64_t frame);   /* a table's frame is no longer used, and what is below it gone */
    void *context;
};

/* Ends all tables below the top level that have a page of [VA, END), in the lower half, in one walk, and clears their
 * top-level entries. */
void paging_release(struct page_tables *tables, uint64_t va, uint64_t end, const struct paging_release *release);

#endif
