/* Sending signals, and taking them from their queues. See the header and tasks/signal/signal.md. */
#include "tasks/signal/signal.h"

#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "tasks/kill/kill.h"
#include "tasks/process/call.h"
#include "tasks/process/process.h"
#include "tasks/process/stop.h"
#include "tasks/quota/quota.h"
#include "tasks/sched/due.h"
#include "tasks/sched/fair/fair.h"
#include "tasks/signal/action.h"
#include "tasks/signal/action_cache.h"
#include "tasks/signal/hint.h"

enum signal_default signal_default(uint32_t signal)
{
    if (signal == SIGCONT)
        return SIGNAL_CONTINUES;
    if ((SIGNAL_BIT(signal) & SIGNAL_STOPPING) != 0)
        return SIGNAL_STOPS;
    return signal == SIGCHLD || signal == SIGURG || signal == SIGWINCH ? SIGNAL_IGNORED : SIGNAL_TERMINATES;
}

static bool ignored_locked(const struct process *process, uint32_t signal)
{
    const struct signal_action *action = &process->actions[signal - 1];
    enum signal_default what = signal_default(signal);

    return action->handler == SIG_IGN ||
           (action->handler == SIG_DFL && (what == SIGNAL_IGNORED || what == SIGNAL_CONTINUES));
}

/* Whether THREAD, on this kernel, takes signals of BIT by itself: it does not block them, or awaits them. */
static bool wants(const struct thread *thread, uint64_t bit)
{
    return thread->presence == THREAD_PRESENT && ((bit & ~thread->context.signal_mask) | (bit & thread->awaited)) != 0;
}

static bool is_awake(const struct thread *thread)
{
    enum thread_state state = __atomic_load_n(&thread->state, __ATOMIC_RELAXED);

    return state == THREAD_READY || state == THREAD_RUNNING;
}

static bool is_running(const struct thread *thread)
{
    return __atomic_load_n(&thread->state, __ATOMIC_RELAXED) == THREAD_RUNNING;
}

/* A number that is greater for a thread that uses its CPU than for one that waits for it, perhaps for ever whatever its
 * priority, and than for one that sleeps. */
static int busyness(const struct thread *thread)
{
    int awake = is_running(thread) ? 10000 : 1000;

    return is_awake(thread) ? awake + fair_priority(thread->context.policy, thread->context.nice) : 0;
}

/* The first thread that takes signals of BIT; BUSY: the busiest of them. */
static struct thread *eligible_locked(struct group *group, uint64_t bit, bool busy)
{
    struct thread *best = NULL;

    list_for_each(node, &group->threads) { /* the process's first thread comes first as long as it lives */
        struct thread *thread = container_of(node, struct thread, group_node);

        if (!wants(thread, bit))
            continue;
        if (!busy)
            return thread;
        if (best == NULL || busyness(thread) > busyness(best))
            best = thread;
    }
    return best;
}

/* Does what a signal does when it is sent, whether it is blocked or not. True: the signal needs no more. */
static bool act_on_sending(struct group *group, uint32_t signal)
{
    if (signal == SIGKILL) {
        exit_group_other(group, EXIT_SIGNAL(SIGKILL));
        return true;
    }
    if (signal == SIGCONT)
        stop_continue(group);
    return false;
}

/* Queues the signal of INFO for GROUP, and tells a thread here that would take it; of several, a BUSY one. Returns 1 if
 * the process ignores it. HINTED: the kernels whose threads have to be told, after the lock is released. */
static int send_locked(struct group *group, const struct signal_info *info, bool busy, kernel_set *hinted)
{
    struct process *process = group->process;
    uint64_t bit = SIGNAL_BIT(info->signal);
    struct thread *thread;
    int error;

    assert(process != NULL && info->signal >= 1 && info->signal <= SIGNALS);
    *hinted = 0;
    if (group->exiting)
        return 0;
    if ((bit & SIGNAL_STOPPING) != 0)
        signal_queue_remove(&process->signals, SIGNAL_BIT(SIGCONT));
    thread = eligible_locked(group, bit, busy);
    if (ignored_locked(process, info->signal) && thread != NULL && (thread->awaited & bit) == 0)
        return 1; /* the thread would take it and do nothing */
    error = signal_queue_add(&process->signals, info, process->credentials.uid, process->limits[LIMIT_SIGPENDING].soft);
    group->signal_hint |= process->signals.pending;
    if (error == 0 && thread != NULL)
        thread_set_due(thread, THREAD_DUE_SIGNAL);
    /* Where a thread here sleeps, or waits for its CPU, one elsewhere that runs may be first. */
    if (error == 0 && (thread == NULL || (busy && !is_running(thread))))
        *hinted = group_members_locked(group);
    return error;
}

/* As signal_send_group, but returns 1 if the process ignores the signal. BUSY: of the threads that would take it, a
 * busy one of any kernel is asked. The kernels TELLS get no hint: their threads have to be told of *HINT. */
