/* Asking kernels to move threads to their memory. See the header. */
#include "tasks/numa/draw.h"

#include "kernel/instance/instance.h"
#include "mm/seen/seen.h"
#include "msg/channel.h"
#include "msg/slice.h"
#include "tasks/remote/operation.h"
#include "tasks/sched/fair/fair.h"
#include "tasks/sched/load.h"

void numa_look_for_room(void)
{
    uint64_t room = 0;

    for (uint32_t k = 0; k < instance.plan.kernel_count; k++) {
        const struct plan_kernel *kernel = &instance.plan.kernels[k];
        struct load_view board;

        if (!msg_peer_started(k))
            continue;
        load_read(k, &board);
        room |= (uint64_t)(load_count(board.load) < kernel->cpu_count) << kernel->node;
    }
    seen_room = room;
}

/* An error of the kernel, as when it has stopped, is as if none of its threads could move. */
static bool ask(uint64_t id, const struct seen_draw *draw)
{
    struct msg_threads_draw asked = {.process = (uint32_t)id, .node = draw->node, .part = draw->part, .own = draw->own};
    struct msg_threads_drawn answer = {0};
    struct remote_how how = {.why = "threads that are to move to their memory", .key = id};

    return remote_call(draw->kernel, MSG_THREADS_DRAW, &asked, sizeof(asked), &answer, sizeof(answer), &how) ==
               (int)sizeof(answer) &&
           answer.thread != 0;
}

void numa_draw(uint64_t id)
{
    struct seen_search search = {0};
    struct space *space;
    bool more, ordered;

    do {
        space = space_get(id);
        if (space == NULL)
            return;
        more = seen_draw_next(space, &search);
        space_put(space); /* nobody waits with a reference to a space, whose end would spin for it */
        slice_check();
    } while (more);
    if (!search.found)
        return;
    ordered = ask(id, &search.draw);
    space = space_get(id);
    if (space == NULL)
        return;
    seen_drawn(space, &search.draw, ordered);
    space_put(space);
}
