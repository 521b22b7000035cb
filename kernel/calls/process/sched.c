/* System calls on scheduling: policies, nice values, affinity, CPU time. tasks/sched/scheduling.md describes the
 * policies. A request for a thread goes to the kernel that the thread is on (tasks/locate/locate.h). */
#include "tasks/sched/sched.h"
#include "kernel/abi/clock.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/process/cpu_clock.h"
#include "kernel/calls/process/policy.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/seen/group.h"
#include "mm/user/user_copy.h"
#include "msg/channel.h"
#include "tasks/account/facts.h"
#include "tasks/account/usage.h"
#include "tasks/locate/locate.h"
#include "tasks/process/call.h"
#include "tasks/process/group.h"
#include "tasks/process/process.h"
#include "tasks/sched/policy.h"
#include "tasks/thread/thread.h"

#define RESET_ON_FORK 0x40000000u /* SCHED_RESET_ON_FORK, in the policy */
#define ATTR_SIZE 48u             /* of the first version of struct sched_attr */
#define ATTR_RESET_ON_FORK 1u
#define ATTR_KEEP_POLICY 8u
#define ATTR_KEEP_PARAMETERS 0x10u
#define AFFINITY_WORDS (CPUS_MAX / 64)
#define SECOND 1000000000ull
#define CLOCK_TICK 10000000ull /* ns */

struct attr { /* struct sched_attr of linux/sched/types.h */
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};
_Static_assert(sizeof(struct attr) == ATTR_SIZE, "Linux ABI");

int64_t sched_with_thread(uint32_t tid, struct msg_thread_call *call, struct msg_thread_result *result)
{
    call->thread = tid != 0 ? tid : thread_current()->tid;
    return (int32_t)tid < 0 ? -ESRCH : thread_call(call, result, NULL);
}

uint32_t sched_limit_of(uint32_t tid, uint32_t which)
{
    struct msg_thread_call find = {.type = MSG_THREAD_GROUP};
    struct msg_process_call call = {.type = MSG_PROCESS_LIMIT, .limit.which = which};
    struct msg_thread_result found;
    struct msg_process_result result;
    int64_t group = sched_with_thread(tid, &find, &found);

    call.id = (uint32_t)group;
    if (group <= 0 || process_call(&call, &result) != 0)
        return 0;
    return result.limit.soft < FAIR_PRIORITY_MAX ? (uint32_t)result.limit.soft : FAIR_PRIORITY_MAX;
}

/* Sets the policy of thread TID. The limits are looked up only if the request is refused without them. */
static int64_t set_policy(uint32_t tid, const struct policy_wish *wish)
{
    struct msg_thread_call call = {.type = MSG_THREAD_SET_POLICY, .policy = *wish};
    struct msg_thread_result result;
    int64_t error;

    call.policy.user = thread_current()->context.credentials.euid;
    error = sched_with_thread(tid, &call, &result);
    if (error != -EPERM)
        return error;
    call.policy.nice_limit = sched_limit_of(tid, LIMIT_NICE);
    call.policy.real_limit = sched_limit_of(tid, LIMIT_RTPRIO);
    return (call.policy.nice_limit | call.policy.real_limit) != 0 ? sched_with_thread(tid, &call, &result) : error;
}

static int64_t get_policy(uint32_t tid, struct policy_facts *facts)
{
    struct msg_thread_call call = {.type = MSG_THREAD_GET_POLICY};
    struct msg_thread_result result;
    int64_t error = sched_with_thread(tid, &call, &result);

    *facts = result.policy;
    return error;
}

/* For sched_setscheduler(2) and related calls, which return -EINVAL for a negative id. */
static int64_t set_policy_of(uint32_t tid, const struct policy_wish *wish)
{
    return (int32_t)tid < 0 ? -EINVAL : set_policy(tid, wish);
}

static int64_t get_policy_of(uint32_t tid, struct policy_facts *facts)
{
    return (int32_t)tid < 0 ? -EINVAL : get_policy(tid, facts);
}

