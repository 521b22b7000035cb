/* Memory of a space that need not be loaded here. */
#ifndef MM_USER_ACCESS_H
#define MM_USER_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/space.h"

/* Copies SIZE bytes at ADDRESS of SPACE, the current program's or another's that stays, to BYTES, or WRITEs them there
 * as the program may. Returns how many; -EFAULT: none. Waits for pages. */
int64_t space_access(struct space *space, uint64_t address, void *bytes, uint64_t size, bool write);

#endif