static int send_group(struct group *group, const struct signal_info *info, bool busy, kernel_set tells, uint64_t *hint)
{
    uint64_t bit = SIGNAL_BIT(info->signal);
    kernel_set hinted;
    int error;

    if (act_on_sending(group, info->signal))
        return 0;
    spin_lock(&group->lock);
    error = send_locked(group, info, busy, &hinted);
    spin_unlock(&group->lock);
    if (hinted != 0) {
        hint_members(group, hinted & ~tells, bit, busy);
        *hint = (hinted & tells) != 0 ? bit : 0;
    }
    return error;
}

int signal_send_group_locked(struct group *group, const struct signal_info *info, kernel_set *hinted)
{
    int error = send_locked(group, info, false, hinted);

    return error > 0 ? 0 : error;
}

int signal_send_group_for(struct group *group, const struct signal_info *info, kernel_set tells, uint64_t *hint)
{
    int error = send_group(group, info, false, tells & ~(1ull << instance.kernel), hint);

    return error > 0 ? 0 : error;
}

int signal_send_group(struct group *group, const struct signal_info *info)
{
    uint64_t nobody;

    return signal_send_group_for(group, info, 0, &nobody);
}

int64_t signal_send_process(uint32_t id, const struct signal_info *info)
{
    struct msg_process_call call = {.id = id, .type = MSG_PROCESS_SIGNAL, .info = *info, .tells = 1 + instance.kernel};
    struct msg_process_result result;
    int64_t error = process_call(&call, &result);
    struct group *group = error == 0 && result.hint != 0 ? group_find(id) : NULL;

    if (group != NULL) { /* NULL: no thread of it is here any more */
        signal_hint(group, result.hint, false);
        group_put(group);
    }
    return error;
}

int signal_send_timer(struct group *group, const struct signal_info *info, bool busy)
{
    uint64_t nobody;

    return send_group(group, info, busy, 0, &nobody);
}

int signal_send_thread_locked(struct thread *thread, const struct signal_info *info)
{
    const struct process *process = thread->group->process; /* NULL away from the home, where its limit is not known */
    int error = signal_queue_add(&thread->signals, info, thread->context.credentials.uid,
                                 process != NULL ? process->limits[LIMIT_SIGPENDING].soft : quota_limit(QUOTA_SIGNALS));

    if (error == 0 && wants(thread, SIGNAL_BIT(info->signal)))
        thread_set_due(thread, THREAD_DUE_SIGNAL);
    return error;
}

void signal_sent_thread(uint32_t group, uint32_t signal)
{
    struct msg_process_call call = {.id = group, .type = MSG_PROCESS_CONTINUE};
    struct msg_process_result result;

    if (signal == SIGKILL) {
        call.type = MSG_PROCESS_SIGNAL;
        call.info = (struct signal_info){.signal = SIGKILL};
    }
    if (signal == SIGKILL || signal == SIGCONT)
        process_call_surely(&call, &result);
}

void signal_hint(struct group *group, uint64_t signals, bool busy)
{
    struct thread *thread;

    spin_lock(&group->lock);
    group->signal_hint |= signals;
    for (uint64_t rest = signals; rest != 0; rest &= rest - 1) {
        thread = eligible_locked(group, rest & -rest, busy);
        if (thread != NULL)
            thread_set_due(thread, THREAD_DUE_SIGNAL);
    }
    spin_unlock(&group->lock);
}

void signal_retarget(struct group *group, uint64_t signals)
{
    struct msg_process_call call = {.id = group->id, .type = MSG_PROCESS_RETARGET};
    struct msg_process_result result;
    kernel_set members;

    spin_lock(&group->lock);
    signals &= group->signal_hint;
    for (uint64_t rest = signals; rest != 0; rest &= rest - 1) {
        uint64_t bit = rest & -rest;
        struct thread *thread = eligible_locked(group, bit, false);

        if (thread != NULL) {
            thread_set_due(thread, THREAD_DUE_SIGNAL);
            signals &= ~bit;
        }
    }
    members = group_members_locked(group);
    spin_unlock(&group->lock);
    if (signals == 0)
        return;
    call.signals = signals;
    if (group->process != NULL)
        hint_members(group, members, signals, false);
    else
        process_call_surely(&call, &result);
}

void signal_forget(struct group *group, uint64_t signals)
{
    spin_lock(&group->lock);
    list_for_each(node, &group->threads)
        signal_queue_remove(&container_of(node, struct thread, group_node)->signals, signals);
    spin_unlock(&group->lock);
}

static void look_locked(struct thread *thread)
{
    if (((thread->signals.pending | thread->group->signal_hint) & (~thread->context.signal_mask | thread->awaited)) !=
        0)
        __atomic_fetch_or(&thread->due, THREAD_DUE_SIGNAL, __ATOMIC_SEQ_CST);
}

void signal_mask_changed(struct thread *thread)
{
    struct group *group = thread->group;

    spin_lock(&group->lock);
    look_locked(thread);
    spin_unlock(&group->lock);
}

