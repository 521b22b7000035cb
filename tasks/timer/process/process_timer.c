/* Timers of a process. See the header and tasks/timer/process/timers.md.
 *
 * A timer is freed with its last use. The list of timers is one use; the armed state and the work under way are one
 * each, which also own a reference to the group. */
#include "tasks/timer/process/process_timer.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "tasks/account/usage.h"
#include "tasks/locate/locate.h"
#include "tasks/process/call.h"
#include "tasks/process/process.h"
#include "tasks/quota/quota.h"
#include "tasks/remote/work.h"
#include "tasks/sched/policy.h"
#include "tasks/signal/action.h"
#include "tasks/signal/signal.h"
#include "tasks/timer/process/alarm.h"

#define LOOK_LEAST 4000000u    /* ns between two readings of a clock of CPU time that advances */
#define LOOK_MOST 64000000u    /* the same at most for one that does not advance */
#define IGNORED_LEAST 4000000u /* least ns between expirations whose signal is ignored, as Linux's tick */
#define SECOND 1000000000ull
#define OVERRUN_MAX INT32_MAX

struct process_timer {
    struct list node; /* [g] in process->timers */
    struct timer timer;
    struct work work;
    struct group *group;     /* [i] */
    struct timer_facts is;   /* [i] */
    int32_t id;              /* [i] */
    uint32_t target;         /* [i] with TIMER_THREAD: thread that gets the signal */
    uint32_t measured;       /* [i] with TIMER_CPU_THREAD: thread whose CPU time counts */
    uint64_t value;          /* [i] value that the signal carries */
    uint32_t user;           /* [i] whose quota it counts in */
    bool counted;            /* [i] it does */
    uint32_t uses;           /* [g] */
    bool deleted;            /* [g] */
    bool working;            /* [g] its work item is submitted or running */
    bool pending;            /* [g] a signal was sent and is not taken yet */
    uint64_t at;             /* [g] expiration, ns of its clock; 0: off */
    uint64_t interval;       /* [g] ns; 0: it expires once */
    uint64_t sequence;       /* [g] number of the setting, from 1: signals of earlier settings do not count */
    uint64_t overrun;        /* [g] expirations since the pending signal was sent */
    uint64_t last_overrun;   /* [g] overrun of the signal that was taken last */
    uint64_t used, patience; /* [g] last reading of a clock of CPU time; ns to the next one */
};

static bool is_interval_timer(const struct process_timer *timer)
{
    return timer->id < 0;
}

/* Arms TIMER for AT (clock_now ns). An armed timer has a use and a reference to the group. */
static void arm_locked(struct process_timer *timer, uint64_t at)
{
    if (timer_arm(&timer->timer, at != 0 ? at : 1))
        return;
    timer->uses++;
    group_get(timer->group);
}

/* Arms TIMER, which is not armed, if it has a time to wait for. Nothing waits for a timer without a signal; the taker
 * of a pending signal (taken_locked) and the end of its work (run_timer) arm a timer themselves. */
static void start_locked(struct process_timer *timer)
{
    bool wall = timer->is.kind == TIMER_WALL;

    if (timer->at != 0 && timer->is.notify != TIMER_NONE && !(wall ? timer->pending : timer->working))
        arm_locked(timer, wall ? timer->at : clock_now());
}

static void free_timer(struct process_timer *timer)
{
    if (timer->counted)
        quota_give(QUOTA_SIGNALS, timer->user, 1);
    heap_free(timer, sizeof(*timer));
}

/* Counts TIMER, if a program made it, as a queued signal of its user's, as Linux does: 0; -EAGAIN: the user has LIMIT
 * of them; -ENOMEM. */
static int count_timer(struct process_timer *timer, const struct process *process, uint64_t limit)
{
    int error;

    timer->user = process->credentials.uid;
    if (is_interval_timer(timer))
        return 0;
    error = quota_take(QUOTA_SIGNALS, timer->user, 1, limit, -EAGAIN);
    timer->counted = error == 0;
    return error;
}

/* Drops a use of TIMER. If the use had a reference to the group, the caller releases it after the lock. */
static void drop_locked(struct process_timer *timer)
{
    if (--timer->uses == 0)
        free_timer(timer);
}

