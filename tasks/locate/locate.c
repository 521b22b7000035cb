/* Operations on a thread of any kernel. See the header.
 *
 * One function performs an operation for local and remote callers, under the lock of the thread's group, and does not
 * wait. Only the caller's task waits, in follow. */
#include "tasks/locate/locate.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/seen/group.h"
#include "tasks/futex/donation/donation.h"
#include "tasks/process/call.h"
#include "tasks/process/group.h"
#include "tasks/process/process.h"
#include "tasks/remote/operation.h"
#include "tasks/remote/watch.h"
#include "tasks/role/adopted.h"
#include "tasks/sched/cpu_mask.h"
#include "tasks/sched/due.h"
#include "tasks/sched/fair/fair.h"
#include "tasks/sched/policy.h"
#include "tasks/sched/sched.h"
#include "tasks/signal/signal.h"

#define PAUSE 100000u /* ns until the search for a thread that was not found is repeated */

/* The kernel to which a thread has to move because its affinity MASK has no CPU of this kernel; -1: it may stay;
 * -EINVAL: the mask has no CPU of a running kernel. */
static int64_t wanted_kernel(const uint64_t mask[CPUS_MAX / 64])
{
    return cpu_mask_allows(mask, instance.kernel) ? -1 : cpu_mask_nearest(mask);
}

static int64_t send_signal(struct thread *thread, const struct msg_thread_call *call, struct msg_thread_result *result)
{
    (void)result;
    if (call->info.signal > SIGNALS)
        return -EINVAL;
    if (call->group != 0 && call->group != thread->group->id)
        return -ESRCH;
    return call->info.signal == 0 || call->info.signal == SIGKILL ? 0 : signal_send_thread_locked(thread, &call->info);
}

static int64_t get_affinity(struct thread *thread, const struct msg_thread_call *call, struct msg_thread_result *result)
{
    (void)call;
    memcpy(result->mask, thread->context.affinity, sizeof(result->mask));
    return 0;
}

static int64_t set_affinity(struct thread *thread, const struct msg_thread_call *call, struct msg_thread_result *result)
{
    uint64_t mask[CPUS_MAX / 64];
    int64_t kernel;

    result->events = watch_events(&thread->group->moves);
    if (!policy_same_owner(thread, call->affinity.user))
        return -EPERM;
    cpu_mask_known(mask, call->affinity.mask);
    kernel = wanted_kernel(mask);
    if (kernel == -EINVAL)
        return -EINVAL;
    /* Only now: other CPUs place the thread by its mask at any time, and nobody would correct after a refusal what they
     * have done by a mask that does not hold. */
    memcpy(thread->context.affinity, mask, sizeof(mask));
    thread->context.chosen = 0;
    if (kernel < 0) {
        thread_clear_due(thread, THREAD_DUE_MOVE); /* ordered because of the previous mask */
        group_made_moves_locked(thread, instance.kernel);
        sched_affinity_changed(thread);
        return 0;
    }
    if (thread->group->pinned != NULL)
        return 0; /* it cannot move before it has memory of its own */
    thread_order_move_locked(thread, (uint32_t)kernel);
    group_made_moves_locked(thread, (uint32_t)kernel);
    return 1;
}

static int64_t is_settled(struct thread *thread, const struct msg_thread_call *call, struct msg_thread_result *result)
{
    (void)call;
    result->events = watch_events(&thread->group->moves);
    return (thread->due & THREAD_DUE_MOVE) != 0 && !thread->quiesced && !thread->in_vfork ? 1 : 0;
}

static int64_t set_nice(struct thread *thread, const struct msg_thread_call *call, struct msg_thread_result *result)
{
    int32_t nice = call->nice.nice;

    (void)result;
    if (nice < FAIR_NICE_MIN || nice > FAIR_NICE_MAX)
        return -EINVAL;
    if (!policy_same_owner(thread, call->nice.user))
        return -EPERM;
    if (call->nice.user != 0 && nice < thread->context.nice && !policy_may_nice(nice, call->nice.limit))
        return -EACCES;
    thread->context.nice = (int16_t)nice;
    pi_share_changed_locked(thread);
    return 0;
}

