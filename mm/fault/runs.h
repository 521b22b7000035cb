/* Runs of pages that come along with the answer to a fault (Popcorn thesis 5.7.6: its prefetch slots): pages of the
 * same table and area with consecutive frames. */
#ifndef MM_FAULT_RUNS_H
#define MM_FAULT_RUNS_H

#include "mm/space/space.h"

/* Lists at most MOST runs of the pages that this kernel maps in [START, END), which lies in one table and one area: the
 * run that contains PAGE, whose entry is ENTRY (paging_look), and those above it: of copy-on-write pages if COPIED,
 * else of others alone. Returns their number, 0 if PAGE is in none. */
uint32_t space_runs_list_locked(const uint64_t *entry, uint64_t page, uint64_t start, uint64_t end, bool copied,
                                uint64_t *runs, uint32_t most);
/* Maps, with protection PROT, COW or not, and, for PAGE, BACKING, the pages of the COUNT RUNS that this kernel does not
 * map yet; no COW page of which a question is under way that may be answered with a copy. The table of PAGE exists.
 * Runs that are malformed, not in [START, END), or without memory for their area are left out. */
void space_runs_install_locked(struct space *space, uint64_t page, uint64_t start, uint64_t end, const uint64_t *runs,
                               uint32_t count, uint32_t prot, bool cow, uint64_t backing);

#endif
