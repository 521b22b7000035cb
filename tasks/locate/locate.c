/* Operations on a thread wherever it is. See the header. */
#include "tasks/locate/locate.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "msg/call.h"
#include "msg/channel.h"
#include "tasks/futex/loan/loan.h"
#include "tasks/process/call.h"
#include "tasks/process/process.h"
#include "tasks/remote/watch.h"
#include "tasks/role/adopted.h"
#include "tasks/sched/cpu_mask.h"
#include "tasks/sched/due.h"
#include "tasks/sched/policy.h"
#include "tasks/sched/sched.h"
#include "tasks/signal/signal.h"

#define PAUSE 100000u /* ns until a thread is looked for again that was nowhere */

/* Where THREAD may go on when its affinity has no CPU of this kernel: -1 when it may stay, else a kernel; -EINVAL: none
 * that runs. */
static int64_t wanted_kernel(const struct thread *thread)
{
    return cpu_mask_allows(thread->context.affinity, instance.kernel) ? -1 : cpu_mask_nearest(thread->context.affinity);
}

static int64_t set_affinity_locked(struct thread *thread, const uint64_t words[CPUS_MAX / 64])
{
    uint64_t old[CPUS_MAX / 64];
    int64_t kernel;

    memcpy(old, thread->context.affinity, sizeof(old));
    cpu_mask_known(thread->context.affinity, words);
    kernel = wanted_kernel(thread);
    if (kernel == -EINVAL) {
        memcpy(thread->context.affinity, old, sizeof(old));
        return -EINVAL;
    }
    if (kernel < 0) {
        thread_clear_due(thread, THREAD_DUE_MOVE); /* of a mask before */
        sched_affinity_changed(thread);
        return 0;
    }
    if (thread->group->host != NULL)
        return 0; /* once it has its own memory */
    thread_order_move_locked(thread, (uint32_t)kernel);
    return 1;
}

/* THREAD is present here and its group's lock is held. */
static int64_t operate_locked(struct thread *thread, const struct msg_thread_call *call,
                              struct msg_thread_result *result)
{
    struct policy_wish wish;
    struct policy_facts facts;
    int64_t error;

    switch (call->operation) {
    case THREAD_SIGNAL:
        if (call->info.signal > SIGNALS)
            return -EINVAL;
        if (call->group != 0 && call->group != thread->group->id)
            return -ESRCH;
        return call->info.signal == 0 || call->info.signal == SIGKILL ? 0
                                                                      : signal_send_thread_locked(thread, &call->info);
    case THREAD_GET_AFFINITY:
        memcpy(result->words, thread->context.affinity, sizeof(result->words));
        return 0;
    case THREAD_SET_AFFINITY:
        result->words[0] = watch_events(&thread->group->moves);
        if (!policy_same_owner(thread, (uint32_t)call->words[CPUS_MAX / 64]))
            return -EPERM;
        return set_affinity_locked(thread, call->words);
    case THREAD_SETTLED:
        result->words[0] = watch_events(&thread->group->moves);
        return (thread->due & THREAD_DUE_MOVE) != 0 && !thread->stands ? 1 : 0;
    case THREAD_SET_POLICY:
        memcpy(&wish, call->words, sizeof(wish));
        error = policy_set_locked(thread, &wish);
        if (error == 0)
            pi_share_changed_locked(thread);
        return error;
    case THREAD_GET_POLICY:
        policy_get_locked(thread, &facts);
        memcpy(result->words, &facts, sizeof(facts));
        return 0;
    case THREAD_SET_NICE:
        if (call->words[0] > 39)
            return -EINVAL;
        if (!policy_same_owner(thread, (uint32_t)call->words[1]))
            return -EPERM;
        if (call->words[1] != 0 && (int)call->words[0] - 20 < thread->context.nice &&
            !policy_may_nice((int)call->words[0] - 20, call->words[2]))
            return -EACCES;
        thread->context.nice = (int16_t)((int)call->words[0] - 20);
        pi_share_changed_locked(thread);
        return 0;
    case THREAD_GROUP:
        return thread->group->id;
    case THREAD_ROBUST_LIST:
        result->words[0] = thread->context.robust_list;
        return 0;
    case THREAD_LEND:
        return pi_lend_locked(thread, (const struct pi_lending *)call->words, (struct pi_link *)result->words);
    default:
        return -EPROTO;
    }
}

