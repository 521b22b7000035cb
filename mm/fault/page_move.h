/* Pages that move to another node while programs run: mm/mempolicy/mempolicy.md. */
#ifndef MM_FAULT_PAGE_MOVE_H
#define MM_FAULT_PAGE_MOVE_H

#include <stdint.h>

#include "mm/space/space.h"

/* The node of what SPACE has at ADDRESS. -EFAULT: nothing, and it is private, or there is no area, or it is the page of
 * zeros; -ENOENT: nothing of a file or of shared memory; -ENOMEM. Waits. */
int space_page_node(struct space *space, uint64_t address);
/* Moves what is at ADDRESS to one of NODES. Returns its node then; -ENOENT, -EFAULT as above; -EACCES: other spaces
 * have it; -EBUSY: it is shared memory or of a file; -ENOMEM: no frame there. Threads that use it wait. */
int space_page_move(struct space *space, uint64_t address, uint64_t nodes);

#endif
