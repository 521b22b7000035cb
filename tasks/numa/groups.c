/* Counting threads of NUMA groups. See the header. */
#include "tasks/numa/groups.h"

#include <stddef.h>

#include "kernel/instance/instance.h"
#include "mm/seen/group.h"
#include "tasks/process/group.h"

/* Sets *OUT to what GROUP has here. Returns whether it has any. */
static bool count_locked(struct group *group, struct msg_space_groups *out)
{
    bool any = false;

    list_for_each(node, &group->threads) {
        const struct thread *thread = container_of(node, const struct thread, group_node);
        uint32_t number = thread->context.numa_group;

        if (thread->presence != THREAD_PRESENT || number == 0 || number >= NUMA_GROUPS)
            continue;
        out->threads[number] += out->threads[number] != UINT16_MAX;
        any = true;
    }
    return any;
}

bool numa_tell_groups(uint64_t id, uint32_t home)
{
    struct msg_space_groups out = {.space = id, .kernel = instance.kernel};
    struct group *group = group_find((uint32_t)id);
    bool any, told;

    if (group == NULL)
        return false;
    spin_lock(&group->lock);
    any = count_locked(group, &out);
    spin_unlock(&group->lock);
    told = any || group->numa_told;
    if (told)
        group->numa_told = !groups_tell(home, &out) || any;
    group_put(group);
    return told;
}
