/* Usage of a process. See the header. A thread that moves while the kernels are asked may be counted twice or not at
 * all, for the time since its last move; a process that stands still is counted exactly. What tasks/thread/account.h
 * counts does not move, and is right in any case. */
#include "tasks/account/usage.h"

#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "msg/channel.h"
#include "tasks/process/call.h"
#include "tasks/process/process.h"
#include "tasks/process/wire.h"

union told { /* the answers to GROUP_TIME, by part */
    struct msg_group_killed times;
    struct msg_group_freed files;
};

static void measure(const struct msg_group *asked, union told *out)
{
    struct group *group = group_find(asked->group);
    struct account account;
    uint64_t peak;

    *out = (union told){.times = {0}};
    if (group == NULL)
        return;
    group_account(group, &account, &peak);
    if (asked->part == 0) {
        out->times.use = account.use;
        group_cpu_time(group, &out->times.user_ns, &out->times.system_ns);
    } else {
        out->files.io = account.io;
        out->files.peak = peak;
    }
    group_put(group);
}

static void handle_time(const struct msg *m)
{
    union told told;

    measure(m->data, &told);
    msg_reply(&m->ticket, &told, sizeof(told));
}

static void add_times(void *context, uint32_t kernel, const void *reply, int length)
{
    struct usage *usage = context;
    struct msg_group_killed times;

    (void)kernel;
    if (length != (int)sizeof(times))
        return;
    memcpy(&times, reply, sizeof(times));
    usage->user_ns += times.user_ns;
    usage->system_ns += times.system_ns;
    account_use_add(&usage->use, &times.use);
}

static void add_files(void *context, uint32_t kernel, const void *reply, int length)
{
    struct msg_group_freed *sum = context;
    struct msg_group_freed files;

    (void)kernel;
    if (length != (int)sizeof(files))
        return;
    memcpy(&files, reply, sizeof(files));
    account_io_add(&sum->io, &files.io);
    sum->peak += files.peak;
}

/* Asks KERNELS, this one too, for PART. */
static void ask(uint32_t id, uint32_t part, kernel_set kernels, msg_answer add, void *context)
{
    struct msg_group message = {.group = id, .part = part};
    union told here;

    msg_multicast(kernels & ~(1ull << instance.kernel), MSG_GROUP_TIME, &message, sizeof(message), add, context,
                  "usage of a process", id);
    measure(&message, &here);
    add(context, instance.kernel, &here, (int)sizeof(here));
}

/* Asks the home, whose answer goes to *RESULT. */
static int64_t ask_home(uint32_t id, enum msg_type type, struct msg_process_result *result)
{
    struct msg_process_call call = {.id = id, .type = type};

    return process_call(&call, result);
}

int usage_of(uint32_t id, struct usage *out)
{
    struct msg_process_result result;
    int64_t error = ask_home(id, MSG_PROCESS_TIMES, &result);

    *out = (struct usage){0};
    if (error != 0)
        return (int)error;
    out->children_user_ns = result.children_user_ns;
    out->children_system_ns = result.children_system_ns;
    ask(id, 0, result.members | 1ull << process_home(id), add_times, out);
    return 0;
}

int usage_of_files(uint32_t id, struct account_io *io, uint64_t *peak)
{
    struct msg_group_freed sum = {.peak = 0};
    struct msg_process_result times, children;
    int64_t error = ask_home(id, MSG_PROCESS_TIMES, &times);

    if (error == 0)
        error = ask_home(id, MSG_PROCESS_CHILDREN_IO, &children);
    if (error != 0)
        return (int)error;
    ask(id, 1, times.members | 1ull << process_home(id), add_files, &sum);
    *io = sum.io;
    account_io_add(io, &children.io);
    *peak = sum.peak > times.peak ? sum.peak : times.peak;
    return 0;
}

int usage_of_children(uint32_t id, struct account_used *out)
{
    struct msg_process_result result;
    int64_t error = ask_home(id, MSG_PROCESS_CHILDREN_USED, &result);

    if (error == 0)
        *out = result.used;
    return (int)error;
}

void usage_init(void)
{
    msg_register(MSG_GROUP_TIME, handle_time, sizeof(struct msg_group), sizeof(union told));
}
