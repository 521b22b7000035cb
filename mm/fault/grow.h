/* Areas that grow down when a page below is touched: the stack, and what MAP_GROWSDOWN asked for. */
#ifndef MM_FAULT_GROW_H
#define MM_FAULT_GROW_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/area/range.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"

/* A fault that wants ACCESS found nothing at PAGE: lets an area that grows down come to it. 0: look again; -EFAULT,
 * -EACCES, -ENOMEM. Waits. */
int space_grow(struct space *space, uint64_t page, uint32_t access);
/* At the home: SPACE_GROWTH and SPACE_GROW. */
int64_t space_apply_growth_locked(struct space *space, const struct msg_space_change *change);
/* At the home, for lease_await_found: what CHANGE, SPACE_GROWTH, needs to know; no other kernel is to have a lease of
 * it. False: no area grows there. */
bool space_growth_recalls_locked(struct space *space, const void *change, struct space_range *range);

#endif
