/* Room for new mappings, at the home: a place in the address space that avoids ranges which other kernels have leased
 * or locked, and the commit charge check. */
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
/* True when a commit charge of LENGTH bytes with PROT (AREA_*) is allowed: not more than the whole machine has, as with
 * Linux's vm.overcommit_memory=0. */
bool space_commit_allowed(uint32_t prot, uint64_t length);
/* An area that ends at END is not too near to one above it that grows. */
bool space_gap_kept_locked(const struct space *space, uint64_t end);

#endif
