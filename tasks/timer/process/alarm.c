/* ITIMER_REAL of a process. See the header. */
#include "tasks/timer/process/alarm.h"

#include "kernel/arch/x86_64/clock.h"
#include "tasks/process/call.h"
#include "tasks/signal/signal.h"

/* The alarm has expired: sends SIGALRM, and arms the timer again if there is an interval. Before this has the lock,
 * another CPU may have set the alarm anew: then it is armed by now, or off, and its interval is a new one, too. */
static void fire(struct timer *timer)
{
    struct process *process = container_of(timer, struct process, alarm);
    struct group *group = process->group;
    struct signal_info info = {.signal = SIGALRM, .code = SI_KERNEL};
    bool again;

    spin_lock(&group->lock);
    again = process->alarm_interval != 0 && !group->exiting && timer_at(timer) == 0;
    if (again)
        timer_arm(timer, clock_now() + process->alarm_interval); /* it keeps its reference */
    spin_unlock(&group->lock);
    signal_send_group(group, &info);
    if (!again)
        group_put(group);
}

int64_t alarm_operate(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    struct process *process = group->process;
    uint64_t now = clock_now(), at;
    int64_t left = 0;
    bool drop = false;

    spin_lock(&group->lock);
    at = timer_at(&process->alarm);
    if (at != 0) /* an alarm that is due but has not fired yet counts as 1 ns left */
        left = at > now ? (int64_t)(at - now) : 1;
    result->interval = process->alarm_interval;
    if (call->alarm.sets != 0 && !group->exiting) {
        process->alarm_interval = call->alarm.from_now != 0 ? call->alarm.interval : 0; /* as Linux: it is off */
        if (call->alarm.from_now == 0) {
            drop = timer_disarm(&process->alarm);
        } else {
            if (!timer_arm(&process->alarm, now + call->alarm.from_now))
                group_get(group);
        }
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
