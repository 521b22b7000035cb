/* Room for new mappings, at the home: free places in the address space that avoid ranges which are leased or locked,
 * and the commit charge check. */
#ifndef MM_LEASE_ROOM_H
#define MM_LEASE_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/space.h"
#include "mm/space/wire.h"

#define MAP_LOW 0x10000ull            /* as Linux's mmap_min_addr */
#define MAP_TOP 0x00007fff00000000ull /* mappings grow down from here; the stack lies above */

/* Returns the start of LENGTH free bytes, at HINT if that is not 0 and free, else the highest ones that fit. HOW:
 * SPACE_MAP_LOW restricts the search to low addresses. The place overlaps no area and no lease, keeps its distance
 * from areas that grow and, without SPACE_MAP_BUSY, overlaps no locked range and no request for a lock. 0: there is
 * no room. */
uint64_t space_room_locked(const struct space *space, uint64_t hint, uint64_t length, uint32_t how);
/* Returns the highest such place within [BOTTOM, HIGH), or 0. */
uint64_t space_gap_locked(const struct space *space, uint64_t length, uint64_t bottom, uint64_t high, uint32_t how);
/* True if a commit charge of LENGTH bytes with PROT (AREA_*) is allowed: at most the memory of the whole machine, as
 * with Linux's vm.overcommit_memory=0. */
bool space_commit_allowed(uint32_t prot, uint64_t length);
/* True if an area that ends at END keeps its distance from an area above it that grows down. */
bool space_gap_kept_locked(const struct space *space, uint64_t end);

#endif
