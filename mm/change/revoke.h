/* A file gets shorter, or loses pages: no space maps those any more. mm/file/file_map.md. */
#ifndef MM_CHANGE_REVOKE_H
#define MM_CHANGE_REVOKE_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/space.h"

/* The object behind FIRST (mm/area/backing.h) has lost PAGES pages from there on: no entry of SPACE, on any kernel, is
 * for one of them when this returns, but private ones unless COPIES. This kernel is its home. -ENOMEM: try again.
 * Waits. */
int space_revoke(struct space *space, uint64_t first, uint64_t pages, bool copies);
/* This kernel has heard of one that is to be done here; and how many it has. */
void space_revoke_begins(void);
uint64_t space_revokes(void);
/* The child can be found by space_revoke's callers from now on: what has been revoked since the fork began goes from
 * it, too. It does not run yet. */
int space_catch_up(struct space *space);

#endif
