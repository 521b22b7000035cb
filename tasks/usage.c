/* Usage of a process. See the header. A thread that moves while the kernels are asked may be counted twice or not at
 * all, for the time since its last move; a process that stands still is counted exactly. */
#include "tasks/usage.h"

#include "boot/instance.h"
#include "kernel/lib/string.h"
#include "msg/channel.h"
#include "tasks/process.h"
#include "tasks/wire.h"

static void measure(uint32_t id, struct msg_group_killed *out)
{
    struct group *group = group_find(id);

    *out = (struct msg_group_killed){0};
    if (group == NULL)
        return;
    group_cpu_time(group, &out->user_ns, &out->system_ns);
    group_put(group);
}

static void handle_time(const struct msg *m)
{
    const struct msg_group *message = m->data;
    struct msg_group_killed times;

    measure(message->group, &times);
    msg_reply(&m->ticket, &times, sizeof(times));
}

static void add(void *context, uint32_t kernel, const void *reply, int length)
{
    struct usage *usage = context;
    struct msg_group_killed times;

    (void)kernel;
    if (length != (int)sizeof(times))
        return;
    memcpy(&times, reply, sizeof(times));
    usage->user_ns += times.user_ns;
    usage->system_ns += times.system_ns;
}

int usage_of(uint32_t id, struct usage *out)
{
    struct msg_process_call call = {.id = id, .operation = PROCESS_TIMES};
    struct msg_group message = {.group = id};
    struct msg_process_result result;
    struct msg_group_killed here;
    kernel_set kernels;
    int64_t error = process_call(&call, &result);

    *out = (struct usage){0};
    if (error != 0)
        return (int)error;
    out->children_user_ns = result.children_user_ns;
    out->children_system_ns = result.children_system_ns;
    kernels = result.members | 1ull << process_home(id);
    msg_multicast(kernels & ~(1ull << instance.kernel), MSG_GROUP_TIME, &message, sizeof(message), add, out,
                  "CPU time of a process", id);
    measure(id, &here);
    add(out, instance.kernel, &here, (int)sizeof(here));
    return 0;
}

void usage_init(void)
{
    msg_register(MSG_GROUP_TIME, handle_time, sizeof(struct msg_group), sizeof(struct msg_group_killed));
}
