/* The page of an object behind an address in shared memory. */
#ifndef MM_USER_SHARED_H
#define MM_USER_SHARED_H

#include <stdint.h>

#include "mm/space/space.h"

/* Returns 1 and the page's name in *BACKING (mm/area/backing.h) if ADDRESS of SPACE, which is kept as for space_access,
 * is in shared memory, and can be read; 0 if it is in private memory; -EFAULT, also for private memory without a file
 * that may not be written to. Waits for the page. */
int space_shared_object(struct space *space, uint64_t address, uint64_t *backing);

#endif
