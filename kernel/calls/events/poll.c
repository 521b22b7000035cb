/* poll(2), select(2) and their variants. kernel/file/event/poll.h waits for all descriptors at once. */
#include "kernel/calls/events/poll.h"

#include "kernel/abi/errno.h"
#include "kernel/abi/signal.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/calls/calls.h"
#include "kernel/file/event/poll.h"
#include "kernel/file/table.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "mm/user/user_copy.h"
#include "msg/slice.h"
#include "tasks/process/group.h"
#include "tasks/signal/signal.h"
#include "tasks/thread/thread.h"

#define SECOND 1000000000ull
#define MILLISECOND 1000000ull
#define NO_WAIT 1u /* deadline (clock_now ns) of a call that must not wait */
#define POLL_PRIORITY 0x002u
#define POLL_READ (POLL_IN | POLL_IN_NORMAL | POLL_HUP | POLL_ERR)
#define POLL_WRITE (POLL_OUT | POLL_OUT_NORMAL | POLL_ERR)
#define SIGSET_SIZE 8u
#define WORDS (TABLE_MAX / 64)

struct pollfd {
    int32_t fd;
    uint16_t events, revents;
};

static int64_t give_events(struct pollfd *fds, const struct poll_request *requests, uint32_t count, uint64_t address)
{
    for (uint32_t i = 0; i < count; i++) {
        fds[i].revents = (uint16_t)requests[i].revents;
        if (user_write(address + i * sizeof(fds[0]) + offsetof(struct pollfd, revents), &fds[i].revents,
                       sizeof(fds[i].revents)) != 0)
            return -EFAULT;
        slice_check();
    }
    return 0;
}

/* Polls the array of COUNT struct pollfd at ADDRESS. -ERESTARTSYS when interrupted. */
static int64_t poll_array(uint64_t address, uint64_t count, uint64_t deadline)
{
    size_t size = count * (sizeof(struct pollfd) + sizeof(struct poll_request));
    struct poll_request *requests;
    struct pollfd *fds;
    int64_t result;

    if (count > TABLE_MAX)
        return -EINVAL;
    requests = heap_alloc(size + 1);
    if (requests == NULL)
        return -ENOMEM;
    fds = (struct pollfd *)(requests + count);
    if (user_read(fds, address, count * sizeof(*fds)) != 0) {
        heap_free(requests, size + 1);
        return -EFAULT;
    }
    for (uint32_t i = 0; i < count; i++)
        requests[i] = (struct poll_request){.fd = fds[i].fd, .events = fds[i].events};
    result = poll_wait(thread_current()->group, requests, (uint32_t)count, deadline);
    if (result >= 0 && give_events(fds, requests, (uint32_t)count, address) != 0)
        result = -EFAULT;
    heap_free(requests, size + 1);
    return result;
}

static int64_t poll_restartable(uint64_t address, uint64_t count, uint64_t deadline)
{
    struct thread_context *context = &thread_current()->context;
    int64_t result = poll_array(address, count, deadline);

    if (result != -ERESTARTSYS)
        return result;
    context->restart_function = RESTART_POLL;
    context->restart_argument[0] = deadline;
    context->restart_argument[1] = address;
    context->restart_argument[2] = count;
    return -ERESTART_RESTARTBLOCK;
}

int64_t poll_restart(void)
{
    const struct thread_context *context = &thread_current()->context;

    return poll_restartable(context->restart_argument[1], context->restart_argument[2], context->restart_argument[0]);
}

int64_t call_poll(struct call *c)
{
    int32_t timeout = (int32_t)c->a[2];
    uint64_t deadline = timeout < 0 ? 0 : timeout == 0 ? NO_WAIT : clock_now() + (uint64_t)timeout * MILLISECOND;

    return poll_restartable(c->a[0], (uint32_t)c->a[1], deadline);
}

/* Converts the struct timespec (UNIT 1) or timeval (UNIT 1000 ns) at ADDRESS to a deadline; 0: none. -EFAULT,
 * -EINVAL. */
static int64_t read_deadline(uint64_t address, uint64_t unit, uint64_t *deadline)
{
    uint64_t time[2], nanoseconds;

    *deadline = 0;
    if (address == 0)
        return 0;
    if (user_read(time, address, sizeof(time)) != 0)
        return -EFAULT;
    if (unit != 1 && (int64_t)time[0] >= 0 && (int64_t)time[1] >= 0) { /* select accepts a second and more in tv_usec */
        time[0] += time[1] / (SECOND / unit);
        time[1] %= SECOND / unit;
    }
    if ((int64_t)time[0] < 0 || time[1] >= SECOND / unit)
        return -EINVAL;
    if (time[0] > INT64_MAX / SECOND / 4)
        return 0; /* too far away to expire: no deadline */
    nanoseconds = time[0] * SECOND + time[1] * unit;
    *deadline = nanoseconds == 0 ? NO_WAIT : clock_now() + nanoseconds;
    return 0;
}

/* Writes the time that remains until DEADLINE to ADDRESS, as Linux does. A failure of the write is ignored. */
static void write_remaining(uint64_t address, uint64_t unit, uint64_t deadline)
{
    uint64_t now = clock_now();
    uint64_t left = deadline > now ? deadline - now : 0;
    uint64_t time[2] = {left / SECOND, left % SECOND / unit};

    if (address != 0 && deadline != 0)
        user_write(address, time, sizeof(time));
}

