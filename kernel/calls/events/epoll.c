/* epoll(7). kernel/file/event/epoll.h has the sets; threads wait for their events here. */
#include "kernel/calls/events/epoll.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/anonymous.h"
#include "kernel/calls/events/poll.h"
#include "kernel/file/event/epoll.h"
#include "kernel/file/remote.h"
#include "mm/frame/heap.h"
#include "mm/user/user_copy.h"
#include "tasks/signal/signal.h"
#include "tasks/thread/thread.h"

#define SECOND 1000000000ull
#define MILLISECOND 1000000ull
#define NO_WAIT 1u /* deadline (clock_now ns) of a call that must not wait */
#define FEW 8u     /* up to so many events are fetched into a buffer on the stack */
#define EVENTS_MOST ((uint32_t)INT32_MAX / sizeof(struct epoll_event))

int64_t call_epoll_create(struct call *c)
{
    int32_t fds[2];

    return (int32_t)c->a[0] <= 0 ? -EINVAL : anonymous_new(ANONYMOUS_EPOLL, 0, NULL, 0, fds);
}

int64_t call_epoll_create1(struct call *c)
{
    uint32_t flags = (uint32_t)c->a[0];
    int32_t fds[2];

    return (flags & ~OPEN_CLOEXEC) != 0 ? -EINVAL : anonymous_new(ANONYMOUS_EPOLL, flags, NULL, 0, fds);
}

/* Returns 0 if the file at PLACE can be watched by epoll, or 1 if it is a set; -EPERM, -EBADF. */
static int64_t check_watchable(const struct file_place *place)
{
    struct file_request request = {.operation = MSG_FILE_OPERATE, .special.what = SPECIAL_WATCHABLE};
    struct file_answer answer;
    int64_t result = file_call_at(place, &request, NULL, 0, NULL, 0, &answer);

    return result == -ESRCH ? -EBADF : result;
}

int64_t call_epoll_ctl(struct call *c)
{
    struct file_request request = {.operation = MSG_FILE_OPERATE, .special.what = SPECIAL_EPOLL_CTL};
    int32_t fds[2] = {(int32_t)c->a[0], (int32_t)c->a[2]};
    struct epoll_change change = {
        .operation = (uint32_t)c->a[1], .fd = fds[1], .user = thread_current()->context.credentials.uid};
    struct file_place places[2];
    struct file_answer answer;
    struct epoll_event event;
    int64_t result;

    if (change.operation != EPOLL_DELETE) {
        if (user_read(&event, c->a[3], sizeof(event)) != 0)
            return -EFAULT;
        change.events = event.events;
        change.data = event.data;
    }
    result = anonymous_locate(fds, 2, places);
    if (result != 0)
        return result;
    if (places[0].id == 0 || places[1].id == 0)
        return -EBADF;
    change.place = places[1];
    if (places[0].kernel != places[1].kernel)
        result = check_watchable(&places[1]);
    if (result > 0)
        result = change.operation == EPOLL_ADD && (change.events & EPOLL_EXCLUSIVE) != 0 ? -EINVAL : 0;
    if (result == 0)
        result = file_call_at(&places[0], &request, &change, sizeof(change), NULL, 0, &answer);
    if (result == -EINVAL && check_watchable(&places[1]) == -EPERM)
        return -EPERM; /* as in Linux, before the -EINVAL for a first file that is no set */
    return result == -ESRCH ? -EBADF : result;
}

/* Polls the set once. *ANSWER has the place of the set, and how many events it had had before. */
static int64_t look(int64_t fd, const struct epoll_look *asked, struct epoll_found *found, struct file_answer *answer)
{
    int64_t result = anonymous_call(fd, SPECIAL_EPOLL_WAIT, 0, asked, sizeof(*asked), found,
                                    sizeof(*found) + asked->max * sizeof(struct epoll_event), answer);

    if (result >= 0 && found->remote != 0) {
        struct file_place place = {.id = answer->id, .kernel = answer->kernel};

        result = epoll_wait_remote(&place, asked, found);
    }
    if (result >= 0 && found->count > asked->max)
        return -EPROTO;
    return result;
}

/* Waits until the set of ANSWER has had more events, or one of SIGNALS is pending. *PENDING becomes the pending ones of
 * SIGNALS; without SIGNALS the caller has set it to 0. */
static int64_t wait(const struct file_answer *answer, uint64_t signals, uint64_t deadline, uint64_t *pending)
{
    struct thread *thread = thread_current();
    int64_t result;

    if (signals != 0) {
        *pending = signal_watch(thread, signals);
        if (*pending != 0) {
            signal_watch_end(thread);
            return 0;
        }
    }
    result = watch_wait_at(answer->kernel, WATCH_FILE, answer->id, answer->seen, "events of an epoll", deadline);
    if (signals != 0)
        *pending = signal_watch_end(thread);
    return *pending != 0 ? 0 : result;
}

