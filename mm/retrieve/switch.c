/* Changing the mode of a space, its retrieval strategy or its policy of numa=, while its threads run. See
 * mm/retrieve/retrieval.md.
 *
 * The change is made at the home, under the whole-space lock: then the only operations under way on any kernel are
 * questions of the fast path, which the home answers BUSY, so that they are repeated with the page's lock. If the new
 * strategy has the home's page tables as its directory and the old one had not, the home first maps all pages. After
 * that nothing can fail. */
#include "kernel/abi/errno.h"
#include "kernel/lib/log.h"
#include "mm/frame/heap.h"
#include "mm/lock/lock.h"
#include "mm/page/replica.h"
#include "mm/retrieve/internal.h"
#include "mm/retrieve/strategy.h"
#include "mm/seen/choice.h"
#include "mm/space/question.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/slice.h"

/* Makes the home map every page that any kernel maps, so that its page tables are a directory. A negative errno: only a
 * part of them is mapped. */
static int directory_fill(struct space *space)
{
    uint8_t *buffer = heap_alloc(MSG_MAX);
    int error = buffer != NULL ? 0 : -ENOMEM;

    for (kernel_set rest = space_others(space); rest != 0 && error == 0; rest &= rest - 1) {
        error = space_list_take(space, (uint32_t)__builtin_ctzll(rest), buffer, 0);
        if (error == -ESRCH)
            error = 0; /* the kernel has joined, but its first thread has not arrived */
    }
    heap_free(buffer, MSG_MAX);
    return error;
}

/* The answers of the members. */
struct notified {
    kernel_set again; /* members that could not be asked, or could not answer, for lack of memory */
    int error;
};

static void note_notified(void *context, uint32_t kernel, const void *reply, int length)
{
    struct notified *notified = context;

    (void)reply;
    if (length == -ENOMEM)
        notified->again |= 1ull << kernel;
    else if (length < 0 && !msg_peer_fenced(kernel))
        notified->error = length;
}

/* Sends the new mode to all members, again to those without memory. A member may receive it twice without harm. */
static void notify_members(struct msg_space_change *change, kernel_set members, uint32_t strategy)
{
    struct notified notified = {.again = members};

    while (notified.again != 0 && notified.error == 0) {
        kernel_set asked = notified.again;

        notified.again = 0;
        msg_gather(asked, MSG_SPACE_STRATEGY, change, sizeof(*change), note_notified, &notified, "change of retrieval",
                   strategy);
        slice_pause(); /* receiving answers frees memory */
    }
    if (notified.error != 0)
        log_line("mm: a member refuses strategy %u (error %d)", strategy, notified.error);
}

static int switch_strategy(struct space *space, uint32_t strategy)
{
    struct msg_space_change change = {.space = space->id, .length = USER_END, .operation = MSG_SPACE_STRATEGY};
    kernel_set others;
    int error = 0;

    if (!space->retrieval->home_knows && space_strategy(strategy)->home_knows)
        error = directory_fill(space);
    if (error != 0)
        return error;
    if (!space_strategy(strategy)->home_knows)
        replicas_end(space);
    spin_lock(&space->lock);           /* a kernel that joins later gets the mode with its join */
    if (!space->retrieval->home_knows) /* what members found by asking is not in the directory */
        sharers_mark_all(&space->sharers, space->members & ~(1ull << instance.kernel));
    change.strategy.mode = space_mode_next_locked(space, strategy);
    others = space->members & ~(1ull << instance.kernel);
    spin_unlock(&space->lock);
    notify_members(&change, others, strategy);
    return 0;
}

static int switch_numa(struct space *space, uint32_t numa)
{
    struct msg_space_change change = {.space = space->id, .length = USER_END, .operation = MSG_SPACE_STRATEGY};
    kernel_set others;

    spin_lock(&space->lock);
    change.strategy.mode = space_mode_numa_locked(space, numa);
    others = space->members & ~(1ull << instance.kernel);
    spin_unlock(&space->lock);
    notify_members(&change, others, numa);
    return 0;
}

/* Does CHANGE, which gets TO, with the whole space locked. */
static int change_mode(struct space *space, int (*change)(struct space *space, uint32_t to), uint32_t to)
{
    struct space_lock lock;
    int error = space_acquire(space, SPACE_HEAVY, &lock);

    if (error != 0)
        return error;
    space_gets_await(space, SPACE_HEAVY);
    error = change(space, to);
    space_release(space, &lock);
    return error;
}

int space_retrieve_switch(struct space *space, uint32_t strategy)
{
    if (space->home != instance.kernel || space_strategy(strategy) == NULL)
        return -EINVAL;
    return change_mode(space, switch_strategy, strategy);
}

int space_numa_switch(struct space *space, uint32_t numa)
{
    if (space->home != instance.kernel || !seen_choice_valid(numa))
        return -EINVAL;
    return change_mode(space, switch_numa, numa);
}
