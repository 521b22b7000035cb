/* eventfd(2) and timerfd_create(2). */
#include "kernel/file/event/eventfd.h"
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/anonymous.h"
#include "kernel/file/event/timerfd.h"
#include "mm/user/user_copy.h"

#define EFD_SEMAPHORE 1u
#define CLOCK_REALTIME 0u
#define CLOCK_MONOTONIC 1u
#define CLOCK_BOOTTIME 7u
#define CLOCK_REALTIME_ALARM 8u
#define CLOCK_BOOTTIME_ALARM 9u
#define SECOND 1000000000ull
#define LONGEST ((uint64_t)INT64_MAX / SECOND) /* seconds; longer times are cut to half of it */

static int64_t make_event(uint32_t count, uint32_t flags)
{
    struct event_start start = {.count = count, .semaphore = flags & EFD_SEMAPHORE};
    int32_t fds[2];

    if ((flags & ~(EFD_SEMAPHORE | OPEN_NONBLOCK | OPEN_CLOEXEC)) != 0)
        return -EINVAL;
    return anonymous_new(ANONYMOUS_EVENT, flags & ~EFD_SEMAPHORE, &start, sizeof(start), fds);
}

int64_t call_eventfd(struct call *c)
{
    return make_event((uint32_t)c->a[0], 0);
}

int64_t call_eventfd2(struct call *c)
{
    return make_event((uint32_t)c->a[0], (uint32_t)c->a[1]);
}

int64_t call_timerfd_create(struct call *c)
{
    uint32_t clock = (uint32_t)c->a[0], flags = (uint32_t)c->a[1];
    int32_t fds[2];

    if ((flags & ~(OPEN_NONBLOCK | OPEN_CLOEXEC)) != 0 ||
        (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME &&
         clock != CLOCK_REALTIME_ALARM && clock != CLOCK_BOOTTIME_ALARM))
        return -EINVAL;
    return anonymous_new(ANONYMOUS_TIMER, flags, &clock, sizeof(clock), fds);
}

static int read_time(const uint64_t time[2], uint64_t *out)
{
    if ((int64_t)time[0] < 0 || time[1] >= SECOND)
        return -EINVAL;
    *out = time[0] >= LONGEST ? INT64_MAX / 2 : time[0] * SECOND + time[1];
    if (*out > INT64_MAX / 2)
        *out = INT64_MAX / 2;
    return 0;
}

static int64_t give(uint64_t address, const struct timer_setting *setting)
{
    uint64_t words[4] = {setting->interval / SECOND, setting->interval % SECOND, setting->value / SECOND,
                         setting->value % SECOND};

    return user_write(address, words, sizeof(words));
}

int64_t call_timerfd_settime(struct call *c)
{
    uint32_t flags = (uint32_t)c->a[1];
    struct timer_setting setting, old;
    struct file_answer answer;
    uint64_t words[4];
    int64_t result;

    if (user_read(words, c->a[2], sizeof(words)) != 0)
        return -EFAULT;
    if ((flags & ~(TIMER_ABSOLUTE | TIMER_CANCEL_ON_SET)) != 0 || read_time(words, &setting.interval) != 0 ||
        read_time(words + 2, &setting.value) != 0)
        return -EINVAL;
    result = anonymous_call((int32_t)c->a[0], SPECIAL_TIMER_SET, flags, &setting, sizeof(setting), &old, sizeof(old),
                            &answer);
    if (result < 0)
        return result;
    return c->a[3] != 0 ? give(c->a[3], &old) : 0;
}

int64_t call_timerfd_gettime(struct call *c)
{
    struct timer_setting old;
    struct file_answer answer;
    int64_t result = anonymous_call((int32_t)c->a[0], SPECIAL_TIMER_GET, 0, NULL, 0, &old, sizeof(old), &answer);

    return result < 0 ? result : give(c->a[1], &old);
}
