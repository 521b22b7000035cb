/* The memory of a kernel that has died. kernel/machine/death.md has the protocol. All functions are for tasks. */
#ifndef MM_EVACUATE_LOST_H
#define MM_EVACUATE_LOST_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/space.h"

/* Whether KERNEL is the home or a member of SPACE, as far as this kernel knows. */
bool lost_member_of(struct space *space, uint32_t kernel);
/* Whether SPACE maps a frame of KERNEL here. Reads all of its page tables. */
bool lost_frame_of(struct space *space, uint32_t kernel);
/* Removes KERNEL from the members, directories and leases of all spaces here, and its requests for locks. May be
 * repeated: a lock whose leases are being recalled goes when that is over. */
void lost_forget(uint32_t kernel);
#endif