int64_t poll_mask_enter(uint64_t address, uint64_t size)
{
    struct thread *thread = thread_current();
    uint64_t mask;

    if (address == 0)
        return 0;
    if (size != SIGSET_SIZE)
        return -EINVAL;
    if (user_read(&mask, address, sizeof(mask)) != 0)
        return -EFAULT;
    thread->context.signal_saved_mask = thread->context.signal_mask;
    thread->context.flags |= CONTEXT_RESTORE_MASK;
    signal_set_mask(thread, mask & ~SIGNAL_UNBLOCKABLE);
    return 0;
}

int64_t poll_mask_leave(int64_t result)
{
    struct thread *thread = thread_current();

    if (result == -ERESTARTSYS)
        return -ERESTARTNOHAND;
    if ((thread->context.flags & CONTEXT_RESTORE_MASK) != 0) {
        thread->context.flags &= ~CONTEXT_RESTORE_MASK;
        signal_set_mask(thread, thread->context.signal_saved_mask);
    }
    return result;
}

int64_t call_ppoll(struct call *c)
{
    uint64_t deadline;
    int64_t result = read_deadline(c->a[2], 1, &deadline);

    if (result == 0)
        result = poll_mask_enter(c->a[3], c->a[4]);
    if (result != 0)
        return result;
    result = poll_array(c->a[0], (uint32_t)c->a[1], deadline);
    if (deadline != NO_WAIT)
        write_remaining(c->a[2], 1, deadline);
    return poll_mask_leave(result);
}

/* The three sets of select. */
struct sets {
    uint64_t in[3][WORDS], out[3][WORDS];
    struct poll_request requests[TABLE_MAX];
};

static const uint32_t set_events[3] = {POLL_IN | POLL_IN_NORMAL, POLL_OUT | POLL_OUT_NORMAL, POLL_PRIORITY};
static const uint32_t set_states[3] = {POLL_READ, POLL_WRITE, POLL_PRIORITY};

static int64_t read_sets(struct sets *sets, const uint64_t addresses[3], size_t size)
{
    for (int i = 0; i < 3; i++) {
        if (addresses[i] != 0 && user_read(sets->in[i], addresses[i], size) != 0)
            return -EFAULT;
    }
    return 0;
}

static uint32_t make_requests(struct sets *sets, uint32_t count)
{
    uint32_t used = 0;

    for (uint32_t fd = 0; fd < count; fd++) {
        uint32_t events = 0;

        for (int i = 0; i < 3; i++) {
            if ((sets->in[i][fd / 64] >> fd % 64 & 1) != 0)
                events |= set_events[i];
        }
        if (events != 0)
            sets->requests[used++] = (struct poll_request){.fd = (int32_t)fd, .events = events};
    }
    return used;
}

/* Returns how many bits are set, or -EBADF. */
static int64_t make_results(struct sets *sets, uint32_t used)
{
    int64_t bits = 0;

    for (uint32_t r = 0; r < used; r++) {
        uint32_t fd = (uint32_t)sets->requests[r].fd;

        if ((sets->requests[r].revents & POLL_NVAL) != 0)
            return -EBADF;
        for (int i = 0; i < 3; i++) {
            if ((sets->in[i][fd / 64] >> fd % 64 & 1) != 0 && (sets->requests[r].revents & set_states[i]) != 0) {
                sets->out[i][fd / 64] |= 1ull << fd % 64;
                bits++;
            }
        }
    }
    return bits;
}

static int64_t select_sets(uint64_t n, const uint64_t addresses[3], uint64_t deadline)
{
    uint32_t count = (int32_t)n > TABLE_MAX ? TABLE_MAX : (uint32_t)n;
    size_t size = (count + 63) / 64 * 8;
    struct sets *sets;
    int64_t result;
    uint32_t used;

    if ((int32_t)n < 0)
        return -EINVAL;
    sets = heap_alloc(sizeof(*sets));
    if (sets == NULL)
        return -ENOMEM;
    result = read_sets(sets, addresses, size);
    used = make_requests(sets, count);
    if (result == 0)
        result = poll_wait(thread_current()->group, sets->requests, used, deadline);
    if (result >= 0)
        result = make_results(sets, used);
    for (int i = 0; i < 3 && result >= 0; i++) {
        if (addresses[i] != 0 && user_write(addresses[i], sets->out[i], size) != 0)
            result = -EFAULT;
    }
    heap_free(sets, sizeof(*sets));
    return result;
}

int64_t call_select(struct call *c)
{
    const uint64_t addresses[3] = {c->a[1], c->a[2], c->a[3]};
    uint64_t deadline;
    int64_t result = read_deadline(c->a[4], 1000, &deadline);

    if (result != 0)
        return result;
    result = select_sets(c->a[0], addresses, deadline);
    if (deadline != NO_WAIT)
        write_remaining(c->a[4], 1000, deadline);
    return result == -ERESTARTSYS ? -ERESTARTNOHAND : result;
}

int64_t call_pselect6(struct call *c)
{
    const uint64_t addresses[3] = {c->a[1], c->a[2], c->a[3]};
    uint64_t mask[2] = {0, SIGSET_SIZE}; /* address and size */
    uint64_t deadline;
    int64_t result = read_deadline(c->a[4], 1, &deadline);

    if (result == 0 && c->a[5] != 0 && user_read(mask, c->a[5], sizeof(mask)) != 0)
        result = -EFAULT;
    if (result == 0)
        result = poll_mask_enter(mask[0], mask[1]);
    if (result != 0)
        return result;
    result = select_sets(c->a[0], addresses, deadline);
    if (deadline != NO_WAIT)
        write_remaining(c->a[4], 1, deadline);
    return poll_mask_leave(result);
}
