/* getrusage(2). tasks/account/account.md describes what is counted, and how exactly. Kettle has neither disks nor swap,
 * so their counts are 0. */
#include "kernel/calls/process/rusage.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/calls/calls.h"
#include "kernel/instance/instance.h"
#include "mm/user/user_copy.h"
#include "tasks/account/facts.h"
#include "tasks/account/usage.h"
#include "tasks/process/group.h"
#include "tasks/sched/sched.h"

#define SECOND 1000000000u
#define RUSAGE_SELF 0
#define RUSAGE_CHILDREN (-1)
#define RUSAGE_THREAD 1

struct linux_rusage {
    int64_t user_s, user_us, system_s, system_us;
    int64_t peak; /* KiB */
    int64_t sizes[3];
    int64_t minor_faults, major_faults;
    int64_t swaps, blocks_in, blocks_out, sent, received, signals;
    int64_t voluntary, involuntary;
};

_Static_assert(sizeof(struct linux_rusage) == 144, "Linux ABI");

int64_t rusage_write(uint64_t address, uint64_t user_ns, uint64_t system_ns, const struct account_used *used)
{
    struct linux_rusage out = {.user_s = (int64_t)(user_ns / SECOND),
                               .user_us = (int64_t)(user_ns % SECOND / 1000),
                               .system_s = (int64_t)(system_ns / SECOND),
                               .system_us = (int64_t)(system_ns % SECOND / 1000),
                               .peak = (int64_t)(used->peak * (PAGE_SIZE / 1024)),
                               .minor_faults = (int64_t)used->use.minor_faults,
                               .major_faults = (int64_t)used->use.major_faults,
                               .voluntary = (int64_t)used->use.waits,
                               .involuntary = (int64_t)used->use.preemptions};

    return user_write(address, &out, sizeof(out));
}

/* Sums up what the calling thread has used on all kernels that it has been on. */
static void use_of_thread(struct thread *self, struct account_use *out)
{
    struct thread_facts facts = {
        .tid = self->tid, .kernel = instance.kernel, .visited = self->visited, .account = self->account};
    struct account all;

    survey_account(self->group->id, &facts, &all);
    *out = all.use;
}

int64_t call_getrusage(struct call *c)
{
    struct thread *self = thread_current();
    uint32_t id = self->group->id;
    int32_t who = (int32_t)c->a[0];
    struct account_used used = {.peak = 0};
    struct account_io io;
    uint64_t user, system;
    struct usage usage;
    int error;

    if (who != RUSAGE_SELF && who != RUSAGE_CHILDREN && who != RUSAGE_THREAD)
        return -EINVAL;
    error = who == RUSAGE_THREAD ? 0 : usage_of(id, &usage);
    if (error == 0)
        error = who == RUSAGE_CHILDREN ? usage_of_children(id, &used) : usage_of_files(id, &io, &used.peak);
    if (error != 0)
        return error;
    if (who == RUSAGE_THREAD) {
        sched_cpu_time(self, &user, &system);
        use_of_thread(self, &used.use);
    } else if (who == RUSAGE_SELF) {
        user = usage.user_ns;
        system = usage.system_ns;
        used.use = usage.use;
    } else {
        user = usage.children_user_ns;
        system = usage.children_system_ns;
    }
    return rusage_write(c->a[1], user, system, &used);
}