int64_t call_sched_yield(struct call *c)
{
    (void)c;
    sched_yield();
    return 0;
}

int64_t call_sched_setscheduler(struct call *c)
{
    struct policy_wish wish = {.policy = (uint32_t)c->a[1] & ~RESET_ON_FORK,
                               .reset_on_fork = (c->a[1] & RESET_ON_FORK) != 0,
                               .keep_nice = true};
    int32_t priority;

    if ((int32_t)c->a[1] < 0 || c->a[2] == 0)
        return -EINVAL;
    if (user_read(&priority, c->a[2], sizeof(priority)) != 0)
        return -EFAULT;
    wish.priority = (uint32_t)priority;
    return set_policy_of((uint32_t)c->a[0], &wish);
}

int64_t call_sched_setparam(struct call *c)
{
    struct policy_wish wish = {.keep_policy = true, .keep_nice = true, .keep_reset = true};
    int32_t priority;

    if (c->a[1] == 0)
        return -EINVAL;
    if (user_read(&priority, c->a[1], sizeof(priority)) != 0)
        return -EFAULT;
    wish.priority = (uint32_t)priority;
    return set_policy_of((uint32_t)c->a[0], &wish);
}

int64_t call_sched_getscheduler(struct call *c)
{
    struct policy_facts facts;
    int64_t error = get_policy_of((uint32_t)c->a[0], &facts);

    if (error != 0)
        return error;
    return (int64_t)(facts.policy | (facts.reset_on_fork ? RESET_ON_FORK : 0));
}

int64_t call_sched_getparam(struct call *c)
{
    struct policy_facts facts;
    int32_t priority; /* all of struct sched_param */
    int64_t error;

    if (c->a[1] == 0)
        return -EINVAL;
    error = get_policy_of((uint32_t)c->a[0], &facts);
    if (error != 0)
        return error;
    priority = facts.priority;
    return user_write(c->a[1], &priority, sizeof(priority));
}

static int64_t priority_bound(uint64_t policy, int64_t real)
{
    switch (policy) {
    case POLICY_FIFO:
    case POLICY_RR:
        return real;
    case POLICY_OTHER:
    case POLICY_BATCH:
    case POLICY_IDLE:
        return 0;
    default:
        return -EINVAL;
    }
}

int64_t call_sched_get_priority_max(struct call *c)
{
    return priority_bound((uint32_t)c->a[0], FAIR_PRIORITY_MAX);
}

int64_t call_sched_get_priority_min(struct call *c)
{
    return priority_bound((uint32_t)c->a[0], 1);
}

int64_t call_sched_rr_get_interval(struct call *c)
{
    struct policy_facts facts;
    int64_t error = get_policy_of((uint32_t)c->a[0], &facts);
    uint64_t time[2];

    if (error != 0)
        return error;
    if (facts.slice == UINT64_MAX)
        facts.slice = 0; /* SCHED_FIFO: it has no slices */
    time[0] = facts.slice / SECOND;
    time[1] = facts.slice % SECOND;
    return user_write(c->a[1], time, sizeof(time));
}

/* Reads a struct sched_attr of any version whose additions to the first are zero. */
static int64_t read_attr(uint64_t address, struct attr *attr)
{
    uint32_t size;
    uint8_t byte;

    if (user_read(&size, address, sizeof(size)) != 0)
        return -EFAULT;
    if (size == 0)
        size = ATTR_SIZE;
    if (size < ATTR_SIZE || size > PAGE_SIZE) {
        size = ATTR_SIZE;
        return user_write(address, &size, sizeof(size)) != 0 ? -EFAULT : -E2BIG;
    }
    for (uint32_t i = ATTR_SIZE; i < size; i++) {
        if (user_read(&byte, address + i, 1) != 0)
            return -EFAULT;
        if (byte != 0)
            return -E2BIG;
    }
    return user_read(attr, address, sizeof(*attr)) != 0 ? -EFAULT : 0;
}

