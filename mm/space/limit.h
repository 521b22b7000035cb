/* RLIMIT_AS, RLIMIT_DATA and RLIMIT_STACK, enforced at the home of a space, which knows all areas. */
#ifndef MM_SPACE_LIMIT_H
#define MM_SPACE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/limits.h"
#include "mm/space/space.h"

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

#endif
