/* A space changes its retrieval strategy while its threads run. See mm/retrieve/retrieval.md.
 *
 * At the home, under the lock of the whole space: no fault that asks and no change is under way anywhere then but
 * questions of the fast path, which are told to ask again with the page's lock. Where a strategy comes whose directory
 * the home's page tables are, the home first learns of all pages. From then on nothing can fail. */
#include "kernel/abi/errno.h"
#include "kernel/lib/panic.h"
#include "mm/frame/heap.h"
#include "mm/lock/lock.h"
#include "mm/page/question.h"
#include "mm/retrieve/internal.h"
#include "mm/retrieve/strategy.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/call.h"
#include "msg/channel.h"

/* The home maps every page that any kernel has: what its page tables, the directory, begin with. A negative errno: a
 * part of them. */
static int directory_fill(struct space *space)
{
    uint8_t *buffer = heap_alloc(MSG_MAX);
    int error = buffer != NULL ? 0 : -ENOMEM;

    for (kernel_set rest = space_others(space); rest != 0 && error == 0; rest &= rest - 1) {
        error = space_list_take(space, (uint32_t)__builtin_ctzll(rest), buffer, 0);
        if (error == -ESRCH)
            error = 0; /* it has joined, its first thread is on the way */
    }
    heap_free(buffer, MSG_MAX);
    return error;
}

/* What members said of the change. */
struct told {
    kernel_set again; /* those who could not be asked, or could not answer, for want of memory */
    int error;
};

static void note_notified(void *context, uint32_t kernel, const void *reply, int length)
{
    struct told *told = context;

    (void)reply;
    if (length == -ENOMEM)
        told->again |= 1ull << kernel;
    else if (length < 0)
        told->error = length;
}

/* All members get the new mode; to hear of it twice does no harm. */
static void tell_members(struct msg_space_change *change, kernel_set members, uint32_t strategy)
{
    struct told told = {.again = members};

    while (told.again != 0 && told.error == 0) {
        kernel_set asked = told.again;

        told.again = 0;
        msg_gather(asked, MSG_SPACE_STRATEGY, change, sizeof(*change), note_notified, &told, "change of retrieval",
                   strategy);
        msg_poll(); /* an answer gives memory back */
    }
    if (told.error != 0)
        panic("mm: a member refuses strategy %u (error %d)", strategy, told.error);
}

static int switch_locked_space(struct space *space, uint32_t strategy)
{
    struct msg_space_change change = {.space = space->id, .length = USER_END, .operation = MSG_SPACE_STRATEGY};
    kernel_set others;
    int error = 0;

    if (!space->retrieval->home_knows && space_strategy(strategy)->home_knows)
        error = directory_fill(space);
    if (error != 0)
        return error;
    spin_lock(&space->lock); /* who joins later learns the new one, and who joined before is told */
    change.strategy.mode = space_mode_next_locked(space, strategy);
    others = space->members & ~(1ull << instance.kernel);
    spin_unlock(&space->lock);
    tell_members(&change, others, strategy);
    return 0;
}

int space_retrieve_switch(struct space *space, uint32_t strategy)
{
    struct space_lock lock;
    int error;

    if (space->home != instance.kernel || space_strategy(strategy) == NULL)
        return -EINVAL;
    error = space_acquire(space, SPACE_HEAVY, &lock);
    if (error != 0)
        return error;
    space_gets_await(space, SPACE_HEAVY);
    error = switch_locked_space(space, strategy);
    space_release(space, &lock);
    return error;
}
