/* The zero page: one frame of each kernel, which backs the pages of private memory that were read but never written, in
 * address spaces that only this kernel hosts. Its entries are owning and COW, as after a fork, and the kernel itself
 * holds one more reference. No other kernel ever maps it. mm/page/zero_page.md.
 *
 * All functions but zero_page_leave and zero_page_frame are called with space->lock held. None waits. */
#ifndef MM_PAGE_ZERO_PAGE_H
#define MM_PAGE_ZERO_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/space.h"

/* Maps the zero page at PAGE, whose entry is empty. False: out of memory. */
bool zero_page_map_locked(struct space *space, uint64_t page, uint32_t prot);

/* Whether ENTRY maps the zero page and is not pending free. zero_page_is is the fast check; zero_page_compare does not
 * look at the COW bit. */
bool zero_page_compare(uint64_t entry);
static inline bool zero_page_is(uint64_t entry)
{
    return (entry & PAGING_SOFT_COW) != 0 && zero_page_compare(entry);
}

/* Replaces the zero page in ENTRY by a new, writable frame of zeros, and flushes. -ENOMEM. */
int zero_page_replace_locked(struct space *space, uint64_t page, uint64_t *entry, uint32_t prot);
/* Clears ENTRY, which maps the zero page, and flushes: the page is as if it had never been read. */
void zero_page_let_go_locked(struct space *space, uint64_t page, uint64_t *entry);

/* Clears all entries that map the zero page and drops this kernel's own reference, before the kernel's memory goes to
 * another kernel. Programs are quiesced. */
void zero_page_leave(void);

/* Returns the physical address of the zero page; 0 if it has not been allocated. */
uint64_t zero_page_frame(void);

#endif