/* True: the timer was armed, and the caller has to release a reference to the group after the lock. */
static bool disarm_locked(struct process_timer *timer)
{
    bool was = timer_disarm(&timer->timer);

    if (was)
        drop_locked(timer);
    return was;
}

static struct process_timer *find_locked(const struct group *group, int32_t id)
{
    list_for_each(node, &group->process->timers) {
        struct process_timer *timer = container_of(node, struct process_timer, node);

        if (timer->id == id)
            return timer;
    }
    return NULL;
}

/* Advances timer->at beyond NOW by whole intervals. Returns the number of intervals. */
static uint64_t forward_locked(struct process_timer *timer, uint64_t now)
{
    uint64_t count = now >= timer->at ? (now - timer->at) / timer->interval + 1 : 0;

    timer->at += count * timer->interval;
    return count;
}

/* --- expiring --- */

/* 0: the signal is queued; 1: it is ignored; negative: there is no room, or no such thread. */
static int64_t send_signal(const struct process_timer *timer, const struct signal_info *info)
{
    struct msg_thread_call call = {.thread = timer->target, .type = MSG_THREAD_SIGNAL};
    struct msg_thread_result result;

    if (timer->is.notify != TIMER_THREAD)
        return signal_send_timer(timer->group, info, timer->is.kind != TIMER_WALL);
    call.info = *info;
    call.group = timer->group->id;
    return thread_call(&call, &result, NULL);
}

/* TIMER has expired at NOW of its clock: updates it and fills in its signal INFO. True: the signal is to be sent
 * now. */
static bool expire_locked(struct process_timer *timer, uint64_t now, struct signal_info *info)
{
    bool repeats = timer->is.kind != TIMER_WALL || is_interval_timer(timer); /* it goes on before its signal is taken */
    bool sends = !timer->pending;
    uint64_t count = 1;

    *info = (struct signal_info){.signal = timer->is.signal, .code = SI_KERNEL};
    if (!is_interval_timer(timer))
        *info = (struct signal_info){.signal = timer->is.signal,
                                     .code = SI_TIMER,
                                     .pid = (uint32_t)timer->id,
                                     .value = timer->value,
                                     .extra = timer->sequence};
    if (timer->id == TIMER_LIMIT && now / SECOND >= timer->group->process->limits[LIMIT_CPU].hard)
        info->signal = SIGKILL;
    if (timer->interval == 0)
        timer->at = 0;
    else if (repeats)
        count = forward_locked(timer, now);
    if (timer->pending)
        timer->overrun += count;
    else
        timer->overrun = count - 1;
    timer->pending = !is_interval_timer(timer);
    return sends;
}

/* The signal of TIMER was not queued: the timer goes on as if the signal had been taken. */
static void unsent_locked(struct process_timer *timer, uint64_t sequence, uint64_t now)
{
    if (timer->deleted || timer->sequence != sequence || !timer->pending)
        return;
    timer->pending = false;
    if (timer->is.kind != TIMER_WALL || timer->interval == 0)
        return;
    forward_locked(timer, now);
    arm_locked(timer, timer->at > now + IGNORED_LEAST ? timer->at : now + IGNORED_LEAST);
}

/* Performs the expiration of TIMER at NOW. The lock is held at the call and released. */
static void expire(struct process_timer *timer, uint64_t now)
{
    struct group *group = timer->group;
    struct signal_info info;
    bool sends = expire_locked(timer, now, &info);
    int64_t error = 0;

    spin_unlock(&group->lock);
    if (sends)
        error = send_signal(timer, &info);
    if (error == 0 || is_interval_timer(timer))
        return;
    spin_lock(&group->lock);
    unsent_locked(timer, info.extra, clock_now());
    spin_unlock(&group->lock);
}

static bool due_locked(const struct process_timer *timer, uint64_t now)
{
    return !timer->deleted && timer->at != 0 && !(timer->is.kind == TIMER_WALL && timer->pending) && now >= timer->at;
}

