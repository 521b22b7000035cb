/* Moving pages to other nodes while programs use them: readers go on reading, and writers of a page wait until it has
 * moved. mm/move/move.md has the protocol. All calls that move pages come here. */
#ifndef MM_MOVE_MOVE_H
#define MM_MOVE_MOVE_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/space.h"

/* What is to move where. Both functions are called by the task that moves, with pages locked, and do not wait. */
struct space_moves {
    /* The nodes to which the page at PAGE, which is on NODE, may go; 0: it stays. */
    uint64_t (*wanted)(void *context, uint64_t page, uint32_t node);
    /* What has become of the page: its node now, or -EFAULT: there is no area, the area is the vDSO's, or
     * private memory that was never touched; -ENOENT: shared memory or a file that was never touched; -EBUSY: it is
     * shared memory; -EACCES: other processes have its frame, and ALL is not set; -ENOMEM: there is no frame on these
     * nodes, or no memory to ask. */
    void (*done)(void *context, uint64_t page, int result);
    void *context;
    bool all; /* a page whose frame other processes have is moved, too: this process gets a copy of its own */
};

/* Moves the pages of [START, END), whole pages below USER_END, and reports each. 2 MiB that are mapped as one large
 * page and go to one node stay one, if that node has a block. Waits, and looks for messages. */
void space_move(struct space *space, uint64_t start, uint64_t end, const struct space_moves *moves);

/* Where a page may be first in [START, END), as far as this kernel knows without asking; END: nowhere. A loop over an
 * area that is large and nearly empty leaves out what precedes it. */
uint64_t space_move_next(struct space *space, uint64_t start, uint64_t end);

/* Registers the message. Once. */
void space_move_init(void);

#endif
