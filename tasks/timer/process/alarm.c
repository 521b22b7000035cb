/* ITIMER_REAL of a process. See the header. */
#include "tasks/timer/process/alarm.h"

#include "kernel/arch/x86_64/clock.h"
#include "tasks/process/call.h"
#include "tasks/signal/hint.h"
#include "tasks/signal/signal.h"

/* The timer has expired: sends SIGALRM, and arms it again if there is an interval. Before this has the lock, another
 * CPU may have set the alarm anew, or switched it off, and said so: then this expiry is of no alarm, and the timer is
 * armed by now with a reference of its own, or off. */
static void fire(struct timer *timer)
{
    struct process *process = container_of(timer, struct process, alarm);
    struct group *group = process->group;
    struct signal_info info = {.signal = SIGALRM, .code = SI_KERNEL};
    kernel_set hinted = 0;

    spin_lock(&group->lock);
    if (process->alarm_due != 0 && timer_at(timer) == 0) {
        bool again = process->alarm_interval != 0 && !group->exiting;

        process->alarm_due = again ? clock_now() + process->alarm_interval : 0;
        if (again && !timer_arm(timer, process->alarm_due))
            group_get(group);
        signal_send_group_locked(group, &info, &hinted);
    }
    spin_unlock(&group->lock);
    if (hinted != 0)
        hint_members(group, hinted, SIGNAL_BIT(SIGALRM), false);
    group_put(group); /* the reference of this expiry */
}

int64_t alarm_operate(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    struct process *process = group->process;
    uint64_t now = clock_now(), due;
    int64_t left = 0;
    bool drop = false;

    spin_lock(&group->lock);
    due = process->alarm_due;
    if (due != 0) /* an alarm that is due but has not fired yet counts as 1 ns left */
        left = due > now ? (int64_t)(due - now) : 1;
    result->interval = process->alarm_interval;
    if (call->alarm.sets != 0 && !group->exiting) {
        process->alarm_interval = call->alarm.from_now != 0 ? call->alarm.interval : 0; /* as Linux: it is off */
        process->alarm_due = call->alarm.from_now != 0 ? now + call->alarm.from_now : 0;
        if (process->alarm_due == 0)
            drop = timer_disarm(&process->alarm);
        else if (!timer_arm(&process->alarm, process->alarm_due))
            group_get(group);
    }
    spin_unlock(&group->lock);
    if (drop)
        group_put(group);
    return left;
}

void alarm_end(struct group *group)
{
    if (timer_disarm(&group->process->alarm))
        group_put(group);
}

void alarm_init(void)
{
    group_hooks.alarm = fire;
}
