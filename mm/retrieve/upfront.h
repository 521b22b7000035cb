/* Strategy `upfront`: fetching a whole space at once. */
#ifndef MM_RETRIEVE_UPFRONT_H
#define MM_RETRIEVE_UPFRONT_H

#include "mm/space/space.h"

/* Fetches all areas and pages that the home of SPACE has. A negative errno: only a part of them. Waits. */
int space_fill(struct space *space);

#endif