/* The mask changes under the lock, so a sender on another CPU either sees the new mask or has already set the hint that
 * is checked here. */
void signal_set_mask(struct thread *thread, uint64_t mask)
{
    struct group *group = thread->group;
    uint64_t blocked;

    spin_lock(&group->lock);
    blocked = mask & ~thread->context.signal_mask & group->signal_hint;
    thread->context.signal_mask = mask;
    look_locked(thread);
    spin_unlock(&group->lock);
    if (blocked != 0)
        signal_retarget(group, blocked);
}

/* Rearms the timer whose signal the current thread has taken, and fills in how often it expired meanwhile. */
static void timer_taken(struct group *group, struct signal_info *info)
{
    struct msg_process_call call = {
        .id = group->id, .type = MSG_PROCESS_TIMER_TAKEN, .timer = {.sequence = info->extra, .id = (int32_t)info->pid}};
    struct msg_process_result result;
    int64_t overrun = info->extra != 0 ? process_call_surely(&call, &result) : -1;

    if (overrun >= 0)
        info->uid = (uint32_t)overrun;
}

/* Takes a signal of SET from the home of GROUP; *HINT: the signals that are pending there afterwards. ACTION may be
 * NULL. */
static enum signal_taking take_at_home(struct group *group, uint64_t set, struct signal_info *info,
                                       struct signal_action *action, uint64_t *hint)
{
    struct msg_process_call call = {.id = group->id, .type = MSG_PROCESS_TAKE_SIGNAL, .signals = set};
    struct msg_process_result result;
    bool taken;

    if (action != NULL && group->process == NULL && !action_cache_knows(group, *hint & set))
        return signal_take_acting(group, set, info, action, hint);
    taken = (group->process != NULL ? process_take_signal(group, &call, &result)
                                    : process_call_surely(&call, &result)) == 1;
    *hint = result.hint;
    if (taken)
        *info = result.info;
    return taken ? SIGNAL_TAKEN : SIGNAL_NONE;
}

enum signal_taking signal_take_to_act(struct thread *thread, uint64_t set, struct signal_info *info,
                                      struct signal_action *action)
{
    struct group *group = thread->group;
    enum signal_taking taking;
    bool taken;
    uint64_t hint;

    spin_lock(&group->lock);
    taken = signal_queue_take(&thread->signals, set, info);
    hint = group->signal_hint;
    spin_unlock(&group->lock);
    if (taken && info->code == SI_TIMER)
        timer_taken(group, info);
    if (taken || (hint & set) == 0)
        return taken ? SIGNAL_TAKEN : SIGNAL_NONE;
    /* The hint is cleared before the home is asked: the reply includes every signal that is queued when the home looks,
     * and a signal queued later sets the hint again, whether its GROUP_HINT comes before or after the reply. */
    spin_lock(&group->lock);
    group->signal_hint &= ~set;
    spin_unlock(&group->lock);
    taking = take_at_home(group, set, info, action, &hint);
    spin_lock(&group->lock);
    group->signal_hint |= hint;
    spin_unlock(&group->lock);
    return taking;
}

bool signal_take(struct thread *thread, uint64_t set, struct signal_info *info)
{
    return signal_take_to_act(thread, set, info, NULL) != SIGNAL_NONE;
}

uint64_t signal_pending(struct thread *thread)
{
    struct msg_process_call call = {.id = thread->group->id, .type = MSG_PROCESS_PENDING};
    struct msg_process_result result;
    uint64_t pending;

    spin_lock(&thread->group->lock);
    pending = thread->signals.pending;
    spin_unlock(&thread->group->lock);
    return process_call(&call, &result) == 0 ? pending | result.hint : pending;
}

void signal_log_death(const struct thread *thread, const struct signal_info *info)
{
    const struct trap_frame *frame = thread_frame(thread);

    log_line("tasks: thread %u:%u %s dies of signal %u (code %d, rip %lx, address %lx)",
             thread->tid >> TID_KERNEL_SHIFT, thread->tid & 0xffff, thread->context.name, info->signal, info->code,
             (unsigned long)frame->rip, (unsigned long)info->value);
}

void signal_force(const struct signal_info *info)
{
    struct thread *thread = thread_current();
    struct group *group = thread->group;
    bool blocked = (thread->context.signal_mask & SIGNAL_BIT(info->signal)) != 0;

    spin_lock(&group->lock);
    signal_queue_remove(&thread->signals, SIGNAL_BIT(info->signal)); /* a sent one must not hide what has happened */
    if (!blocked && signal_queue_add(&thread->signals, info, 0, LIMIT_NONE) != 0)
        blocked = true; /* there is no room to queue it, so the program dies of it */
    __atomic_fetch_or(&thread->due, THREAD_DUE_SIGNAL, __ATOMIC_SEQ_CST);
    spin_unlock(&group->lock);
    if (blocked) {
        signal_log_death(thread, info);
        exit_group(EXIT_SIGNAL(info->signal));
    }
}

void signal_init(void)
{
    signal_action_init();
    hint_init();
}
