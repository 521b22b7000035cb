/* System calls on futexes: decoding of their arguments. */
#include "tasks/futex/futex.h"
#include "kernel/abi/clock.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/calls/calls.h"
#include "mm/frame/heap.h"
#include "mm/space/space.h"
#include "mm/user/user_copy.h"
#include "tasks/locate/locate.h"
#include "tasks/locate/wire.h"
#include "tasks/process/group.h"
#include "tasks/process/permission.h"

#define SECOND 1000000000ull

#define FUTEX_PRIVATE 128u
#define FUTEX_CLOCK_REALTIME 256u
#define FUTEX_ANY UINT32_MAX

enum {
    FUTEX_WAIT = 0,
    FUTEX_WAKE = 1,
    FUTEX_REQUEUE = 3,
    FUTEX_CMP_REQUEUE = 4,
    FUTEX_WAKE_OP = 5,
    FUTEX_LOCK_PI = 6,
    FUTEX_UNLOCK_PI = 7,
    FUTEX_TRYLOCK_PI = 8,
    FUTEX_WAIT_BITSET = 9,
    FUTEX_WAKE_BITSET = 10,
    FUTEX_WAIT_REQUEUE_PI = 11,
    FUTEX_CMP_REQUEUE_PI = 12,
    FUTEX_LOCK_PI2 = 13
};

/* Converts the struct timespec at ADDRESS to a deadline (clock_now ns); 0 if ADDRESS is 0. -EFAULT, -EINVAL. */
static int read_deadline(uint64_t address, bool relative, bool realtime, uint64_t *deadline)
{
    uint64_t time[2], at;
    uint64_t epoch = realtime ? clock_epoch() : 0;

    *deadline = 0;
    if (address == 0)
        return 0;
    if (user_read(time, address, sizeof(time)) != 0)
        return -EFAULT;
    if ((int64_t)time[0] < 0 || time[1] >= SECOND)
        return -EINVAL;
    at = time[0] > INT64_MAX / SECOND - 1 ? INT64_MAX : time[0] * SECOND + time[1];
    if (relative)
        at += clock_now(); /* at most 2^63 each */
    else
        at = at > epoch ? at - epoch : 0;
    *deadline = at > 0 ? at : 1; /* 0 would mean no deadline */
    return 0;
}

static int64_t wait(const struct call *c, uint32_t operation, bool shared, bool realtime)
{
    struct futex_expected expected = {.address = c->a[0],
                                      .value = (uint32_t)c->a[2],
                                      .bitset = operation == FUTEX_WAIT ? FUTEX_ANY : (uint32_t)c->a[5],
                                      .shared = shared};
    int error = read_deadline(c->a[3], operation == FUTEX_WAIT, realtime, &expected.deadline);

    if (error == 0 && expected.bitset == 0)
        error = -EINVAL;
    return error != 0 ? error : futex_wait(&expected);
}

/* Returns the number of waiters to wake. Linux treats 0 and negative numbers as 1. */
static uint32_t at_least_one(uint64_t count)
{
    return (int32_t)count < 1 ? 1 : (uint32_t)count;
}

static int64_t requeue(const struct call *c, bool shared, bool compare)
{
    uint32_t expected = (uint32_t)c->a[5];

    if ((int32_t)c->a[2] < 0 || (int32_t)c->a[3] < 0)
        return -EINVAL;
    return futex_requeue(c->a[0], c->a[4], shared, (uint32_t)c->a[2], (uint32_t)c->a[3], compare ? &expected : NULL);
}

static int64_t wait_requeue_pi(const struct call *c, bool shared, bool realtime)
{
    struct futex_expected expected = {
        .address = c->a[0], .value = (uint32_t)c->a[2], .bitset = FUTEX_ANY, .shared = shared};
    int error = read_deadline(c->a[3], false, realtime, &expected.deadline);

    return error != 0 ? error : futex_wait_requeue_pi(&expected, c->a[4]);
}

static int64_t requeue_pi(const struct call *c, bool shared)
{
    if ((int32_t)c->a[2] != 1 || (int32_t)c->a[3] < 0)
        return -EINVAL;
    return futex_requeue_pi(c->a[0], c->a[4], shared, (uint32_t)c->a[3], (uint32_t)c->a[5]);
}

static int64_t lock(const struct call *c, bool shared, bool realtime)
{
    uint64_t deadline;
    int error = read_deadline(c->a[3], false, realtime, &deadline);

    return error != 0 ? error : futex_lock_pi(c->a[0], shared, deadline, false);
}

