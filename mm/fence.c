/* A memory fence on every CPU that runs a thread of a process: membarrier's MEMBARRIER_CMD_PRIVATE_EXPEDITED. What
 * flushes TLBs does it: the CPUs that have the space loaded are interrupted, and others come to it by way of their
 * kernel.
 *
 * Which kernels host the space is what the grant of a lock says. One that joins later gets its first thread in a
 * message, which is a fence too. The page that is locked is one that nobody maps. */
#include "boot/instance.h"
#include "mm/internal.h"

int space_fence(struct space *space)
{
    struct msg_space_change change = {.space = space->id, .length = PAGE_SIZE, .operation = SPACE_FENCE};
    struct space_range range = {0, PAGE_SIZE};
    bool alone;
    int error;

    spin_lock(&space->lock);
    alone = space_alone_locked(space);
    if (alone)
        space_apply_locked(space, &change);
    spin_unlock(&space->lock);
    if (alone)
        return 0;
    error = space_acquire(space, range);
    if (error != 0)
        return error;
    error = space_apply_others(space, &change, "memory barrier");
    if (error == 0)
        error = (int)space_ask_home(space, &change);
    space_release(space, range);
    return error;
}