/* Reads the timer's clock. An errno: the thread or process whose CPU time it measures has ended. */
static int64_t measure(const struct process_timer *timer, uint64_t *now)
{
    struct msg_thread_call call = {.thread = timer->measured, .type = MSG_THREAD_GET_POLICY};
    struct msg_thread_result result;
    struct usage usage;
    int64_t error;

    if (timer->is.kind == TIMER_WALL) {
        *now = clock_now();
        return 0;
    }
    if (timer->is.kind == TIMER_CPU_THREAD) {
        error = thread_call(&call, &result, NULL);
        *now = result.policy.cpu_ns;
        return error;
    }
    error = usage_of(timer->group->id, &usage);
    *now = usage.user_ns + (timer->is.kind == TIMER_CPU_PROCESS ? usage.system_ns : 0);
    return error;
}

/* Arms TIMER for the next reading of its clock of CPU time, which is at NOW: at the earliest time at which it can
 * expire, if as many threads as possible run, but never sooner than `patience`, which doubles while the clock does not
 * advance. */
static void look_later_locked(struct process_timer *timer, uint64_t now)
{
    uint64_t runners = timer->is.kind == TIMER_CPU_THREAD ? 1 : timer->group->process->live;
    uint64_t left = timer->at > now ? timer->at - now : 0;

    if (runners > instance.plan.cpu_count)
        runners = instance.plan.cpu_count;
    timer->patience = now != timer->used || timer->patience == 0 ? LOOK_LEAST
                      : timer->patience < LOOK_MOST              ? timer->patience * 2
                                                                 : LOOK_MOST;
    timer->used = now;
    if (runners > 1)
        left /= runners;
    arm_locked(timer, clock_now() + (left > timer->patience ? left : timer->patience));
}

/* The work of TIMER. Runs in a task, with a use of the timer and a reference to the group. */
static void run_timer(struct work *work)
{
    struct process_timer *timer = container_of(work, struct process_timer, work);
    struct group *group = timer->group;
    uint64_t now = 0;
    int64_t error = measure(timer, &now);

    spin_lock(&group->lock);
    if (error != 0)
        timer->at = 0;
    if (due_locked(timer, now)) {
        expire(timer, now);
        spin_lock(&group->lock);
    }
    timer->working = false;
    if (timer->is.kind != TIMER_WALL && timer->at != 0 && !timer->deleted)
        look_later_locked(timer, now);
    else if (timer->at != 0 && !timer->deleted && !timer->pending && timer_at(&timer->timer) == 0)
        arm_locked(timer, timer->at); /* it was set meanwhile */
    drop_locked(timer);
    spin_unlock(&group->lock);
    group_put(group);
}

/* Called by the thread of all timers, with a use and a reference to the group. An expiration that may wait is handled
 * in a task of its own. */
static void fire(struct timer *at)
{
    struct process_timer *timer = container_of(at, struct process_timer, timer);
    struct group *group = timer->group;
    bool work, drop;

    spin_lock(&group->lock);
    work = timer->is.kind != TIMER_WALL || timer->is.notify == TIMER_THREAD;
    drop = !work || timer->working;
    if (!work && due_locked(timer, clock_now())) {
        expire(timer, clock_now());
        spin_lock(&group->lock);
    } else if (work && !timer->working) {
        timer->working = true;
        work_submit(&timer->work);
    }
    if (!work && timer->is.kind == TIMER_WALL && timer->at != 0 && !timer->pending && !timer->deleted &&
        timer_at(&timer->timer) == 0)
        arm_locked(timer, timer->at);
    if (drop)
        drop_locked(timer);
    spin_unlock(&group->lock);
    if (drop)
        group_put(group);
}

static void taken_locked(struct group *group, struct signal_info *info)
{
    struct process_timer *timer = find_locked(group, (int32_t)info->pid);
    uint64_t now = clock_now();

    if (timer == NULL || !timer->pending || info->extra != timer->sequence || info->extra == 0)
        return;
    timer->pending = false;
    if (timer->is.kind == TIMER_WALL && timer->interval != 0) {
        uint64_t count = forward_locked(timer, now);

        timer->overrun += count > 0 ? count - 1 : 0;
        arm_locked(timer, timer->at);
    }
    timer->last_overrun = timer->overrun < OVERRUN_MAX ? timer->overrun : OVERRUN_MAX;
    timer->overrun = 0;
    info->uid = (uint32_t)timer->last_overrun;
}

/* --- operations --- */