/* What is done once the lock is free. */
static void operated(struct group *group, const struct msg_thread_call *call, int64_t value)
{
    if (value != 0)
        return;
    if (call->operation == THREAD_SIGNAL)
        signal_sent_thread(group, call->info.signal);
    if (call->operation == THREAD_SET_AFFINITY)
        watch_event(&group->moves); /* whoever waits for a move that is off looks again */
}

static int64_t operate_here(const struct msg_thread_call *call, struct msg_thread_result *result)
{
    struct thread *thread = thread_lock(call->thread);
    struct group *group;
    bool done = false;
    int64_t value;

    if (thread == NULL) {
        if (adopted_find(call->thread, &result->kernel))
            return THREAD_ELSEWHERE;
        if (process_home(call->thread) == instance.kernel)
            return -ESRCH;
        result->kernel = process_home(call->thread); /* it has not come, or is over: begin again */
        return THREAD_ELSEWHERE;
    }
    group = thread->group;
    group_get(group);
    result->group = group->id;
    if (thread->presence == THREAD_PRESENT && !thread_dying(thread)) {
        value = operate_locked(thread, call, result);
        done = true;
    } else if (thread_dying(thread)) { /* of its process another may go on (exec), but not for long */
        done = call->operation == THREAD_SIGNAL && call->info.signal == SIGKILL &&
               (call->group == 0 || call->group == group->id);
        value = done ? 0 : call->operation == THREAD_LEND ? -EAGAIN : -ESRCH;
    } else {
        result->kernel = thread->disposition == DISPOSITION_NONE ? thread->went_to : instance.kernel;
        value = THREAD_ELSEWHERE;
    }
    thread_unlock(thread);
    if (done)
        operated(group, call, value);
    group_put(group);
    return value;
}

static void handle_call(const struct msg *m)
{
    struct msg_thread_result result;

    memset(&result, 0, sizeof(result));
    result.value = operate_here(m->data, &result);
    msg_reply(&m->ticket, &result, sizeof(result));
}

int64_t thread_call(const struct msg_thread_call *call, struct msg_thread_result *result, uint32_t *kernel)
{
    struct wait_reason reason = {.what = "a thread that moves", .kernel = -1, .key = call->thread};
    uint32_t at = instance.kernel; /* threads of one's own process are often near, and a shadow knows the way */
    uint32_t steps = 0;

    if (process_home(call->thread) >= instance.kernels)
        return -ESRCH;
    for (;;) {
        memset(result, 0, sizeof(*result));
        if (at == instance.kernel) {
            result->value = operate_here(call, result);
        } else if (msg_call(at, MSG_THREAD_CALL, call, sizeof(*call), result, sizeof(*result), "answer about a thread",
                            call->thread) != (int)sizeof(*result)) {
            return -ESRCH;
        }
        if (result->value != THREAD_ELSEWHERE) {
            if (kernel != NULL)
                *kernel = at;
            return result->value;
        }
        at = result->kernel < instance.kernels ? result->kernel : process_home(call->thread);
        if (++steps % (instance.kernels + 1) == 0) /* it moves as fast as we follow, or has yet to run here */
            sched_block(NULL, &reason, call->operation == THREAD_LEND ? WAIT_FIRM : WAIT_KILLABLE, clock_now() + PAUSE);
        if (call->operation != THREAD_LEND && wait_ops.ended(WAIT_KILLABLE))
            return -ESRCH;
    }
}

int64_t thread_wait_settled(uint32_t tid)
{
    struct msg_thread_call call = {.thread = tid, .operation = THREAD_SETTLED};
    struct msg_thread_result result;
    uint32_t kernel;

    for (;;) {
        int error;

        if (thread_call(&call, &result, &kernel) != 1)
            return 0;
        error = watch_wait_at(kernel, WATCH_THREAD, result.group, result.words[0], "move of a thread", 0);
        if (error != 0)
            return error;
    }
}

void locate_init(void)
{
    msg_register(MSG_THREAD_CALL, handle_call, sizeof(struct msg_thread_call), sizeof(struct msg_thread_result));
}
