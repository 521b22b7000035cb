/* Groups of threads at the home of a space. See the header. */
#include "mm/seen/group.h"

#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "mm/space/space.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/trace.h"

static uint32_t node_of(uint32_t kernel)
{
    return instance.plan.kernels[kernel].node;
}

uint32_t groups_node_locked(const struct space *space, uint32_t group)
{
    uint32_t node = space->groups != NULL && group < NUMA_GROUPS ? space->groups->node[group] : 0;

    return node != 0 ? node - 1 : NODES_MAX;
}

static bool has_threads(const struct msg_space_groups *told)
{
    bool any = false;

    for (uint32_t group = 1; group < NUMA_GROUPS; group++)
        any |= told->threads[group] != 0;
    return any;
}

static void note_locked(struct space *space, const struct msg_space_groups *told)
{
    uint32_t moved;

    if (space->groups == NULL && has_threads(told))
        space->groups = heap_alloc(sizeof(*space->groups)); /* zeros */
    if (space->groups == NULL)
        return;
    moved = groups_note(space->groups, told, space->members | 1ull << instance.kernel, node_of);
    for (; moved != 0; moved &= moved - 1) {
        uint32_t group = (uint32_t)__builtin_ctz(moved);

        space->stats.groups_moved++;
        trace_note("the home node of a group is", (uint32_t)space->id, told->kernel, group,
                   groups_node_locked(space, group));
    }
}

/* At the home. -ESRCH, -EPROTO. */
static int note(const struct msg_space_groups *told)
{
    struct space *space = space_get(told->space);
    int error = space == NULL ? -ESRCH : 0;

    if (error == 0 && (space->home != instance.kernel || told->kernel >= instance.plan.kernel_count))
        error = -EPROTO;
    if (error == 0) {
        spin_lock(&space->lock);
        note_locked(space, told);
        spin_unlock(&space->lock);
    }
    if (space != NULL)
        space_put(space);
    return error;
}

static void handle_groups(const struct msg *m)
{
    int error = note(m->data);

    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, NULL, 0);
}

void groups_tell(uint32_t home, const struct msg_space_groups *told)
{
    if (home == instance.kernel)
        note(told);
    else
        msg_call(home, MSG_SPACE_GROUPS, told, sizeof(*told), NULL, 0, "groups of threads", told->space);
}

void groups_end(struct space *space)
{
    heap_free(space->groups, sizeof(*space->groups));
    space->groups = NULL;
}

void groups_init(void)
{
    msg_register(MSG_SPACE_GROUPS, handle_groups, sizeof(struct msg_space_groups), 0);
}
