/* What the files of mm/ share among themselves. */
#ifndef MM_INTERNAL_H
#define MM_INTERNAL_H

#include "mm/space.h"

/* Page table flags for an area's protection; 0 when it allows nothing. */
uint64_t space_entry_flags(uint32_t prot);
/* True when this kernel is the home and no other hosts the space: then its lock alone decides. */
bool space_alone_locked(const struct space *space);

/* What this kernel has at PAGE, as an answer to a fetch; an own frame counts as lent once more. */
void space_answer(struct space *space, uint64_t page, struct msg_space_mapping *answer);
/* Maps FRAME at PAGE with its area's protection. -EFAULT: no area; -EEXIST: another frame is there; -ENOMEM. */
int space_install(struct space *space, uint64_t page, uint64_t frame);

#endif