int64_t call_sched_setattr(struct call *c)
{
    struct attr attr;
    struct policy_wish wish;
    int64_t error;

    if (c->a[1] == 0 || (int32_t)c->a[0] < 0 || (uint32_t)c->a[2] != 0)
        return -EINVAL;
    error = read_attr(c->a[1], &attr);
    if (error != 0)
        return error;
    if ((int32_t)attr.policy < 0 ||
        (attr.flags & ~(uint64_t)(ATTR_RESET_ON_FORK | ATTR_KEEP_POLICY | ATTR_KEEP_PARAMETERS)) != 0)
        return -EINVAL;
    if (attr.nice < FAIR_NICE_MIN)
        attr.nice = FAIR_NICE_MIN;
    if (attr.nice > FAIR_NICE_MAX)
        attr.nice = FAIR_NICE_MAX;
    wish = (struct policy_wish){.policy = attr.policy,
                                .priority = attr.priority,
                                .nice = attr.nice,
                                .reset_on_fork = (attr.flags & ATTR_RESET_ON_FORK) != 0,
                                .keep_policy = (attr.flags & ATTR_KEEP_POLICY) != 0,
                                .keep_priority = (attr.flags & ATTR_KEEP_PARAMETERS) != 0,
                                .keep_nice = (attr.flags & ATTR_KEEP_PARAMETERS) != 0};
    return set_policy_of((uint32_t)c->a[0], &wish);
}

int64_t call_sched_getattr(struct call *c)
{
    struct attr attr = {0};
    struct policy_facts facts;
    int64_t error;

    if (c->a[1] == 0 || (int32_t)c->a[0] < 0 || (uint32_t)c->a[2] < ATTR_SIZE || (uint32_t)c->a[2] > PAGE_SIZE ||
        (uint32_t)c->a[3] != 0)
        return -EINVAL;
    error = get_policy_of((uint32_t)c->a[0], &facts);
    attr = (struct attr){.size = ATTR_SIZE,
                         .policy = facts.policy,
                         .flags = facts.reset_on_fork ? ATTR_RESET_ON_FORK : 0,
                         .nice = facts.nice,
                         .priority = facts.priority};
    return error != 0 ? error : user_write(c->a[1], &attr, sizeof(attr));
}

/* Returns the size in bytes of a mask of the machine's CPUs. */
static uint64_t mask_size(void)
{
    return (instance.plan.cpu_count + 63) / 64 * 8;
}

/* Computes the set of CPUs of the kernels that programs may go to. */
static void usable_cpus(uint64_t mask[AFFINITY_WORDS])
{
    memset(mask, 0, AFFINITY_WORDS * sizeof(mask[0]));
    for (uint32_t i = 0; i < instance.plan.cpu_count; i++) {
        int32_t kernel = instance.plan.cpus[i].kernel;

        if (kernel >= 0 && msg_peer_started((uint32_t)kernel))
            mask[i / 64] |= 1ull << i % 64;
    }
}

int64_t call_sched_getaffinity(struct call *c)
{
    struct msg_thread_call call = {.type = MSG_THREAD_GET_AFFINITY};
    struct msg_thread_result result;
    uint64_t mask[AFFINITY_WORDS], usable[AFFINITY_WORDS];
    uint64_t any = 0;
    int64_t error;

    if ((uint32_t)c->a[1] < mask_size() || (c->a[1] & 7) != 0)
        return -EINVAL;
    error = sched_with_thread((uint32_t)c->a[0], &call, &result);
    if (error != 0)
        return error;
    memcpy(mask, result.mask, sizeof(mask));
    usable_cpus(usable);
    for (uint32_t i = 0; i < AFFINITY_WORDS; i++)
        any |= mask[i] & usable[i];
    for (uint32_t i = 0; i < AFFINITY_WORDS; i++)
        mask[i] = any != 0 ? mask[i] & usable[i] : usable[i];
    return user_write(c->a[2], mask, mask_size()) != 0 ? -EFAULT : (int64_t)mask_size();
}

