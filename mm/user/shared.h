/* Memory that a space shares with others. */
#ifndef MM_USER_SHARED_H
#define MM_USER_SHARED_H

#include <stdint.h>

#include "mm/space/space.h"

/* 1: ADDRESS of SPACE, the current program's, is in memory that it shares, and *FRAME is the page's; 0: it is not.
 * -EFAULT. Such a page keeps its frame as long as it is mapped. Waits for it. */
int space_shared_frame(struct space *space, uint64_t address, uint64_t *frame);

#endif