static __attribute__((noinline)) int64_t futex(const struct call *c)
{
    uint32_t operation = (uint32_t)c->a[1] & ~(FUTEX_PRIVATE | FUTEX_CLOCK_REALTIME);
    bool shared = (c->a[1] & FUTEX_PRIVATE) == 0;
    bool realtime = (c->a[1] & FUTEX_CLOCK_REALTIME) != 0;

    if (realtime && operation != FUTEX_WAIT_BITSET && operation != FUTEX_WAIT_REQUEUE_PI && operation != FUTEX_LOCK_PI2)
        return -ENOSYS;
    switch (operation) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
        return wait(c, operation, shared, realtime);
    case FUTEX_WAKE:
        return futex_wake(c->a[0], shared, at_least_one(c->a[2]), FUTEX_ANY);
    case FUTEX_WAKE_BITSET:
        if ((uint32_t)c->a[5] == 0)
            return -EINVAL;
        return futex_wake(c->a[0], shared, at_least_one(c->a[2]), (uint32_t)c->a[5]);
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
        return requeue(c, shared, operation == FUTEX_CMP_REQUEUE);
    case FUTEX_WAIT_REQUEUE_PI:
        return wait_requeue_pi(c, shared, realtime);
    case FUTEX_CMP_REQUEUE_PI:
        return requeue_pi(c, shared);
    case FUTEX_WAKE_OP:
        return futex_wake_op(c->a[0], c->a[4], shared, at_least_one(c->a[2]), at_least_one(c->a[3]), (uint32_t)c->a[5]);
    case FUTEX_LOCK_PI:
        return lock(c, shared, true);
    case FUTEX_LOCK_PI2:
        return lock(c, shared, realtime);
    case FUTEX_TRYLOCK_PI:
        return futex_lock_pi(c->a[0], shared, 0, true);
    case FUTEX_UNLOCK_PI:
        return futex_unlock_pi(c->a[0], shared);
    default:
        return -ENOSYS;
    }
}

int64_t call_futex(struct call *c)
{
    if (c->a[1] == (FUTEX_WAKE | FUTEX_PRIVATE)) /* a shorter path for the most frequent call */
        return futex_wake(c->a[0], false, at_least_one(c->a[2]), FUTEX_ANY);
    return futex(c);
}

#define ROBUST_LIST_SIZE 24u /* of struct robust_list_head */

int64_t call_set_robust_list(struct call *c)
{
    if (c->a[1] != ROBUST_LIST_SIZE)
        return -EINVAL;
    return futex_set_robust(c->a[0]);
}

int64_t call_get_robust_list(struct call *c)
{
    const struct thread *self = thread_current();
    struct msg_thread_call call = {.thread = (uint32_t)c->a[0], .type = MSG_THREAD_ROBUST_LIST};
    struct msg_thread_result result;
    uint64_t size = ROBUST_LIST_SIZE;
    uint64_t list = self->context.robust_list;

    if (call.thread != 0 && call.thread != self->tid) {
        struct msg_thread_call owner = {.thread = call.thread, .type = MSG_THREAD_GROUP};
        int64_t process = (int32_t)call.thread < 0 ? -ESRCH : thread_call(&owner, &result, NULL);

        if (process <= 0)
            return -ESRCH;
        if (credentials_may_reach((uint32_t)process, true) != 0)
            return -EPERM;
        if (thread_call(&call, &result, NULL) != 0)
            return -ESRCH;
        list = result.robust_list;
    }
    if (user_write(c->a[2], &size, sizeof(size)) != 0 || user_write(c->a[1], &list, sizeof(list)) != 0)
        return -EFAULT;
    return 0;
}

#define WAITV_32 2u

struct linux_waitv { /* futex_waitv(2) */
    uint64_t value, address;
    uint32_t flags, reserved;
};

static int64_t read_words(uint64_t address, uint32_t count, struct futex_expected *words)
{
    for (uint32_t i = 0; i < count; i++) {
        struct linux_waitv given;

        if (user_read(&given, address + i * sizeof(given), sizeof(given)) != 0)
            return -EFAULT;
        if ((given.flags & ~(WAITV_32 | FUTEX_PRIVATE)) != 0 || given.reserved != 0 || (given.flags & WAITV_32) == 0)
            return -EINVAL;
        words[i] = (struct futex_expected){.address = given.address,
                                           .value = (uint32_t)given.value,
                                           .bitset = FUTEX_ANY,
                                           .shared = (given.flags & FUTEX_PRIVATE) == 0};
    }
    for (uint32_t i = 0; i < count; i++) { /* of all, before any word is read */
        if ((words[i].address & 3) != 0)
            return -EINVAL;
        if (words[i].address > USER_END - 4)
            return -EFAULT;
    }
    return 0;
}

int64_t call_futex_waitv(struct call *c)
{
    uint32_t count = (uint32_t)c->a[1];
    struct futex_expected *words;
    uint64_t deadline = 0;
    int64_t result = 0;

    if ((uint32_t)c->a[2] != 0 || count == 0 || count > FUTEX_WORDS_MAX || c->a[0] == 0)
        return -EINVAL;
    if (c->a[3] != 0 && (uint32_t)c->a[4] != CLOCK_MONOTONIC && (uint32_t)c->a[4] != CLOCK_REALTIME)
        return -EINVAL;
    if (c->a[3] != 0)
        result = read_deadline(c->a[3], false, (uint32_t)c->a[4] == CLOCK_REALTIME, &deadline);
    if (result != 0)
        return result;
    words = heap_alloc(count * sizeof(*words));
    if (words == NULL)
        return -ENOMEM;
    result = read_words(c->a[0], count, words);
    if (result == 0)
        result = futex_wait_several(words, count, deadline);
    heap_free(words, count * sizeof(*words));
    return result;
}
