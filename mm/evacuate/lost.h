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
/* Whether it is enough that each kernel takes the frames of a dead one away by itself: the home of SPACE knows all
 * pages, and kernels that do not know a page ask it. */
bool lost_frames_known(const struct space *space);
/* Takes the frames of KERNEL away from SPACE here: their pages become areas of AREA_LOST. While programs are quiesced.
 * -ENOMEM: some are left, and it may be repeated. */
int lost_take_frames(struct space *space, uint32_t kernel);
/* Removes KERNEL from the members, directories and leases of all spaces here, and its requests for locks. May be
 * repeated: a lock whose leases are being recalled goes when that is over. */
void lost_forget(uint32_t kernel);
#endif
