/* The areas of a space, reported by its home, and in leases of other kernels by these (SPACE_AREAS): for a fork, for
 * strategy `upfront`, and for observers such as /proc, which end no lease. */
#ifndef MM_RETRIEVE_AREAS_H
#define MM_RETRIEVE_AREAS_H

#include <stdint.h>

#include "mm/retrieve/wire.h"

/* Fetches the areas of space ID, whose home is HOME, from address FROM on: HEAD (MSG_MAX bytes), followed by the areas.
 * HEAD->next is where to continue, or 0. Returns the length or a negative errno, -ESRCH if there is no such space. The
 * areas of several answers are not of one moment. Tasks only; waits for the home and holders of leases. */
int space_areas_of(uint64_t id, uint32_t home, uint64_t from, struct msg_space_areas *head);
/* For a fork that holds the lock of the whole space: asks KERNEL for the areas from FROM on that it knows: the home, or
 * a kernel that has leased memory, which then lists the areas in its next lease. Ends no lease. Otherwise as above. */
int space_areas_held(uint64_t id, uint32_t kernel, uint64_t from, struct msg_space_areas *head);
/* The same for the first areas, after the home has recalled all leases. */
int space_areas_recall(uint64_t id, uint32_t home, struct msg_space_areas *head);
/* Registers the message handler. Once. */
void space_areas_init(void);

#endif
