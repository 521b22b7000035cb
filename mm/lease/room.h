/* Room for new mappings, at the home: where they go in an address space, beside what other kernels have leased or
 * locked, and how much memory may be promised. */
#ifndef MM_LEASE_ROOM_H
#define MM_LEASE_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/space.h"
#include "mm/space/wire.h"

#define MAP_LOW 0x10000ull            /* as Linux's mmap_min_addr */
#define MAP_TOP 0x00007fff00000000ull /* mappings grow down from here; the stack lies above */

/* Where LENGTH bytes go, HOW (SPACE_MAP_LOW) and, when HINT is not 0, there if it is free. Nobody has
 * anything there or, without SPACE_MAP_BUSY, is about to change something, and areas that grow keep their distance.
 * 0: there is no room. */
uint64_t space_room_locked(const struct space *space, uint64_t hint, uint64_t length, uint32_t how);
/* The highest such place within [BOTTOM, HIGH), or 0. */
uint64_t space_gap_locked(const struct space *space, uint64_t length, uint64_t bottom, uint64_t high, uint32_t how);
/* LENGTH bytes with PROT (AREA_*) can be promised: not more than the whole machine has, as Linux's
 * vm.overcommit_memory=0. */
bool space_commit_allowed(uint32_t prot, uint64_t length);
/* An area that ends at END is not too near to one above it that grows. */
bool space_gap_kept_locked(const struct space *space, uint64_t end);

#endif
