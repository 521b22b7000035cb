/* Marked entries: the page moves when it is touched. An entry is marked on each kernel that has the page, and hidden
 * (mm/seen/hint.h), so that the touch is a fault. mm/move/lazy.md describes it; all functions need space->lock. */
#ifndef MM_SEEN_MARK_H
#define MM_SEEN_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/area/area.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/space/entry.h"
#include "mm/space/space.h"

/* Marks and hides the entries of [START, END), which lies in one leaf table, whose pages are elsewhere than POLICY
 * leaves them, and flushes. POLICY is NULL: wherever they are. Without memory nothing is marked. */
void mark_pages_locked(struct space *space, uint64_t start, uint64_t end, const struct policy *policy);
/* Marks and hides the entry of PAGE, which has just been made. False: there is no memory, or no access is allowed. */
bool mark_new_locked(struct space *space, uint64_t page);
/* PAGE of AREA faults, the area allows the access, and its entry is SEEN (paging_look): true if it is marked and
 * hidden, and may be moved by this CPU, as far as this kernel knows the policy. */
bool mark_touched_locked(const struct space *space, const struct area *area, uint64_t page, const uint64_t *seen);

/* --- an entry --- */

static inline bool mark_hidden(uint64_t entry)
{
    return (entry & (PAGING_PRESENT | PAGING_SOFT_HINT | PAGING_SOFT_ASKED)) == PAGING_SOFT_HINT;
}

/* True if ENTRY, not the zero page's, can be marked: programs may use the page, or could before it was hidden. */
static inline bool mark_possible(uint64_t entry)
{
    return (entry & PAGING_PRESENT) != 0 || mark_hidden(entry);
}

/* The bits of such an ENTRY that change when it is marked and, with HIDES, hidden. */
static inline uint64_t mark_changes(uint64_t entry, bool hides)
{
    uint64_t changed = ~entry & PAGING_SOFT_MARKED;

    if (hides && (entry & PAGING_PRESENT) != 0)
        changed |= PAGING_PRESENT | (~entry & PAGING_SOFT_HINT);
    return changed;
}

/* Returns ENTRY, which is marked, as it is without the mark: present, unless a question about it is under way. */
static inline uint64_t mark_removed(uint64_t entry)
{
    entry &= ~PAGING_SOFT_MARKED;
    return (entry & PAGING_SOFT_ASKED) == 0 ? space_entry_shown(entry) : entry;
}

#endif
