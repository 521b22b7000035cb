/* Areas that grow down when a page below them is touched: the stack, and areas made with MAP_GROWSDOWN. */
#ifndef MM_FAULT_GROW_H
#define MM_FAULT_GROW_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/area/range.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"

/* Lets an area grow down to PAGE, which a fault for ACCESS found in no area. 0: the caller retries the fault; -EFAULT,
 * -EACCES, -ENOMEM. Waits. */
int space_grow(struct space *space, uint64_t page, uint32_t access);
/* Performs SPACE_GROWTH and SPACE_GROW, at the home. */
int64_t space_apply_growth_locked(struct space *space, const struct msg_space_change *change);
/* At the home, as FIND of lease_await_found: the range of which no other kernel may have a lease when CHANGE, a
 * SPACE_GROWTH, is decided. False: no area grows down to there. */
bool space_growth_recalls_locked(struct space *space, const void *change, struct space_range *range);

#endif
