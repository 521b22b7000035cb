/* RLIMIT_MEMLOCK. See the header. Nothing counts what is locked while no limit applies: the areas are added up when a
 * process asks for more. */
#include "kernel/calls/memory/lock_limit.h"

#include "kernel/abi/errno.h"
#include "mm/change/change.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/slice.h"
#include "tasks/account/facts.h"
#include "tasks/process/call.h"
#include "tasks/process/group.h"
#include "tasks/thread/thread.h"

/* The limit of the current process; LIMIT_NONE for root. */
static int64_t limit_of(uint64_t *limit)
{
    const struct thread *self = thread_current();
    struct msg_process_call call = {.id = self->group->id, .type = MSG_PROCESS_LIMIT, .limit.which = LIMIT_MEMLOCK};
    struct msg_process_result result;
    int64_t error;

    *limit = LIMIT_NONE;
    if (credentials_root(&self->context.credentials))
        return 0;
    error = process_call(&call, &result);
    if (error == 0)
        *limit = result.limit.soft;
    return error;
}

/* How many bytes of [START, END) are locked. */
static uint64_t locked_in(uint64_t start, uint64_t end)
{
    struct space *space = group_space(thread_current()->group);
    uint64_t locked = 0;

    while (start < end) {
        int64_t first = space_look(space, start, SPACE_LOOK_START), last = space_look(space, start, SPACE_LOOK_END);
        uint64_t from = (uint64_t)first & ~(PAGE_SIZE - 1), to = (uint64_t)last & ~(PAGE_SIZE - 1);

        if (first < 0 || last < 0 || from >= end)
            break;
        from = from > start ? from : start;
        to = to < end ? to : end;
        locked += ((uint64_t)last & AREA_LOCKED) != 0 ? to - from : 0;
        start = to;
        slice_check();
    }
    return locked;
}

int64_t lock_limit_any(void)
{
    uint64_t limit;
    int64_t error = limit_of(&limit);

    return error != 0 ? error : limit == 0 ? -EPERM : 0;
}

int64_t lock_limit_check(uint64_t start, uint64_t end, uint64_t more)
{
    struct process_facts facts;
    uint64_t limit;
    int64_t error = limit_of(&limit);

    if (error != 0 || limit == LIMIT_NONE)
        return error;
    if (limit == 0)
        return -EPERM;
    error = process_facts_of(thread_current()->group->id, &facts);
    if (error != 0)
        return error;
    more += end - start - locked_in(start, end);
    return more > limit || facts.locked > limit - more ? -ENOMEM : 0;
}
