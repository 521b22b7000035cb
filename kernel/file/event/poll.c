/* Waiting for several files. See the header. */
#include "kernel/file/event/poll.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/file/event/look.h"
#include "kernel/file/remote.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/slice.h"
#include "tasks/process/group.h"
#include "tasks/remote/notify.h"
#include "tasks/signal/signal.h"
#include "tasks/thread/thread.h"

#define LOCATED_AT_ONCE 128u /* descriptors that the home is asked about by one request, which a handler answers */

/* A poll of a thread here. */
struct poll_wait {
    struct remote_wait notified; /* notified by each of the files' kernels */
    struct completion ready;
    uint64_t signals; /* the union of the sets of its signalfds */
};

/* Memory for one poll of COUNT descriptors. */
struct poll_space {
    struct file_place *places; /* of each request */
    int32_t *fds;
    struct poll_state *states;     /* of one kernel's items */
    uint32_t *which;               /* the request of each item */
    struct msg_file_poll *message; /* items follow */
    size_t size;
    void *memory;
};

static bool space_make(struct poll_space *space, uint32_t count)
{
    size_t each = sizeof(struct file_place) + sizeof(struct poll_item) + sizeof(struct poll_state) +
                  2 * sizeof(uint32_t);
    uint8_t *at;

    space->size = sizeof(struct msg_file_poll) + (count + 1) * each;
    space->memory = heap_alloc(space->size);
    if (space->memory == NULL)
        return false;
    at = space->memory;
    space->message = (struct msg_file_poll *)(void *)at;
    at += sizeof(struct msg_file_poll) + count * sizeof(struct poll_item);
    space->places = (struct file_place *)(void *)at;
    at += count * sizeof(struct file_place);
    space->states = (struct poll_state *)(void *)at;
    at += count * sizeof(struct poll_state);
    space->fds = (int32_t *)(void *)at;
    space->which = (uint32_t *)(void *)at + count;
    return true;
}

/* Finds the places of the files. Bad descriptors, and those left out, have id 0. */
static int64_t locate(struct group *group, const struct poll_request *requests, uint32_t count,
                      struct poll_space *space)
{
    struct file_request request = {.operation = MSG_FILE_LOCATE};
    struct file_answer answer;
    int64_t result = 0;

    for (uint32_t i = 0; i < count; i++)
        space->fds[i] = requests[i].fd;
    for (uint32_t from = 0; from < count && result >= 0; from += LOCATED_AT_ONCE) {
        uint32_t some = count - from < LOCATED_AT_ONCE ? count - from : LOCATED_AT_ONCE;

        result = file_call(group, &request, space->fds + from, some * sizeof(int32_t), space->places + from,
                           some * sizeof(struct file_place), &answer);
        slice_check();
    }
    return result < 0 ? result : 0;
}

static void wake_waiter(struct remote_wait *notified, const uint64_t *words)
{
    (void)words;
    completion_signal(&container_of(notified, struct poll_wait, notified)->ready);
}

/* Asks KERNEL about its files. Returns how many are ready, or an error. */
static int64_t ask(uint32_t kernel, struct poll_wait *wait, struct poll_request *requests, uint32_t count, bool arm,
                   struct poll_space *space)
{
    struct poll_item *items = (struct poll_item *)(space->message + 1);
    uint32_t found = 0;
    int64_t ready;

    for (uint32_t i = 0; i < count; i++) {
        if (space->places[i].id != 0 && space->places[i].kernel == kernel) {
            items[found] = (struct poll_item){.id = space->places[i].id, .events = requests[i].events};
            space->which[found++] = i;
        }
    }
    *space->message = (struct msg_file_poll){
        .token = wait->notified.token, .count = found, .arm = arm ? POLL_ARM_TELL : 0};
    ready = poll_look(kernel, space->message, space->states);
    for (uint32_t i = 0; i < found && ready >= 0; i++) {
        struct poll_request *request = &requests[space->which[i]];

        slice_check();
        request->revents = space->states[i].state & ~POLL_SIGNALS;
        if ((space->states[i].state & POLL_SIGNALS) == 0 || (request->events & POLL_IN) == 0)
            continue;
        wait->signals |= space->states[i].value;
        if ((signal_pending(thread_current()) & space->states[i].value) != 0)
            request->revents = POLL_IN;
    }
    return ready;
}

