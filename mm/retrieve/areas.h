/* The areas of a space, reported by its home (SPACE_AREAS): for a fork, for strategy `upfront`, and for observers such
 * as /proc. The leases of other kernels are recalled first. */
#ifndef MM_RETRIEVE_AREAS_H
#define MM_RETRIEVE_AREAS_H

#include <stdint.h>

#include "mm/retrieve/wire.h"

/* Fetches the areas of space ID, whose home is HOME, from address FROM on: HEAD (MSG_MAX bytes), followed by the areas.
 * Returns the length or a negative errno, -ESRCH if there is no such space. Tasks only; waits for the home. */
int space_areas_of(uint64_t id, uint32_t home, uint64_t from, struct msg_space_areas *head);
/* Registers the message handler. Once. */
void space_areas_init(void);

#endif