/* Adds TIMER, whose facts are filled in, to the timers of PROCESS. The list is its first use. */
static void append_locked(struct process *process, struct process_timer *timer)
{
    timer->group = process->group;
    timer->work.run = run_timer;
    timer->uses = 1;
    timer_init(&timer->timer, fire);
    list_append(&process->timers, &timer->node);
    process->timer_count++;
}

static int64_t create_locked(struct group *group, const struct msg_process_call *call, int32_t id,
                             struct process_timer *timer)
{
    struct process *process = group->process;
    int error;

    if (timer == NULL || process->timer_count >= TIMERS_MAX || group->exiting)
        return -EAGAIN;
    timer->id = id;
    error = count_timer(timer, process, process->limits[LIMIT_SIGPENDING].soft);
    if (error != 0)
        return error;
    timer->is = call->new_timer.is;
    timer->target = call->new_timer.target;
    timer->measured = call->new_timer.measured;
    timer->value = timer->is.names_itself != 0 ? (uint64_t)id : call->new_timer.value;
    append_locked(process, timer);
    return id;
}

int64_t process_timer_create(struct group *group, const struct msg_process_call *call,
                             struct msg_process_result *result)
{
    struct process_timer *timer = heap_alloc(sizeof(*timer));
    int32_t id;
    int64_t value;

    (void)result;
    spin_lock(&group->lock);
    do {
        id = (int32_t)(group->process->timer_next++ & INT32_MAX);
    } while (find_locked(group, id) != NULL);
    value = create_locked(group, call, id, timer);
    spin_unlock(&group->lock);
    if (value < 0)
        heap_free(timer, sizeof(*timer));
    return value;
}

/* Makes ITIMER_VIRTUAL, ITIMER_PROF or the CPU-time limit of GROUP if it does not exist yet. -EAGAIN: no memory, too
 * many timers, or the group is ending. */
static int64_t make_interval_timer(struct group *group, int32_t id)
{
    struct process_timer *timer = heap_alloc(sizeof(*timer));
    struct msg_process_call call = {.new_timer.is = {.kind = id == TIMER_VIRTUAL ? TIMER_CPU_USER : TIMER_CPU_PROCESS,
                                                     .signal = id == TIMER_VIRTUAL ? SIGVTALRM
                                                               : id == TIMER_PROF  ? SIGPROF
                                                                                   : SIGXCPU}};
    int64_t result = 0;

    spin_lock(&group->lock);
    if (find_locked(group, id) == NULL)
        result = create_locked(group, &call, id, timer);
    else
        result = -EEXIST;
    spin_unlock(&group->lock);
    if (result == -EEXIST || result == -EAGAIN)
        heap_free(timer, sizeof(*timer));
    return result == -EAGAIN ? result : 0;
}

static void notify_locked(const struct process_timer *timer, struct msg_process_result *result)
{
    result->timer_at = timer->at;
    result->timer_interval = timer->interval;
    result->timer_thread = timer->measured;
    result->timer_facts = timer->is;
}

static bool set_locked(struct process_timer *timer, uint64_t at, uint64_t interval)
{
    bool put = disarm_locked(timer);

    timer->sequence++;
    timer->pending = false;
    timer->overrun = 0;
    timer->last_overrun = 0;
    timer->patience = 0;
    timer->at = timer->group->exiting ? 0 : at;
    timer->interval = interval;
    start_locked(timer);
    return put;
}

/* Deletes TIMER, which is in the list. Returns as disarm_locked. */
static bool delete_locked(struct process_timer *timer)
{
    bool put = disarm_locked(timer);

    timer->deleted = true;
    timer->group->process->timer_count--;
    list_remove(&timer->node);
    drop_locked(timer);
    return put;
}

int64_t process_timer_operate(struct group *group, const struct msg_process_call *call,
                              struct msg_process_result *result)
{
    int32_t id = call->timer.id;
    struct process_timer *timer;
    int64_t value = 0;
    bool put = false;

