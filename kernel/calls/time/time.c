/* System calls on time. */
#include "boot/options/options.h"
#include "kernel/abi/clock.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/base/instructions.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/events/epoll.h"
#include "kernel/calls/events/poll.h"
#include "kernel/calls/files/files.h"
#include "kernel/calls/machine/kettle.h"
#include "kernel/calls/process/cpu_clock.h"
#include "kernel/calls/process/signals.h"
#include "kernel/instance/instance.h"
#include "kernel/vdso/pages.h"
#include "mm/user/user_copy.h"
#include "tasks/futex/futex.h"
#include "tasks/process/group.h"
#include "tasks/sched/sched.h"

#define SECOND 1000000000ull
#define TIMER_ABSTIME 1u
#define TIME_MAX (SECOND * 8277292036ull) /* ns; as in Linux, thirty years before a signed 64-bit count overflows */

/* Returns the nanoseconds to add to clock_now for clock ID, or -EINVAL. */
static int64_t clock_offset(uint64_t id)
{
    switch (id) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_REALTIME_ALARM: /* as CLOCK_REALTIME: the machine never suspends */
    case CLOCK_TAI:            /* as CLOCK_REALTIME: its offset from UTC cannot be set */
        return (int64_t)clock_epoch();
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
    case CLOCK_BOOTTIME_ALARM:
        return 0;
    default:
        return -EINVAL;
    }
}

static int64_t give_time(uint64_t address, uint64_t nanoseconds)
{
    uint64_t time[2] = {nanoseconds / SECOND, nanoseconds % SECOND};

    return user_write(address, time, sizeof(time));
}

int64_t call_clock_gettime(struct call *c)
{
    uint64_t used;
    int64_t offset = clock_offset(c->a[0]);

    if (offset >= 0)
        return give_time(c->a[1], clock_read() + (uint64_t)offset);
    offset = cpu_clock_read((int32_t)c->a[0], &used);
    return offset < 0 ? offset : give_time(c->a[1], used);
}

int64_t call_clock_getres(struct call *c)
{
    uint64_t used;
    int64_t offset = clock_offset(c->a[0]);

    if (offset < 0)
        offset = cpu_clock_read((int32_t)c->a[0], &used);
    if (offset < 0)
        return offset;
    return c->a[1] != 0 ? give_time(c->a[1], 1) : 0;
}

int64_t call_gettimeofday(struct call *c)
{
    static const uint32_t zone[2];
    uint64_t now = clock_read() + clock_epoch();
    uint64_t time[2] = {now / SECOND, now % SECOND / 1000};

    if (c->a[0] != 0 && user_write(c->a[0], time, sizeof(time)) != 0)
        return -EFAULT;
    return c->a[1] != 0 ? user_write(c->a[1], zone, sizeof(zone)) : 0;
}

int64_t call_time(struct call *c)
{
    uint64_t now = (clock_read() + clock_epoch()) / SECOND;

    if (c->a[0] != 0 && user_write(c->a[0], &now, sizeof(now)) != 0)
        return -EFAULT;
    return (int64_t)now;
}

/* Sleeps until DEADLINE. Returns 0, or -ERESTARTNOHAND if interrupted earlier. */
static int64_t sleep_until(uint64_t deadline)
{
    static const struct wait_reason reason = {.what = "its time (sleep)", .kernel = -1};

    while (clock_now() < deadline) {
        if (wait_ops.ended(WAIT_INTERRUPTIBLE))
            return -ERESTARTNOHAND;
        sched_block(NULL, &reason, WAIT_INTERRUPTIBLE, deadline);
    }
    return 0;
}

/* Sleeps until DEADLINE. If interrupted, writes the remaining time to user address REMAINING (unless that is 0) and can
 * be resumed by restart_syscall. */
static int64_t sleep_relative(uint64_t deadline, uint64_t remaining)
{
    struct thread_context *context = &thread_current()->context;
    uint64_t now, left, time[2];

    if (sleep_until(deadline) == 0)
        return 0;
    now = clock_now();
    left = deadline > now ? deadline - now : 0;
    time[0] = left / SECOND;
    time[1] = left % SECOND;
    if (remaining != 0 && user_write(remaining, time, sizeof(time)) != 0)
        return -EFAULT;
    context->restart_function = RESTART_NANOSLEEP;
    context->restart_argument[0] = deadline;
    context->restart_argument[1] = remaining;
    return -ERESTART_RESTARTBLOCK;
}

int64_t call_restart_syscall(struct call *c)
{
    const struct thread_context *context = &thread_current()->context;

    switch (context->restart_function) {
    case RESTART_NANOSLEEP:
        return sleep_relative(context->restart_argument[0], context->restart_argument[1]);
    case RESTART_POLL:
        return poll_restart();
    case RESTART_WRITE:
        return files_write_again(c);
    case RESTART_STOP:
        return kettle_stop_again();
    case RESTART_SIGNAL:
        return signal_wait_again();
    case RESTART_EPOLL:
        return epoll_wait_again(c);
    case RESTART_FUTEX:
        return futex_wait_again();
    default:
        return -EINTR;
    }
}

static int64_t read_interval(uint64_t address, uint64_t *nanoseconds)
{
    uint64_t time[2];

    if (user_read(time, address, sizeof(time)) != 0)
        return -EFAULT;
    if ((int64_t)time[0] < 0 || time[1] >= SECOND)
        return -EINVAL;
    *nanoseconds = time[0] > INT64_MAX / SECOND - 1 ? INT64_MAX : time[0] * SECOND + time[1];
    return 0;
}

