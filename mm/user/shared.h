/* The frame behind an address in shared memory. */
#ifndef MM_USER_SHARED_H
#define MM_USER_SHARED_H

#include <stdint.h>

#include "mm/space/space.h"

/* Returns 1 and the page's frame in *FRAME if ADDRESS of SPACE, the current program's, is in shared memory; 0 if it is
 * in private memory; -EFAULT, also for private memory without a file that may not be written to. A page of shared
 * memory keeps its frame as long as it is mapped. Waits for the page. */
int space_shared_frame(struct space *space, uint64_t address, uint64_t *frame);

#endif