/* Returns after the thread has left a CPU that the new affinity forbids. */
int64_t call_sched_setaffinity(struct call *c)
{
    struct thread *self = thread_current();
    struct msg_thread_call call = {.type = MSG_THREAD_SET_AFFINITY};
    struct msg_thread_result result;
    uint64_t size = c->a[1] < sizeof(call.affinity.mask) ? c->a[1] : sizeof(call.affinity.mask);
    int64_t moves;

    if (user_read(call.affinity.mask, c->a[2], size) != 0)
        return -EFAULT;
    call.affinity.user = self->context.credentials.euid;
    moves = sched_with_thread((uint32_t)c->a[0], &call, &result);
    if (moves != 1)
        return moves;
    return call.thread == self->tid ? 0 : thread_wait_settled(call.thread); /* we move on our way to user mode */
}

/* Puts thread a[0] (0: the caller) into the NUMA group a[1] of its process, 0: into none; or, with -1, returns its
 * group.
 */
int64_t call_kettle_group(struct call *c)
{
    struct msg_thread_call call = {.type = MSG_THREAD_NUMA_GROUP, .numa.group = (uint32_t)c->a[1]};
    struct msg_thread_result result;
    int64_t had;

    if (call.numa.group >= NUMA_GROUPS && call.numa.group != NUMA_GROUP_ASK)
        return -EINVAL;
    call.numa.user = thread_current()->context.credentials.euid;
    had = sched_with_thread((uint32_t)c->a[0], &call, &result);
    return had < 0 || call.numa.group == NUMA_GROUP_ASK ? had : 0;
}

/* A thread's clock is for threads of its process. */
static bool is_own_thread(uint32_t tid)
{
    struct msg_thread_call find = {.type = MSG_THREAD_GROUP};
    struct msg_thread_result found;

    return tid == 0 || tid == thread_current()->tid ||
           sched_with_thread(tid, &find, &found) == (int64_t)thread_current()->group->id;
}

int64_t cpu_clock_read(int32_t id, uint64_t *nanoseconds)
{
    uint32_t tid = id < 0 ? ~(uint32_t)(id >> 3) & 0x1fffffff : 0;
    bool process = id < 0 ? ((uint32_t)id & CPU_CLOCK_THREAD) == 0 : id == CLOCK_PROCESS_CPU;
    struct usage usage;

    if (id >= 0 && id != CLOCK_PROCESS_CPU && id != CLOCK_THREAD_CPU)
        return -EINVAL;
    if (id < 0 && ((uint32_t)id & CPU_CLOCK_KIND) == CPU_CLOCK_KIND)
        return -EINVAL;
    if (!process) {
        struct policy_facts facts;

        if (!is_own_thread(tid) || get_policy(tid, &facts) != 0)
            return -EINVAL;
        *nanoseconds = facts.cpu_ns;
        return 0;
    }
    if (tid == PROCESS_INIT)
        usage = (struct usage){0}; /* it has no threads */
    else if (usage_of(tid != 0 ? tid : thread_current()->group->id, &usage) != 0)
        return -EINVAL;
    *nanoseconds = usage.user_ns;
    if (id >= 0 || ((uint32_t)id & CPU_CLOCK_KIND) != CPU_CLOCK_USER)
        *nanoseconds += usage.system_ns;
    return 0;
}

int64_t call_times(struct call *c)
{
    struct usage usage;
    int64_t out[4];
    int error = usage_of(thread_current()->group->id, &usage);

    if (error != 0)
        return error;
    out[0] = (int64_t)(usage.user_ns / CLOCK_TICK);
    out[1] = (int64_t)(usage.system_ns / CLOCK_TICK);
    out[2] = (int64_t)(usage.children_user_ns / CLOCK_TICK);
    out[3] = (int64_t)(usage.children_system_ns / CLOCK_TICK);
    if (c->a[0] != 0 && user_write(c->a[0], out, sizeof(out)) != 0)
        return -EFAULT;
    return (int64_t)(clock_now() / CLOCK_TICK);
}
