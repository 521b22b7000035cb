/* The entries of a space's page tables: making one from an area's protection, and reading one. mm/retrieve/retrieval.md
 * lists the states of an entry. */
#ifndef MM_SPACE_ENTRY_H
#define MM_SPACE_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/limits.h"
#include "kernel/arch/x86_64/paging.h"
#include "kernel/instance/window.h"
#include "mm/area/area.h"
#include "mm/directory/owners.h"
#include "mm/space/space.h"

#define LEAF_ENTRIES 512u
#define LEAF_SIZE (LEAF_ENTRIES * PAGE_SIZE)

static inline uint64_t page_up(uint64_t bytes)
{
    return (bytes + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1);
}

/* Page table flags for an area's protection; 0 when it allows nothing. */
static inline uint64_t space_entry_flags(uint32_t prot)
{
    if ((prot & AREA_PROT) == 0)
        return 0;
    return PAGING_PRESENT | PAGING_USER | ((prot & AREA_WRITE) != 0 ? PAGING_WRITE : 0) |
           ((prot & AREA_EXEC) != 0 ? 0 : PAGING_NO_EXECUTE);
}

/* The same for a page's entry: a COW entry is not writable. */
static inline uint64_t space_page_flags(uint32_t prot, bool cow)
{
    return cow ? (space_entry_flags(prot) & ~PAGING_WRITE) | PAGING_SOFT_COW : space_entry_flags(prot);
}

/* The mark of an entry for PAGE if FRAME is another kernel's memory, which is noted; else 0. */
static inline uint64_t space_entry_remote(struct space *space, uint64_t page, uint64_t frame)
{
    const struct plan_range *range = window_range_of(frame);

    if (range != NULL && range->kernel == instance.kernel)
        return 0;
    if (range != NULL) /* else nobody looks for it */
        owners_note(&space->owners, page, range->kernel);
    return PAGING_SOFT_REMOTE;
}

/* Makes an entry for FRAME, a kernel's memory, at PAGE of SPACE, in an area with PROT; all entries are made here. COW:
 * the frame must not be written. OWNING: the entry carries the space's reference to the frame, which is released when
 * the page is unmapped; otherwise the entry is a borrowed one. FLAGS: further bits, PAGING_ACCESSED,
 * PAGING_SOFT_PREFETCHED or PAGING_SOFT_PENDING_FREE; a caller that knows whose the frame is, and notes it by itself
 * (owners_note), passes PAGING_SOFT_REMOTE. The entries for frames in a row of one owner, in the table of
 * PAGE, differ only in their addresses. The caller holds space->lock until the entry is in its table, or nobody else
 * has SPACE. */
static inline uint64_t space_entry(struct space *space, uint64_t page, uint64_t frame, uint32_t prot, bool cow,
                                   bool owning, uint64_t flags)
{
    return frame | space_page_flags(prot, cow) | (owning ? PAGING_SOFT_OWNING : 0) |
           ((flags & PAGING_SOFT_REMOTE) != 0 ? 0 : space_entry_remote(space, page, frame)) | flags;
}

/* Makes an owning entry for a frame that is known to be this kernel's memory. */
static inline uint64_t space_entry_own(uint64_t frame, uint32_t prot, bool cow, uint64_t flags)
{
    return frame | space_page_flags(prot, cow) | PAGING_SOFT_OWNING | flags;
}

/* Returns ENTRY as it was before a question about its page, or a look for accesses, made it not present. */
static inline uint64_t space_entry_shown(uint64_t entry)
{
    const uint64_t hidden = PAGING_SOFT_ASKED | PAGING_SOFT_HINT;

    return (entry & hidden) != 0 ? (entry & ~hidden) | PAGING_PRESENT : entry;
}

/* Returns ENTRY, which is that of PAGE, with FRAME in place of its frame. */
static inline uint64_t space_entry_with(struct space *space, uint64_t page, uint64_t entry, uint64_t frame)
{
    return (entry & ~(PAGING_FRAME | PAGING_SOFT_REMOTE)) | frame | space_entry_remote(space, page, frame);
}

/* Returns ENTRY, which moves from another page of SPACE to PAGE. */
static inline uint64_t space_entry_moved(struct space *space, uint64_t page, uint64_t entry)
{
    if ((entry & PAGING_SOFT_REMOTE) != 0)
        space_entry_remote(space, page, entry & PAGING_FRAME);
    return entry;
}

/* Maps FRAME, which another entry in the machine owns, at PAGE by a borrowed entry with FLAGS. Returns 1; 0: FRAME is
 * mapped there already; -EEXIST: another frame is; -EFAULT: no area; -ENOMEM. */
int space_borrow_page_locked(struct space *space, uint64_t page, uint64_t frame, bool cow, uint64_t flags);

/* 1 if ENTRY's page was prefetched (it came with the answer for another page) and has been touched since, else 0. */
static inline uint32_t space_prefetch_used(uint64_t entry)
{
    return (entry & (PAGING_SOFT_PREFETCHED | PAGING_ACCESSED)) == (PAGING_SOFT_PREFETCHED | PAGING_ACCESSED) ? 1 : 0;
}

#endif
