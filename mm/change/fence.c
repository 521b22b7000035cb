/* A memory fence on every CPU that runs a thread of a process: membarrier's MEMBARRIER_CMD_PRIVATE_EXPEDITED. What
 * flushes TLBs does it: the CPUs that have the space loaded are interrupted, and others come to it by way of their
 * kernel.
 *
 * Which kernels host the space is what the grant of a lock says. One that joins later gets its first thread in a
 * message, which is a fence too. The page that is locked is one that nobody maps.
 *
 * And a fence on every CPU of the machine, whatever it runs: MEMBARRIER_CMD_GLOBAL. A kernel that starts meanwhile runs
 * no program yet. */
#include "kernel/abi/errno.h"
#include "mm/change/change.h"
#include "mm/change/internal.h"
#include "mm/lease/decide.h"
#include "mm/lock/lock.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/call.h"
#include "msg/channel.h"

static void handle_fence(const struct msg *m)
{
    tlb_flush_all();
    msg_reply(&m->ticket, NULL, 0);
}

int space_fence_all(void)
{
    int error = 0;

    tlb_flush_all();
    msg_multicast(msg_peers_reachable(), MSG_FENCE, NULL, 0, msg_note_error, &error, "memory barrier", 0);
    return error == -ENOMEM ? -ENOMEM : 0; /* any other: it does not run */
}

void space_fence_init(void)
{
    msg_register(MSG_FENCE, handle_fence, 0, 0);
}

int space_fence(struct space *space)
{
    struct msg_space_change change = {.space = space->id, .length = PAGE_SIZE, .operation = MSG_SPACE_FENCE};
    struct space_range range = {0, PAGE_SIZE};
    struct space_lock lock;
    bool alone;
    int error;

    spin_lock(&space->lock);
    alone = space_alone_locked(space);
    if (alone)
        space_apply_locked(space, &change);
    spin_unlock(&space->lock);
    if (alone)
        return 0;
    error = space_acquire(space, range, &lock);
    if (error != 0)
        return error;
    error = space_apply_others(space, &change, "memory barrier");
    if (error == 0)
        error = (int)space_ask_home(space, &change);
    space_release(space, &lock);
    return error;
}
