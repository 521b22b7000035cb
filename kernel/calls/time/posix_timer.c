/* timer_create(2) and related calls, and ITIMER_VIRTUAL and ITIMER_PROF. The home of the process has the timers and
 * their expiry times; the calling thread reads their clocks. See tasks/timer/process/timers.md. */
#include "kernel/calls/time/posix_timer.h"

#include "kernel/abi/clock.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/process/cpu_clock.h"
#include "kernel/lib/string.h"
#include "mm/user/user_copy.h"
#include "tasks/account/usage.h"
#include "tasks/locate/locate.h"
#include "tasks/process/call.h"
#include "tasks/process/group.h"
#include "tasks/thread/thread.h"
#include "tasks/timer/process/process_timer.h"

#define SECOND 1000000000ull
#define ABSOLUTE 1u
#define NOTIFY_SIGNAL 0
#define NOTIFY_NONE 1
#define NOTIFY_THREAD 2    /* as NOTIFY_SIGNAL: the C library implements it with a signal */
#define NOTIFY_THREAD_ID 4 /* a signal to one thread */

struct linux_sigevent { /* sigevent(7) */
    uint64_t value;
    int32_t signal;
    int32_t notify;
    int32_t thread;
    int32_t pad[11];
};

_Static_assert(sizeof(struct linux_sigevent) == 64, "Linux ABI");

/* Performs TYPE on timer ID at the home. AT and INTERVAL are for PROCESS_TIMER_SET. */
static int64_t timer_call(enum msg_type type, int32_t id, uint64_t at, uint64_t interval,
                          struct msg_process_result *result)
{
    struct msg_process_call call = {
        .id = thread_current()->group->id, .type = type, .timer = {.at = at, .interval = interval, .id = id}};

    return process_call(&call, result);
}

/* Returns TID if it is a thread of the caller's process, else -EINVAL. */
static int64_t own_thread(uint32_t tid)
{
    struct msg_thread_call call = {.thread = tid, .type = MSG_THREAD_GROUP};
    struct msg_thread_result result;

    if (tid == thread_current()->tid)
        return tid;
    if ((int32_t)tid <= 0 || thread_call(&call, &result, NULL) != thread_current()->group->id)
        return -EINVAL;
    return tid;
}

/* Returns the kind of timer (TIMER_*) for CLOCK, and in *THREAD the thread whose CPU time it measures, or 0. -EINVAL;
 * -EOPNOTSUPP: that clock has no timers. */
static int64_t kind_of(int32_t clock, uint32_t *thread)
{
    uint32_t id = clock < 0 ? ~(uint32_t)(clock >> 3) & 0x1fffffff : 0;
    int64_t own;

    *thread = 0;
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_MONOTONIC:
    case CLOCK_BOOTTIME:
    case CLOCK_TAI:
        return TIMER_WALL;
    case CLOCK_PROCESS_CPU:
        return TIMER_CPU_PROCESS;
    case CLOCK_THREAD_CPU:
        *thread = thread_current()->tid;
        return TIMER_CPU_THREAD;
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_REALTIME_ALARM:
    case CLOCK_BOOTTIME_ALARM:
        return -EOPNOTSUPP;
    default:
        break;
    }
    if (clock >= 0 || ((uint32_t)clock & CPU_CLOCK_KIND) == CPU_CLOCK_KIND)
        return -EINVAL;
    if (((uint32_t)clock & CPU_CLOCK_THREAD) == 0) {
        if (id != 0 && id != thread_current()->group->id)
            return -EINVAL;
        return ((uint32_t)clock & CPU_CLOCK_KIND) == CPU_CLOCK_USER ? TIMER_CPU_USER : TIMER_CPU_PROCESS;
    }
    own = own_thread(id != 0 ? id : thread_current()->tid);
    *thread = (uint32_t)own;
    return own < 0 ? own : TIMER_CPU_THREAD;
}