static void end_poll(kernel_set armed, uint64_t token)
{
    for (; armed != 0; armed &= armed - 1)
        poll_disarm((uint32_t)__builtin_ctzll(armed), token, POLL_END);
}

/* Waits until one of the kernels notifies the wait, or a signal that one of the signalfds takes is pending. 0: look
 * again; -ERESTARTSYS. */
static int64_t wait_notified(struct poll_wait *wait, uint64_t deadline)
{
    static const struct wait_reason reason = {.what = "one of several files", .kernel = -1};
    struct thread *thread = thread_current();
    bool interrupted;

    if (wait->signals != 0 && signal_watch(thread, wait->signals) != 0) {
        signal_watch_end(thread);
        return 0;
    }
    interrupted = !completion_wait_until(&wait->ready, &reason, WAIT_INTERRUPTIBLE, deadline) &&
                  wait_ops.ended(WAIT_INTERRUPTIBLE);
    if (wait->signals != 0)
        interrupted = signal_watch_end(thread) == 0 && interrupted;
    return interrupted ? -ERESTARTSYS : 0;
}

/* Looks once; if nothing is ready and DEADLINE has not passed, waits. Returns how many have revents, 0: look again; or
 * an error. */
static int64_t poll_once(struct group *group, struct poll_request *requests, uint32_t count, uint64_t deadline,
                         struct poll_space *space)
{
    struct poll_wait wait = {.signals = 0};
    kernel_set kernels = 0, armed = 0;
    bool may_wait = deadline != 1 && (deadline == 0 || clock_now() < deadline);
    int64_t ready = 0, error = locate(group, requests, count, space);

    if (error != 0)
        return error;
    for (uint32_t i = 0; i < count; i++) {
        requests[i].revents = requests[i].fd >= 0 && space->places[i].id == 0 ? POLL_NVAL : 0;
        ready += requests[i].revents != 0;
        if (space->places[i].id != 0)
            kernels |= 1ull << space->places[i].kernel;
    }
    completion_init(&wait.ready);
    remote_wait_begin(&wait.notified, REMOTE_ANY, wake_waiter);
    for (; kernels != 0 && error == 0; kernels &= kernels - 1) {
        uint32_t kernel = (uint32_t)__builtin_ctzll(kernels);
        bool arm = may_wait && ready == 0;
        int64_t some = ask(kernel, &wait, requests, count, arm, space);

        if (some < 0)
            error = some;
        else
            ready += some;
        if (arm && some == 0)
            armed |= 1ull << kernel;
    }
    if (wait.signals != 0 && error == 0) { /* poll_look does not count ready signalfds */
        ready = 0;
        for (uint32_t i = 0; i < count; i++)
            ready += requests[i].revents != 0;
    }
    if (error == 0 && ready == 0 && may_wait)
        error = wait_notified(&wait, deadline);
    remote_wait_end(&wait.notified);
    end_poll(armed, wait.notified.token);
    return error != 0 ? error : ready;
}

int64_t poll_wait(struct group *group, struct poll_request *requests, uint32_t count, uint64_t deadline)
{
    struct poll_space space;
    int64_t result;
    bool last;

    if (!space_make(&space, count))
        return -ENOMEM;
    do {
        last = deadline != 0 && (deadline == 1 || clock_now() >= deadline);
        result = poll_once(group, requests, count, deadline, &space);
    } while (result == 0 && !last);
    heap_free(space.memory, space.size);
    return result;
}