/* Finds how many of the MAX events at ADDRESS can be stored: others are not to be taken from the set. */
static void look_begin(struct epoll_look *asked, uint64_t address, uint32_t max)
{
    uint64_t room = user_reach(address, max * sizeof(struct epoll_event)) / sizeof(struct epoll_event);

    asked->peek = room == 0;
    asked->max = room == 0 ? 1 : (uint32_t)room;
}

static int64_t wait_events(int64_t fd, uint64_t address, uint32_t max, uint64_t deadline, struct epoll_found *found)
{
    struct epoll_look asked = {.signals = 0};
    struct file_answer answer;
    int64_t result;

    for (;;) {
        look_begin(&asked, address, max);
        result = look(fd, &asked, found, &answer);
        if (result == -ESRCH)
            continue; /* the file was closed meanwhile; the next look finds what FD refers to now */
        if (result < 0)
            return result;
        if (found->count > 0)
            break;
        if (found->signals != 0 && asked.signals == 0) {
            asked.signals = signal_pending(thread_current()) & found->signals;
            if (asked.signals != 0)
                continue;
        }
        asked.signals = 0;
        if (deadline != 0 && (deadline == NO_WAIT || clock_now() >= deadline))
            return 0;
        result = wait(&answer, found->signals, deadline, &asked.signals);
        if (result < 0 && result != -ETIMEDOUT) {
            /* An event that no other set was notified of (EPOLLEXCLUSIVE) must not be left. */
            if (look(fd, &asked, found, &answer) >= 0 && found->count > 0)
                break;
            return result;
        }
    }
    if (asked.peek != 0 || user_write(address, found + 1, found->count * sizeof(struct epoll_event)) != 0)
        return -EFAULT;
    return found->count;
}

/* Performs epoll_wait with the first three arguments of C. A call that was interrupted is resumed with the same
 * deadline. */
static int64_t wait_call(struct call *c, uint64_t deadline, bool masked)
{
    struct thread_context *context = &thread_current()->context;
    uint64_t small[(sizeof(struct epoll_found) + FEW * sizeof(struct epoll_event)) / 8 + 1];
    uint32_t max = (uint32_t)c->a[2];
    struct epoll_found *found = (struct epoll_found *)(void *)small;
    size_t size;
    int64_t result;

    if ((int32_t)max <= 0 || max > EVENTS_MOST)
        return -EINVAL;
    if (!user_range(c->a[1], max * sizeof(struct epoll_event)))
        return -EFAULT;
    if (max > EPOLL_MAX)
        max = EPOLL_MAX;
    size = sizeof(*found) + max * sizeof(struct epoll_event);
    if (max > FEW)
        found = heap_alloc(size);
    if (found == NULL)
        return -ENOMEM;
    result = wait_events((int32_t)c->a[0], c->a[1], max, deadline, found);
    if (max > FEW)
        heap_free(found, size);
    if (result != -ERESTARTSYS)
        return result;
    context->restart_function = RESTART_EPOLL;
    context->restart_argument[0] = deadline;
    context->restart_argument[1] = masked;
    return -ERESTART_RESTARTBLOCK;
}

static uint64_t deadline_of(int64_t milliseconds)
{
    if (milliseconds < 0)
        return 0;
    return milliseconds == 0 ? NO_WAIT : clock_now() + (uint64_t)milliseconds * MILLISECOND;
}

int64_t call_epoll_wait(struct call *c)
{
    return wait_call(c, deadline_of((int32_t)c->a[3]), false);
}

static int64_t wait_masked(struct call *c, uint64_t deadline)
{
    int64_t result = poll_mask_enter(c->a[4], c->a[5]);

    if (result != 0)
        return result;
    result = wait_call(c, deadline, true);
    return result == -ERESTART_RESTARTBLOCK ? result : poll_mask_leave(result);
}

int64_t call_epoll_pwait(struct call *c)
{
    return wait_masked(c, deadline_of((int32_t)c->a[3]));
}

int64_t call_epoll_pwait2(struct call *c)
{
    uint64_t time[2], deadline = 0;

    if (c->a[3] != 0) {
        if (user_read(time, c->a[3], sizeof(time)) != 0)
            return -EFAULT;
        if ((int64_t)time[0] < 0 || time[1] >= SECOND)
            return -EINVAL;
        if (time[0] == 0 && time[1] == 0)
            deadline = NO_WAIT;
        else if (time[0] < INT64_MAX / SECOND / 4)
            deadline = clock_now() + time[0] * SECOND + time[1];
    }
    return wait_masked(c, deadline);
}

int64_t epoll_wait_again(struct call *c)
{
    uint64_t deadline = thread_current()->context.restart_argument[0];

    return thread_current()->context.restart_argument[1] != 0 ? wait_masked(c, deadline)
                                                              : wait_call(c, deadline, false);
}
