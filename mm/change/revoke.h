/* Unmapping, in all spaces, the pages that a file has lost by truncation or hole punching. mm/file/file_map.md. */
#ifndef MM_CHANGE_REVOKE_H
#define MM_CHANGE_REVOKE_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/space.h"

/* Removes, on every kernel, the entries of SPACE for the PAGES pages from FIRST (mm/area/backing.h) on, which the
 * object has lost; in private areas only if COPIES is set. This kernel is the home of SPACE. -ENOMEM: the caller may
 * try again. Waits. */
int space_revoke(struct space *space, uint64_t first, uint64_t pages, bool copies);
/* space_revoke_begins counts a revocation that this kernel is about to perform; space_revokes returns the count. */
void space_revoke_begins(void);
uint64_t space_revokes(void);
/* If a revocation began since the fork that made SPACE, removes SPACE's entries for all shared areas of objects; they
 * are faulted in again. Called when space_revoke's callers already find SPACE and its process does not run yet. 0, or
 * not 0: without memory some frames stay pending free. */
int space_catch_up(struct space *space);

#endif
