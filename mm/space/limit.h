/* RLIMIT_AS, RLIMIT_DATA, RLIMIT_STACK and RLIMIT_MEMLOCK, enforced at the home of a space, which knows all areas. */
#ifndef MM_SPACE_LIMIT_H
#define MM_SPACE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/limits.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"

/* The largest size of an area that grows down. */
#define SPACE_STACK_MAX (8ull << 20)
/* The gap that must stay free below it. */
#define SPACE_STACK_GAP (256 * PAGE_SIZE)

/* Sets the limits for new mappings. */
void space_set_limits(struct space *space, const struct space_limits *limits);

/* Whether SPACE has a limit other than that of its stack; whether it may map [START, END) with PROT in addition to what
 * it maps elsewhere; and the largest size of an area that grows. With space->lock held. */
bool space_limited_locked(const struct space *space);
bool space_may_have_locked(const struct space *space, uint32_t prot, uint64_t start, uint64_t end);
uint64_t space_stack_most_locked(const struct space *space);

/* [i] Whether the calling thread may lock any amount of memory (root's may). NULL: it may. */
extern bool (*space_locks_any)(void);
/* The bit SPACE_UNLIMITED for a change that the calling thread asks for, or 0. */
static inline uint32_t space_unlimited(void)
{
    return space_locks_any == NULL || space_locks_any() ? SPACE_UNLIMITED : 0;
}
/* Whether a change with PROT (SPACE_UNLIMITED) may lock MORE bytes in addition to those that are locked and reserved.
 * At the home, with space->lock held. */
bool space_may_lock_locked(const struct space *space, uint32_t prot, uint64_t more);

#endif
