/* alarm(2), setitimer(2), getitimer(2): the three interval timers of a process, which its home has. */
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/time/posix_timer.h"
#include "mm/space/space.h"
#include "mm/user/user_copy.h"
#include "tasks/process/call.h"
#include "tasks/process/process.h"
#include "tasks/thread/thread.h"
#include "tasks/timer/process/process_timer.h"

#define ITIMER_REAL 0
#define ITIMER_VIRTUAL 1
#define ITIMER_PROF 2
#define SECOND 1000000000ull
#define LONGEST (INT64_MAX / 2) /* ns; longer times are shortened to it */

struct linux_itimerval {
    int64_t interval_s, interval_us, value_s, value_us;
};

static int64_t set_alarm(uint64_t value, uint64_t interval, bool sets, uint64_t *old_interval)
{
    struct msg_process_call call = {.id = thread_current()->group->id,
                                    .type = MSG_PROCESS_ALARM,
                                    .alarm = {.from_now = value, .interval = interval, .sets = sets ? 1 : 0}};
    struct msg_process_result result;
    int64_t left = process_call(&call, &result);

    *old_interval = result.interval;
    return left;
}

int64_t call_alarm(struct call *c)
{
    uint64_t interval;
    int64_t left = set_alarm((uint32_t)c->a[0] * SECOND, 0, true, &interval);

    if (left <= 0)
        return left;
    left = (left + (int64_t)SECOND / 2) / (int64_t)SECOND; /* rounded to the nearest second, at least 1, as in Linux */
    return left > 0 ? left : 1;
}

static int64_t to_ns(int64_t seconds, int64_t microseconds, uint64_t *out)
{
    if (seconds < 0 || microseconds < 0 || microseconds >= 1000000)
        return -EINVAL;
    *out = seconds > LONGEST / (int64_t)SECOND ? LONGEST : (uint64_t)seconds * SECOND + (uint64_t)microseconds * 1000;
    return 0;
}

static int64_t give(uint64_t address, int64_t left, uint64_t interval)
{
    struct linux_itimerval old = {.interval_s = (int64_t)(interval / SECOND),
                                  .interval_us = (int64_t)(interval % SECOND / 1000),
                                  .value_s = left / (int64_t)SECOND,
                                  .value_us = left % (int64_t)SECOND / 1000};

    if (left > 0 && old.value_s == 0 && old.value_us == 0)
        old.value_us = 1;
    return user_write(address, &old, sizeof(old));
}

static int64_t set_timer(uint32_t which, uint64_t value, uint64_t interval, bool sets, uint64_t *old_interval)
{
    if (which == ITIMER_REAL)
        return set_alarm(value, interval, sets, old_interval);
    return interval_timer(which == ITIMER_VIRTUAL ? TIMER_VIRTUAL : TIMER_PROF, sets, value, interval, old_interval);
}

int64_t call_getitimer(struct call *c)
{
    uint64_t interval;
    int64_t left;

    if ((uint32_t)c->a[0] > ITIMER_PROF)
        return -EINVAL;
    left = set_timer((uint32_t)c->a[0], 0, 0, false, &interval);
    return left < 0 ? left : give(c->a[1], left, interval);
}

int64_t call_setitimer(struct call *c)
{
    struct linux_itimerval new = {0};
    uint64_t value = 0, interval = 0, old_interval;
    int64_t error = 0;
    int64_t left;

    if (c->a[1] != 0 && user_read(&new, c->a[1], sizeof(new)) != 0)
        return -EFAULT;
    error = to_ns(new.value_s, new.value_us, &value);
    if (error == 0)
        error = to_ns(new.interval_s, new.interval_us, &interval);
    if (error == 0 && (uint32_t)c->a[0] > ITIMER_PROF)
        error = -EINVAL;
    if (error != 0)
        return error;
    left = set_timer((uint32_t)c->a[0], value, interval, true, &old_interval);
    if (left < 0 || c->a[2] == 0)
        return left < 0 ? left : 0;
    return give(c->a[2], left, old_interval);
}