int64_t call_nanosleep(struct call *c)
{
    uint64_t interval;
    int64_t error = read_interval(c->a[0], &interval);

    return error != 0 ? error : sleep_relative(clock_read() + interval, c->a[1]);
}

/* Sleeps until the process has used UNTIL ns of CPU time. */
static int64_t sleep_used(uint64_t until)
{
    uint64_t used;
    int64_t error = 0;

    while (error == 0 && cpu_clock_read(CLOCK_PROCESS_CPU, &used) == 0 && used < until) {
        uint64_t left = (until - used) / CPUS_MAX; /* the earliest time, if all CPUs run the process */

        error = sleep_until(clock_now() + (left > CPU_CLOCK_LOOK ? left : CPU_CLOCK_LOOK));
    }
    return error;
}

int64_t call_clock_nanosleep(struct call *c)
{
    int64_t offset = clock_offset(c->a[0]);
    bool absolute = (c->a[1] & TIMER_ABSTIME) != 0;
    uint64_t interval, used = 0;
    int64_t error = 0;

    if (offset < 0)
        error = cpu_clock_read((int32_t)c->a[0], &used);
    if (error != 0)
        return error;
    if (c->a[0] == CLOCK_THREAD_CPU || c->a[0] == CLOCK_MONOTONIC_RAW || c->a[0] == CLOCK_REALTIME_COARSE ||
        c->a[0] == CLOCK_MONOTONIC_COARSE)
        return -EOPNOTSUPP;
    if (offset < 0 && c->a[0] != CLOCK_PROCESS_CPU)
        return -EINVAL; /* a CPU clock of another process or of a thread */
    error = read_interval(c->a[2], &interval);
    if (error != 0)
        return error;
    if (offset < 0)
        return sleep_used(absolute ? interval : used + interval);
    if (absolute)
        return sleep_until(interval > (uint64_t)offset ? interval - (uint64_t)offset : 0);
    return sleep_relative(clock_read() + interval, c->a[3]);
}

/* Sets the time of day to TIME ns since 1970. -EINVAL: it would be before 1970 at boot, or is above
 * TIME_MAX; -EPERM. */
static int64_t set_time(uint64_t time)
{
    uint64_t now = clock_read();

    if (credentials_need_root() != 0)
        return -EPERM;
    if (time < now || time > TIME_MAX)
        return -EINVAL;
    return time_set(time - now);
}

int64_t call_clock_settime(struct call *c)
{
    int32_t clock = (int32_t)c->a[0];
    uint64_t time = 0;
    int64_t error;

    if (clock > 0)
        return -EINVAL;
    error = read_interval(c->a[1], &time);
    if (clock < 0 && error != -EFAULT) { /* CPU time cannot be set */
        error = cpu_clock_read(clock, &time);
        return error != 0 ? error : -EPERM;
    }
    return error != 0 ? error : set_time(time);
}

int64_t call_settimeofday(struct call *c)
{
    uint64_t time[2];
    uint32_t zone[2];

    if (c->a[0] != 0 && user_read(time, c->a[0], sizeof(time)) != 0)
        return -EFAULT;
    if (c->a[0] != 0 && (time[1] >= 1000000 || time[0] > TIME_MAX / SECOND))
        return -EINVAL;
    if (c->a[1] != 0 && user_read(zone, c->a[1], sizeof(zone)) != 0)
        return -EFAULT;
    return c->a[0] != 0 ? set_time(time[0] * SECOND + time[1] * 1000) : 0;
}

#define ADJ_OFFSET_SS_READ 0xa001u
#define STATUS_UNSYNC 64
#define TIME_ERROR 5 /* the clock is not synchronised */

struct linux_timex { /* adjtimex(2) */
    uint32_t modes, pad0;
    int64_t offset, frequency, most_error, error;
    int32_t status, pad1;
    int64_t constant, precision, tolerance;
    int64_t seconds, microseconds;
    int64_t tick, pps[2];
    int32_t shift, pad2;
    int64_t more[5];
    int32_t tai, unused[11];
};

_Static_assert(sizeof(struct linux_timex) == 208, "Linux ABI");

/* Writes the state of a clock that no time daemon adjusts. -EPERM: the program wants to change it. */
static int64_t adjust(uint64_t address)
{
    uint64_t now = clock_read() + clock_epoch();
    struct linux_timex out = {0};

    if (user_read(&out.modes, address, sizeof(out.modes)) != 0)
        return -EFAULT;
    if (out.modes != 0 && out.modes != ADJ_OFFSET_SS_READ)
        return -EPERM;
    out.most_error = out.error = 16000000;
    out.status = STATUS_UNSYNC;
    out.constant = 2;
    out.precision = 1;
    out.tolerance = 500 << 16;
    out.seconds = (int64_t)(now / SECOND);
    out.microseconds = (int64_t)(now % SECOND / 1000);
    out.tick = 10000;
    return user_write(address, &out, sizeof(out)) != 0 ? -EFAULT : TIME_ERROR;
}

int64_t call_adjtimex(struct call *c)
{
    return adjust(c->a[0]);
}

int64_t call_clock_adjtime(struct call *c)
{
    uint64_t used;

    if (c->a[0] == CLOCK_REALTIME)
        return adjust(c->a[1]);
    return clock_offset(c->a[0]) >= 0 || cpu_clock_read((int32_t)c->a[0], &used) == 0 ? -EOPNOTSUPP : -EINVAL;
}
