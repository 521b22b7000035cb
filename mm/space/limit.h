/* What a process may map (RLIMIT_AS, RLIMIT_DATA, RLIMIT_STACK), at the home of its space, which knows all areas. */
#ifndef MM_SPACE_LIMIT_H
#define MM_SPACE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/limits.h"
#include "mm/space/space.h"

/* The most that an area which grows down comes to. */
#define SPACE_STACK_MAX (8ull << 20)
/* And what it keeps free below itself. */
#define SPACE_STACK_GAP (256 * PAGE_SIZE)

/* What may be mapped from now on. */
void space_set_limits(struct space *space, const struct space_limits *limits);

/* SPACE has limits of what it maps; it may have [START, END) with PROT besides what it has elsewhere; and how large an
 * area that grows may be. */
bool space_limited_locked(const struct space *space);
bool space_may_have_locked(const struct space *space, uint32_t prot, uint64_t start, uint64_t end);
uint64_t space_stack_most_locked(const struct space *space);

#endif