    if (call->type == MSG_PROCESS_TIMER_SET && (id == TIMER_VIRTUAL || id == TIMER_PROF))
        value = make_interval_timer(group, id);
    if (value != 0)
        return value;
    spin_lock(&group->lock);
    timer = find_locked(group, id);
    if (timer == NULL) {
        value = -EINVAL;
    } else if (call->type == MSG_PROCESS_TIMER_SET) {
        notify_locked(timer, result);
        put = set_locked(timer, call->timer.at, call->timer.interval);
    } else if (call->type == MSG_PROCESS_TIMER_GET) {
        notify_locked(timer, result);
    } else if (call->type == MSG_PROCESS_TIMER_OVERRUN) {
        value = (int64_t)timer->last_overrun;
    } else if (call->type == MSG_PROCESS_TIMER_TAKEN) {
        struct signal_info info = {.pid = (uint32_t)id, .uid = UINT32_MAX, .extra = call->timer.sequence};

        taken_locked(group, &info);
        value = (int32_t)info.uid; /* -1: the signal is of an earlier setting */
    } else {
        put = delete_locked(timer);
    }
    spin_unlock(&group->lock);
    if (put)
        group_put(group);
    return value;
}

/* Sends SIGXCPU when GROUP, whose home this kernel is, has used SOFT s of CPU time, and each second from then on; from
 * HARD s on SIGKILL. UINT64_MAX: never. */
static void limit_time(struct group *group, uint64_t soft, uint64_t hard)
{
    struct process_timer *timer;
    uint64_t seconds = soft < hard ? soft : hard;
    bool put = false;

    if (seconds < INT64_MAX / SECOND)
        make_interval_timer(group, TIMER_LIMIT); /* without memory there is no limit */
    spin_lock(&group->lock);
    timer = find_locked(group, TIMER_LIMIT);
    if (timer != NULL) {
        put = set_locked(timer, seconds < INT64_MAX / SECOND ? (seconds != 0 ? seconds : 1) * SECOND : 0, SECOND);
    }
    spin_unlock(&group->lock);
    if (put)
        group_put(group);
}

void process_timers_end(struct group *group, bool all)
{
    uint32_t references = 0;

    spin_lock(&group->lock);
    list_for_each_safe(node, &group->process->timers) {
        struct process_timer *timer = container_of(node, struct process_timer, node);

        if ((all || !is_interval_timer(timer)) && delete_locked(timer))
            references++;
    }
    spin_unlock(&group->lock);
    while (references-- > 0)
        group_put(group);
}

/* --- moving with the process when its home stops --- */

void process_timers_each(const struct process *process, void (*note)(void *context, const struct timer_state *state),
                         void *context)
{
    list_for_each(node, &process->timers) {
        const struct process_timer *timer = container_of(node, const struct process_timer, node);
        struct timer_state state = {.is = timer->is,
                                    .id = timer->id,
                                    .target = timer->target,
                                    .measured = timer->measured,
                                    .pending = timer->pending,
                                    .value = timer->value,
                                    .at = timer->at,
                                    .interval = timer->interval,
                                    .sequence = timer->sequence,
                                    .overrun = timer->overrun,
                                    .last_overrun = timer->last_overrun};

        assert(!timer->working); /* its work is a work item: a quiesced kernel has none */
        note(context, &state);
    }
}

int process_timer_stage(struct process *process, const struct timer_state *state)
{
    struct process_timer *timer = heap_alloc(sizeof(*timer));

    if (timer == NULL)
        return -ENOMEM;
    timer->is = state->is;
    timer->id = state->id;
    if (count_timer(timer, process, UINT64_MAX) != 0) {
        heap_free(timer, sizeof(*timer));
        return -ENOMEM;
    }
    timer->target = state->target;
    timer->measured = state->measured;
    timer->pending = state->pending != 0;
    timer->value = state->value;
    timer->at = state->at;
    timer->interval = state->interval;
    timer->sequence = state->sequence;
    timer->overrun = state->overrun;
    timer->last_overrun = state->last_overrun;
    append_locked(process, timer);
    return 0;
}

void process_timers_start_locked(struct process *process)
{
    list_for_each(node, &process->timers)
        start_locked(container_of(node, struct process_timer, node));
}

void process_timers_discard(struct process *process)
{
    list_for_each_safe(node, &process->timers)
        free_timer(container_of(node, struct process_timer, node));
    list_init(&process->timers);
    process->timer_count = 0;
}

void process_timer_init(void)
{
    group_hooks.limit_time = limit_time;
    signal_timer_taken_locked = taken_locked;
    alarm_init();
}
