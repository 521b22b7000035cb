/* The page of zeros: one frame of each kernel, which is behind all pages of private memory that were read and never
 * written, in address spaces that live on this kernel alone. It is COW and owning as after a fork, with one reference
 * more, the kernel's own. No other kernel ever maps it. mm/page/zero_page.md.
 *
 * All but zero_page_leave are called with space->lock. Nothing here waits. */
#ifndef MM_PAGE_ZERO_PAGE_H
#define MM_PAGE_ZERO_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/space.h"

/* Maps it at PAGE, whose entry is empty. False without memory. */
bool zero_page_map_locked(struct space *space, uint64_t page, uint32_t prot);

/* ENTRY, not pending free, maps it. */
bool zero_page_compare(uint64_t entry);
static inline bool zero_page_is(uint64_t entry)
{
    return (entry & PAGING_SOFT_COW) != 0 && zero_page_compare(entry);
}

/* ENTRY, which maps it, becomes a new page of zeros that may be written. -ENOMEM. */
int zero_page_replace_locked(struct space *space, uint64_t page, uint64_t *entry, uint32_t prot);
/* ENTRY, which maps it, becomes empty: as if the page had never been read. */
void zero_page_let_go_locked(struct space *space, uint64_t page, uint64_t *entry);

/* Nobody has it any more, nor does this kernel: its memory is to go to another. Programs are quiesced. */
void zero_page_leave(void);

/* Its frame, or 0. */
uint64_t zero_page_frame(void);

#endif
