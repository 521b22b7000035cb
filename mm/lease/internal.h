/* What the files of the leases share. */
#ifndef MM_LEASE_INTERNAL_H
#define MM_LEASE_INTERNAL_H

#include <stdint.h>

#include "mm/area/range.h"
#include "mm/lease/map.h"
#include "mm/space/space.h"

/* Takes [START, END) out of the leases here; what lies behind it in its lease too when there is no
 * memory to keep that apart. Returns the end of what is out. */
uint64_t lease_remove_locked(struct space *space, uint64_t start, uint64_t end);
/* The home: [START, END) of one lease is recalled. -ENOMEM: nothing has happened. */
int lease_recalled_locked(struct space *space, uint64_t start, uint64_t end);
/* [START, END), of LEASE, and the rest of the areas at both of its ends, as far as LEASE has them. */
struct space_range lease_widen_locked(const struct space *space, const struct lease *lease, uint64_t start,
                                      uint64_t end);
void recall_init(void);

#endif
