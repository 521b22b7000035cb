/* Memory fences on other CPUs, for membarrier.
 *
 * space_fence (MEMBARRIER_CMD_PRIVATE_EXPEDITED) reaches every CPU that runs a thread of the process. It uses the TLB
 * flush, which interrupts all CPUs that have the space loaded; any other CPU begins to run the program only through its
 * kernel. The grant of a lock says which kernels host the space, so this kernel locks a page, the first of
 * the address space, which no program can map. A kernel that joins later receives its first thread in a message, which
 * is a fence, too.
 *
 * space_fence_all (MEMBARRIER_CMD_GLOBAL) reaches every CPU of the machine, whatever it runs. A kernel that is starting
 * runs no program yet. */
#include "kernel/abi/errno.h"
#include "mm/change/change.h"
#include "mm/change/internal.h"
#include "mm/lease/decide.h"
#include "mm/lock/lock.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/request/call.h"

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
    return error == -ENOMEM ? -ENOMEM : 0; /* any other error means that a kernel does not run */
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
    error = space_apply_others(space, space_others(space), &change, "memory barrier"); /* all that have threads */
    if (error == 0)
        error = (int)space_ask_home(space, &change);
    space_release(space, &lock);
    return error;
}
