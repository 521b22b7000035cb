/* Moving pages to another node while programs run: mm/mempolicy/mempolicy.md. */
#ifndef MM_FAULT_PAGE_MOVE_H
#define MM_FAULT_PAGE_MOVE_H

#include <stdint.h>

#include "mm/space/space.h"

/* Returns the node of the page of SPACE at ADDRESS, with the page's lock: space_page_node of mm/change/change.h for
 * strategies that find by asking. */
int space_page_fetch_node(struct space *space, uint64_t address);
/* Moves the page at ADDRESS to one of NODES and returns its node. -ENOENT, -EFAULT as above; -EACCES: other spaces have
 * its frame; -EBUSY: it is shared memory or a page of a file; -ENOMEM: no frame on NODES. Threads that touch the page
 * meanwhile wait. Waits. */
int space_page_move(struct space *space, uint64_t address, uint64_t nodes);

#endif