/* Reads the clock of a timer of KIND in the unit and from the origin of timer_at. */
static int64_t read_clock(uint32_t kind, uint32_t thread, uint64_t *now)
{
    struct usage usage;
    int64_t error;

    switch (kind) {
    case TIMER_WALL:
        *now = clock_read();
        return 0;
    case TIMER_CPU_THREAD:
        return cpu_clock_read(
            thread == thread_current()->tid ? CLOCK_THREAD_CPU : (int32_t)(~thread << 3 | CPU_CLOCK_THREAD | 2), now);
    default:
        error = usage_of(thread_current()->group->id, &usage);
        *now = usage.user_ns + (kind == TIMER_CPU_PROCESS ? usage.system_ns : 0);
        return error;
    }
}

static int64_t read_event(uint64_t address, struct timer_facts *facts, uint64_t *value, uint32_t *target)
{
    struct linux_sigevent event;
    int64_t thread;

    facts->notify = TIMER_SIGNAL;
    if (address == 0) {
        facts->signal = SIGALRM;
        facts->names_itself = 1;
        return 0;
    }
    if (user_read(&event, address, sizeof(event)) != 0)
        return -EFAULT;
    *value = event.value;
    if (event.notify == NOTIFY_NONE) {
        facts->notify = TIMER_NONE;
        return 0;
    }
    if (event.notify == NOTIFY_THREAD_ID) {
        thread = own_thread((uint32_t)event.thread);
        if (thread < 0)
            return thread;
        *target = (uint32_t)thread;
        facts->notify = TIMER_THREAD;
    } else if (event.notify != NOTIFY_SIGNAL && event.notify != NOTIFY_THREAD) {
        return -EINVAL;
    }
    if (event.signal <= 0 || event.signal > SIGNALS)
        return -EINVAL;
    facts->signal = (uint8_t)event.signal;
    return 0;
}

int64_t call_timer_create(struct call *c)
{
    struct msg_process_call call = {.id = thread_current()->group->id, .type = MSG_PROCESS_TIMER_CREATE};
    struct msg_process_result result;
    struct timer_facts facts = {.clock = (int32_t)c->a[0]};
    uint64_t value = 0;
    uint32_t target = 0, thread;
    int64_t kind, id;
    int64_t error;

    error = read_event(c->a[1], &facts, &value, &target);
    if (error == -EFAULT)
        return error;
    kind = kind_of((int32_t)c->a[0], &thread);
    if (kind < 0)
        return kind;
    if (error != 0)
        return error;
    facts.kind = (uint8_t)kind;
    call.new_timer.is = facts;
    call.new_timer.value = value;
    call.new_timer.target = target;
    call.new_timer.measured = thread;
    id = process_call(&call, &result);
    if (id < 0)
        return id;
    if (user_write(c->a[2], &id, sizeof(int32_t)) != 0) {
        timer_call(MSG_PROCESS_TIMER_DELETE, (int32_t)id, 0, 0, &result);
        return -EFAULT;
    }
    return 0;
}

/* Returns the ns from NOW, the time of its clock, until the timer described by IS expires; 0: it is not armed. */
static uint64_t left_of(const struct msg_process_result *is, uint64_t now)
{
    if (is->timer_at == 0 || is->timer_at > now)
        return is->timer_at == 0 ? 0 : is->timer_at - now;
    if (is->timer_interval != 0)
        return is->timer_interval - (now - is->timer_at) % is->timer_interval;
    return is->timer_facts.notify == TIMER_NONE ? 0 : 1; /* it is about to expire */
}

static int64_t give(uint64_t address, uint64_t interval, uint64_t left)
{
    uint64_t out[4] = {interval / SECOND, interval % SECOND, left / SECOND, left % SECOND};

    return user_write(address, out, sizeof(out));
}

