/* Strategy upfront: all at once. */
#ifndef MM_RETRIEVE_UPFRONT_H
#define MM_RETRIEVE_UPFRONT_H

#include "mm/space/space.h"

/* This kernel gets all that the home has. Waits. A negative errno: a part of it. */
int space_fill(struct space *space);

#endif
