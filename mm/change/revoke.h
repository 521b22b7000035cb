/* Unmapping, in all spaces, the pages that a file has lost by truncation or hole punching. mm/file/file_map.md. */
#ifndef MM_CHANGE_REVOKE_H
#define MM_CHANGE_REVOKE_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/space.h"

/* The object of FIRST (mm/area/backing.h) has lost PAGES pages from there on: removes their entries in SPACE on every
 * kernel; those of private areas only if COPIES. This kernel is the home of SPACE. -ENOMEM: try again. Waits. */
int space_revoke(struct space *space, uint64_t first, uint64_t pages, bool copies);
/* Counts a revocation that this kernel is to perform; and returns the count so far. */
void space_revoke_begins(void);
uint64_t space_revokes(void);
/* Applies to a fork's child all revocations since the fork began. The callers of space_revoke find the child from now
 * on; it does not run yet. */
int space_catch_up(struct space *space);

#endif