static int64_t set_policy(struct thread *thread, const struct msg_thread_call *call, struct msg_thread_result *result)
{
    int64_t error = policy_set_locked(thread, &call->policy);

    (void)result;
    if (error == 0)
        pi_share_changed_locked(thread);
    return error;
}

static int64_t get_policy(struct thread *thread, const struct msg_thread_call *call, struct msg_thread_result *result)
{
    (void)call;
    policy_get_locked(thread, &result->policy);
    return 0;
}

static int64_t get_group(struct thread *thread, const struct msg_thread_call *call, struct msg_thread_result *result)
{
    (void)call;
    (void)result;
    return thread->group->id;
}

static int64_t get_robust_list(struct thread *thread, const struct msg_thread_call *call,
                               struct msg_thread_result *result)
{
    (void)call;
    result->robust_list = thread->context.robust_list;
    return 0;
}

static int64_t donate(struct thread *thread, const struct msg_thread_call *call, struct msg_thread_result *result)
{
    return pi_donate_locked(thread, &call->update, &result->link);
}

/* Returns the group that it is in, or was in. */
static int64_t numa_group(struct thread *thread, const struct msg_thread_call *call, struct msg_thread_result *result)
{
    uint32_t had = thread->context.numa_group;

    (void)result;
    if (call->numa.group == NUMA_GROUP_ASK)
        return had;
    if (call->numa.group >= NUMA_GROUPS)
        return -EINVAL;
    if (!policy_same_owner(thread, call->numa.user))
        return -EPERM;
    thread->context.numa_group = call->numa.group;
    return had;
}

#define FIRST MSG_THREAD_SIGNAL
#define OPERATIONS (MSG_THREAD_NUMA_GROUP + 1 - FIRST)

#define ROW(name) [MSG_THREAD_##name % FIRST] /* distinct indexes, because all types are below twice the first one */

/* The operations by type, on a thread that is present here. Its group's lock is held. */
static int64_t (*const operations[OPERATIONS])(struct thread *thread, const struct msg_thread_call *call,
                                               struct msg_thread_result *result) = {
    ROW(SIGNAL) = send_signal,    ROW(GET_AFFINITY) = get_affinity, ROW(SET_AFFINITY) = set_affinity,
    ROW(SETTLED) = is_settled,    ROW(SET_NICE) = set_nice,         ROW(SET_POLICY) = set_policy,
    ROW(GET_POLICY) = get_policy, ROW(GROUP) = get_group,           ROW(ROBUST_LIST) = get_robust_list,
    ROW(DONATE) = donate,         ROW(NUMA_GROUP) = numa_group,
};

static int64_t operate_here(const struct msg_thread_call *call, struct msg_thread_result *result)
{
    struct thread *thread = thread_lock(call->thread);
    struct group *group;
    int64_t value;

    *result = (struct msg_thread_result){0};
    if (thread == NULL) {
        if (adopted_find(call->thread, &result->kernel))
            return THREAD_ELSEWHERE;
        if (process_home(call->thread) == instance.kernel)
            return -ESRCH;
        result->kernel = process_home(call->thread); /* not arrived yet, or ended: start again */
        return THREAD_ELSEWHERE;
    }
    group = thread->group;
    group_get(group);
    result->group = group->id;
    if (thread->presence == THREAD_PRESENT && !thread_dying(thread)) {
        value = operations[call->type - FIRST](thread, call, result);
    } else if (thread_dying(thread)) { /* treated as ended, also when exec preserves its process */
        bool kills = call->type == MSG_THREAD_SIGNAL && call->info.signal == SIGKILL;

        value = call->type == MSG_THREAD_DONATE                           ? -EAGAIN
                : kills && (call->group == 0 || call->group == group->id) ? 0
                                                                          : -ESRCH;
    } else {
        result->kernel = thread->disposition == DISPOSITION_NONE ? thread->went_to : instance.kernel;
        value = THREAD_ELSEWHERE;
    }
    thread_unlock(thread);
    if (call->type == MSG_THREAD_SET_AFFINITY && value == 0)
        watch_event(&group->moves); /* wakes threads that wait for a move that was withdrawn */
    group_put(group);
    return value;
}

