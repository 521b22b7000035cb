/* System calls on time. */
#include "boot/instance.h"
#include "boot/options.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/instructions.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/cpu_clock.h"
#include "kernel/calls/files.h"
#include "kernel/calls/poll.h"
#include "mm/space.h"
#include "tasks/futex.h"
#include "tasks/group.h"
#include "tasks/sched.h"

#define SECOND 1000000000ull
#define TIMER_ABSTIME 1u

enum {
    CLOCK_REALTIME,
    CLOCK_MONOTONIC,
    CLOCK_PROCESS_CPU,
    CLOCK_THREAD_CPU,
    CLOCK_MONOTONIC_RAW,
    CLOCK_REALTIME_COARSE,
    CLOCK_MONOTONIC_COARSE,
    CLOCK_BOOTTIME
};

/* Nanoseconds to add to clock_now for clock ID, or -EINVAL. */
static int64_t clock_offset(uint64_t id)
{
    switch (id) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
        return (int64_t)clock_epoch();
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
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
        return give_time(c->a[1], clock_now() + (uint64_t)offset);
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
    uint64_t now = clock_now() + clock_epoch();
    uint64_t time[2] = {now / SECOND, now % SECOND / 1000};

    return c->a[0] != 0 ? user_write(c->a[0], time, sizeof(time)) : 0;
}

int64_t call_time(struct call *c)
{
    uint64_t now = (clock_now() + clock_epoch()) / SECOND;

    if (c->a[0] != 0 && user_write(c->a[0], &now, sizeof(now)) != 0)
        return -EFAULT;
    return (int64_t)now;
}

/* 0, or -ERESTARTNOHAND when interrupted before. */
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

/* Sleeps until DEADLINE; interrupted, it leaves what remains at user address REMAINING (0: nowhere) and can go on. */
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

    return error != 0 ? error : sleep_relative(clock_now() + interval, c->a[1]);
}

int64_t call_clock_nanosleep(struct call *c)
{
    int64_t offset = clock_offset(c->a[0]);
    uint64_t interval;
    int64_t error = read_interval(c->a[2], &interval);

    if (offset < 0 || (c->a[1] & ~(uint64_t)TIMER_ABSTIME) != 0)
        return -EINVAL;
    if (error != 0)
        return error;
    if ((c->a[1] & TIMER_ABSTIME) != 0)
        return sleep_until(interval > (uint64_t)offset ? interval - (uint64_t)offset : 0);
    return sleep_relative(clock_now() + interval, c->a[3]);
}

int64_t call_getrandom(struct call *c)
{
    static volatile uint64_t counter; /* [a] */
    uint64_t seed = option_number(instance.cmdline, "seed", 0);
    uint64_t size = c->a[1] > 256 ? 256 : c->a[1];
    uint8_t bytes[256];

    /* Not for secrets: splitmix64 of the seed (a run can be repeated) or of the time. */
    for (uint64_t i = 0; i < size; i += 8) {
        uint64_t z = seed + (seed == 0 ? rdtsc() : instance.kernel) +
                     __atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED) * 0x9e3779b97f4a7c15ull;

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ z >> 27) * 0x94d049bb133111ebull;
        z ^= z >> 31;
        for (uint64_t j = i; j < i + 8; j++, z >>= 8)
            bytes[j] = (uint8_t)z;
    }
    return user_write(c->a[0], bytes, size) != 0 ? -EFAULT : (int64_t)size;
}