static int64_t to_ns(const uint64_t time[2], uint64_t *out)
{
    if ((int64_t)time[0] < 0 || time[1] >= SECOND)
        return -EINVAL;
    *out = time[0] > INT64_MAX / 2 / SECOND ? INT64_MAX / 2 : time[0] * SECOND + time[1];
    return 0;
}

/* Converts VALUE, relative to NOW or ABSOLUTE on the timer's clock, to timer_at; 0 stays 0. */
static uint64_t expiry(const struct timer_facts *facts, uint64_t value, bool absolute, uint64_t now)
{
    bool of_day = facts->kind == TIMER_WALL && (facts->clock == CLOCK_REALTIME || facts->clock == CLOCK_TAI);

    if (value == 0)
        return 0;
    if (!absolute)
        return now + value;
    if (of_day)
        value = value > clock_epoch() ? value - clock_epoch() : 0;
    return value != 0 ? value : 1;
}

int64_t call_timer_settime(struct call *c)
{
    struct msg_process_result is;
    uint64_t given[4], interval, value, now = 0;
    int64_t error;

    if (c->a[2] == 0)
        return -EINVAL;
    if (user_read(given, c->a[2], sizeof(given)) != 0)
        return -EFAULT;
    error = to_ns(given, &interval);
    if (error == 0)
        error = to_ns(given + 2, &value);
    if (error == 0)
        error = (int32_t)c->a[0] < 0 ? -EINVAL : timer_call(MSG_PROCESS_TIMER_GET, (int32_t)c->a[0], 0, 0, &is);
    if (error == 0)
        error = read_clock(is.timer_facts.kind, is.timer_thread, &now) != 0 ? -ESRCH : 0;
    if (error == 0)
        error = timer_call(MSG_PROCESS_TIMER_SET, (int32_t)c->a[0],
                           expiry(&is.timer_facts, value, (c->a[1] & ABSOLUTE) != 0, now), interval, &is);
    if (error != 0 || c->a[3] == 0)
        return error;
    return give(c->a[3], is.timer_interval, left_of(&is, now));
}

int64_t call_timer_gettime(struct call *c)
{
    struct msg_process_result is;
    uint64_t now = 0;
    int64_t error = (int32_t)c->a[0] < 0 ? -EINVAL : timer_call(MSG_PROCESS_TIMER_GET, (int32_t)c->a[0], 0, 0, &is);

    if (error != 0)
        return error;
    if (read_clock(is.timer_facts.kind, is.timer_thread, &now) != 0)
        is.timer_at = 0; /* the measured thread has ended */
    return give(c->a[1], is.timer_interval, left_of(&is, now));
}

int64_t call_timer_getoverrun(struct call *c)
{
    struct msg_process_result result;

    return (int32_t)c->a[0] < 0 ? -EINVAL : timer_call(MSG_PROCESS_TIMER_OVERRUN, (int32_t)c->a[0], 0, 0, &result);
}

int64_t call_timer_delete(struct call *c)
{
    struct msg_process_result result;

    return (int32_t)c->a[0] < 0 ? -EINVAL : timer_call(MSG_PROCESS_TIMER_DELETE, (int32_t)c->a[0], 0, 0, &result);
}

int64_t interval_timer(int32_t id, bool sets, uint64_t value, uint64_t interval, uint64_t *old_interval)
{
    struct msg_process_result is;
    uint64_t now = 0;
    int64_t error = read_clock(id == TIMER_VIRTUAL ? TIMER_CPU_USER : TIMER_CPU_PROCESS, 0, &now);

    *old_interval = 0;
    if (error == 0 && sets)
        error = timer_call(MSG_PROCESS_TIMER_SET, id, value != 0 ? now + value : 0, interval, &is);
    else if (error == 0)
        error = timer_call(MSG_PROCESS_TIMER_GET, id, 0, 0, &is);
    if (error == -EINVAL) /* the timer was never set */
        return 0;
    if (error != 0)
        return error;
    *old_interval = is.timer_interval;
    return (int64_t)left_of(&is, now);
}
