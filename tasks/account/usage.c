/* Usage of a process. See the header.
 *
 * The CPU time of a thread that moves while the kernels are asked may be counted twice or not at all; that of a
 * quiesced process is exact. The counters of tasks/thread/account.h do not move with threads, and are always exact. */
#include "tasks/account/usage.h"

#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "msg/channel.h"
#include "tasks/process/call.h"
#include "tasks/process/process.h"
#include "tasks/process/wire.h"
#include "tasks/remote/operation.h"

static int run_time(const struct remote_request *request, void *result)
{
    struct group *group = group_find(((const struct msg_group *)request->data)->group);
    struct msg_group_killed *out = result;
    struct account account;
    uint64_t peak, user, system;

    *out = (struct msg_group_killed){0};
    if (group != NULL) {
        group_account(group, &account, &peak);
        out->use = account.use;
        group_cpu_time(group, &user, &system);
        out->user_ns = user;
        out->system_ns = system;
        group_put(group);
    }
    return sizeof(*out);
}

static int run_io(const struct remote_request *request, void *result)
{
    struct group *group = group_find(((const struct msg_group *)request->data)->group);
    struct msg_group_freed *out = result;
    struct account account;

    *out = (struct msg_group_freed){.peak = 0};
    if (group != NULL) {
        group_account(group, &account, &out->peak);
        out->io = account.io;
        group_put(group);
    }
    return sizeof(*out);
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

/* Asks KERNELS, among which this kernel may be, and always asks this kernel, which may have no part of the process. */
static void ask(uint32_t id, enum msg_type type, kernel_set kernels, msg_answer add, void *context)
{
    static const struct remote_how how = {.why = "usage of a process"};
    struct msg_group message = {.group = id};
    uint64_t here[MSG_SHORT / 8];

    msg_multicast(kernels & ~(1ull << instance.kernel), type, &message, sizeof(message), add, context, how.why, id);
    add(context, instance.kernel, here,
        remote_call(instance.kernel, type, &message, sizeof(message), here, sizeof(here), &how));
}

/* Asks the home of process ID, and stores its reply in *RESULT. */
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
    ask(id, MSG_GROUP_TIME, result.members | 1ull << process_home(id), add_times, out);
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
    ask(id, MSG_GROUP_IO, times.members | 1ull << process_home(id), add_files, &sum);
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
    REMOTE_SERVE(GROUP_TIME, run_time, NULL, struct msg_group, struct msg_group_killed);
    REMOTE_SERVE(GROUP_IO, run_io, NULL, struct msg_group, struct msg_group_freed);
}
