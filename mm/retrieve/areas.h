/* The areas of a space, as its home tells them (SPACE_AREAS): to a fork, to strategy upfront, and to those who look
 * from outside (/proc). What other kernels have leased is recalled first. */
#ifndef MM_RETRIEVE_AREAS_H
#define MM_RETRIEVE_AREAS_H

#include <stdint.h>

#include "mm/retrieve/wire.h"

/* The areas of space ID, of home HOME, from FROM on: HEAD (MSG_MAX bytes), areas behind it; returns the length, -ESRCH.
 * Tasks only; waits for the home. */
int space_areas_of(uint64_t id, uint32_t home, uint64_t from, struct msg_space_areas *head);
/* Registers the message. Once. */
void space_areas_init(void);

#endif
