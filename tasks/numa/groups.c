/* Counting threads of NUMA groups. See the header. */
#include "tasks/numa/groups.h"

#include <stddef.h>

#include "kernel/instance/instance.h"
#include "mm/seen/group.h"
#include "tasks/thread/walk.h"

/* What a process has here. */
struct counted {
    bool any;
    struct msg_space_groups message;
};

static void count_locked(struct thread *thread, void *context)
{
    struct counted *counted = context;
    uint32_t number = thread->context.numa_group;

    if (thread->presence != THREAD_PRESENT || number == 0 || number >= NUMA_GROUPS)
        return;
    counted->message.threads[number] += counted->message.threads[number] != UINT16_MAX;
    counted->any = true;
}

bool numa_tell_groups(uint64_t id, uint32_t home)
{
    struct counted here = {.message = {.space = id, .kernel = instance.kernel}};
    struct group *group = group_find((uint32_t)id);
    bool told;

    if (group == NULL)
        return false;
    group_each_thread(group, count_locked, &here);
    told = here.any || group->numa_told;
    if (told)
        group->numa_told = !groups_tell(home, &here.message) || here.any;
    group_put(group);
    return told;
}