static int operate(const struct remote_request *request, void *out)
{
    const struct msg_thread_call *call = request->data;
    struct msg_thread_result *result = out;

    if (call->type != request->type)
        return -EPROTO;
    result->value = operate_here(call, result);
    return sizeof(*result);
}

/* Follows the shadows until the thread is found, and performs CALL there. */
static int64_t follow(const struct msg_thread_call *call, struct msg_thread_result *result, uint32_t *kernel)
{
    struct wait_reason reason = {.what = "a thread that moves", .kernel = -1, .key = call->thread};
    enum wait_end end = call->type == MSG_THREAD_DONATE ? WAIT_FIRM : WAIT_KILLABLE;
    uint32_t at = instance.kernel; /* threads of the same process are often near */
    uint32_t steps = 0;

    if (process_home(call->thread) >= instance.kernels)
        return -ESRCH;
    for (;;) {
        if (at == instance.kernel)
            result->value = operate_here(call, result);
        else if (remote_ask_sure(at, (enum msg_type)call->type, call, sizeof(*call), result, sizeof(*result),
                                 "answer about a thread", call->thread) < 0)
            return -ESRCH;
        if (result->value != THREAD_ELSEWHERE) {
            if (kernel != NULL)
                *kernel = at;
            return result->value;
        }
        at = result->kernel < instance.kernels ? result->kernel : process_home(call->thread);
        if (++steps % (instance.kernels + 1) == 0) /* it moves as fast as it is followed, or is not started yet */
            sched_block(NULL, &reason, end, clock_now() + PAUSE);
        if (wait_ops.ended(end))
            return -ESRCH;
    }
}

/* Init has no threads, but is a process of root's to those who ask about it: an ordinary one, on all CPUs, which
 * accepts what root wants and does nothing. */
static int64_t operate_init(const struct msg_thread_call *call, struct msg_thread_result *result)
{
    *result = (struct msg_thread_result){.group = PROCESS_INIT};
    switch (call->type) {
    case MSG_THREAD_GROUP:
        return PROCESS_INIT;
    case MSG_THREAD_SIGNAL:
        return call->group != 0 && call->group != PROCESS_INIT ? -ESRCH : 0;
    case MSG_THREAD_GET_POLICY:
        result->policy.slice = FAIR_SLICE;
        return 0;
    case MSG_THREAD_SET_POLICY:
        return call->policy.user == 0 ? 0 : -EPERM;
    case MSG_THREAD_SET_NICE:
        return call->nice.user == 0 ? 0 : -EPERM;
    case MSG_THREAD_NUMA_GROUP:
        return call->numa.group == NUMA_GROUP_ASK || call->numa.user == 0 ? 0 : -EPERM;
    case MSG_THREAD_SET_AFFINITY:
        return call->affinity.user == 0 ? 0 : -EPERM;
    case MSG_THREAD_GET_AFFINITY:
        cpu_mask_all(result->mask);
        return 0;
    case MSG_THREAD_ROBUST_LIST:
    case MSG_THREAD_SETTLED:
        return 0;
    default:
        return -ESRCH;
    }
}

int64_t thread_call(const struct msg_thread_call *call, struct msg_thread_result *result, uint32_t *kernel)
{
    int64_t value;

    if (call->thread == PROCESS_INIT)
        return operate_init(call, result);
    value = follow(call, result, kernel);
    if (value == 0 && call->type == MSG_THREAD_SIGNAL)
        signal_sent_thread(result->group, call->info.signal);
    return value;
}

int64_t thread_wait_settled(uint32_t tid)
{
    struct msg_thread_call call = {.thread = tid, .type = MSG_THREAD_SETTLED};
    struct msg_thread_result result;
    uint32_t kernel;

    for (;;) {
        int error;

        if (thread_call(&call, &result, &kernel) != 1)
            return 0;
        error = watch_wait_at(kernel, WATCH_THREAD, result.group, result.events, "move of a thread", 0);
        if (error != 0)
            return error;
    }
}

void locate_init(void)
{
    for (uint32_t i = 0; i < OPERATIONS; i++)
        remote_serve((enum msg_type)(FIRST + i), operate, NULL, sizeof(struct msg_thread_call),
                     sizeof(struct msg_thread_result));
}
