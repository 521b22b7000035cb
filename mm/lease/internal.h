/* Declarations that the files of mm/lease share. Functions with _locked are called with space->lock held. */
#ifndef MM_LEASE_INTERNAL_H
#define MM_LEASE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/area/range.h"
#include "mm/lease/map.h"
#include "mm/space/space.h"

#define LEASE_EMPTIES_MAX 256u /* leases of empty pages of a space; the recalls of a moment may split a few more */

/* Removes [START, END) from the leases on this kernel. If that would split a lease and there is no memory for the
 * second part, the rest of that lease is removed, too. Returns the end of what has been removed. */
uint64_t lease_remove_locked(struct space *space, uint64_t start, uint64_t end);
/* At the home: [START, END) of one lease has been recalled and becomes unleased. -ENOMEM: nothing has changed. */
int lease_recalled_locked(struct space *space, uint64_t start, uint64_t end);
/* Returns [START, END), a part of LEASE, extended at both ends, as far as LEASE reaches: by the rest of the areas
 * there, so that an area is known on one side only; or if areas may continue in any case, as LEASE is of empty pages,
 * by the rest of the page tables, so that a recall that one page needs is short. */
struct space_range lease_widen_locked(const struct space *space, const struct lease *lease, uint64_t start,
                                      uint64_t end);
/* At the home: the number of leases of empty pages has changed. */
void lease_count_holes_locked(struct space *space);
void recall_init(void);
/* At the home: true if the space's options, strategy and limits allow leases, and no recall is under way or awaited. */
bool leases_allowed_locked(const struct space *space);
/* At the home: somebody who wants RANGE begins to wait for recalls. */
void lease_note_recall_locked(struct space *space, struct space_range range);

#endif
