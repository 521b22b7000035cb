/* Runs of pages that come along with the answer to a fault (Popcorn thesis 5.7.6: its prefetch slots): pages of the
 * same table and area whose frames lie one behind the other. */
#ifndef MM_FAULT_RUNS_H
#define MM_FAULT_RUNS_H

#include "mm/space/space.h"

/* space->lock is held: lists at most MOST runs of what this kernel maps in [START, END), which is in one table and one
 * area, first the one that PAGE is in. Pages that are copy-on-write are left out. Returns how many there are. */
uint32_t space_runs_list_locked(const struct space *space, uint64_t page, uint64_t start, uint64_t end, uint64_t *runs,
                                uint32_t most);
/* space->lock is held, and the table of PAGE is there: maps what RUNS, COUNT of them, have in [START, END) and this
 * kernel has not, with protection PROT. What is malformed, or finds no memory, is left out. */
void space_runs_install_locked(struct space *space, uint64_t page, uint64_t start, uint64_t end, const uint64_t *runs,
                               uint32_t count, uint32_t prot);

#endif
