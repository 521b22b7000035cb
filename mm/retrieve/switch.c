/* A space changes its retrieval strategy while its threads run. See mm/retrieve/retrieval.md.
 *
 * At the home, under the lock of the whole space: no fault that asks and no change is under way anywhere then but
 * questions of the short way, which are told to ask again with the page's lock. Where a strategy comes whose directory
 * the home's page tables are, the home first learns of all pages. From then on nothing can fail. */
#include "kernel/abi/errno.h"
#include "kernel/instance/window.h"
#include "kernel/lib/panic.h"
#include "mm/frame/heap.h"
#include "mm/frame/reference.h"
#include "mm/lock/lock.h"
#include "mm/page/question.h"
#include "mm/retrieve/strategy.h"
#include "mm/retrieve/wire.h"
#include "mm/space/entry.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/call.h"
#include "msg/channel.h"

#define RUNS_A_POLL 64u

static int take_page_locked(struct space *space, uint64_t page, uint64_t frame, bool cow)
{
    const struct area *area = area_find(&space->areas, page);
    uint64_t *entry;

    if (area == NULL)
        return 0; /* an unmap failed half-way: nobody is to get it, and the next unmap ends it */
    entry = paging_entry(&space->tables, page, true);
    if (entry == NULL)
        return -ENOMEM;
    if (*entry == 0)
        *entry = frame | space_page_flags(area->prot, cow) | (window_owns(frame, PAGE_SIZE) ? 0 : PAGING_SOFT_BORROWED);
    return 0;
}

/* Pages that a member holds: the home maps them, too. */
static int take_run(struct space *space, const struct msg_space_run *run)
{
    uint64_t frame = SPACE_RUN_FRAME(run->run), bytes = SPACE_RUN_LENGTH(run->run) * PAGE_SIZE;
    int error = 0;

    if (bytes == 0 || run->page >= USER_END || frame_owner(frame) == KERNELS_MAX ||
        frame_owner(frame + bytes - PAGE_SIZE) != frame_owner(frame))
        return -EPROTO;
    spin_lock(&space->lock);
    for (uint64_t done = 0; done < bytes && error == 0; done += PAGE_SIZE)
        error = take_page_locked(space, run->page + done, frame + done, SPACE_RUN_INDEX(run->run) != 0);
    spin_unlock(&space->lock);
    return error;
}

static int take_from(struct space *space, uint32_t kernel, uint8_t *buffer)
{
    const struct msg_space_listed *head = (const struct msg_space_listed *)(const void *)buffer;
    const struct msg_space_run *runs = (const struct msg_space_run *)(head + 1);
    struct msg_space_page ask = {.space = space->id};
    uint32_t taken = 0;
    int error = 0;

    do {
        int length = msg_call(kernel, MSG_SPACE_LIST, &ask, sizeof(ask), buffer, MSG_MAX, "pages of a member", kernel);

        if (length == -ESRCH)
            return 0; /* it has joined, its first thread is on the way */
        if (length < (int)sizeof(*head))
            return length < 0 ? length : -EPROTO;
        for (size_t i = 0; i < ((size_t)length - sizeof(*head)) / sizeof(*runs) && error == 0; i++) {
            error = take_run(space, &runs[i]);
            if (++taken % RUNS_A_POLL == 0)
                msg_poll();
        }
        if (error == 0 && head->next != 0 && head->next <= ask.page)
            error = -EPROTO;
        ask.page = head->next;
    } while (error == 0 && ask.page != 0);
    return error;
}

/* The home maps every page that any kernel has: what its page tables, the directory, begin with. A negative errno: a
 * part of them. */
static int directory_fill(struct space *space)
{
    uint8_t *buffer = heap_alloc(MSG_MAX);
    int error = buffer != NULL ? 0 : -ENOMEM;

    for (kernel_set rest = space_others(space); rest != 0 && error == 0; rest &= rest - 1)
        error = take_from(space, (uint32_t)__builtin_ctzll(rest), buffer);
    heap_free(buffer, MSG_MAX);
    return error;
}

/* What members said of the change. */
struct told {
    kernel_set again; /* those who could not be asked, or could not answer, for want of memory */
    int error;
};

static void note_told(void *context, uint32_t kernel, const void *reply, int length)
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
        msg_gather(asked, MSG_SPACE_STRATEGY, change, sizeof(*change), note_told, &told, "change of retrieval",
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
    int error;

    if (space->home != instance.kernel || space_strategy(strategy) == NULL)
        return -EINVAL;
    error = space_acquire(space, SPACE_HEAVY);
    if (error != 0)
        return error;
    space_gets_await(space, SPACE_HEAVY);
    error = switch_locked_space(space, strategy);
    space_release(space, SPACE_HEAVY);
    return error;
}
