/* Futex operations of a program's thread. See the header and tasks/futex/futex.md.
 *
 * A waiter queues first and reads the word afterwards, because the queue may be on another kernel and the word's page
 * may have to be fetched: if the read misses a store, the wake after that store finds the waiter queued. If the read
 * finds another value although a wake has been counted for the waiter, it passes this wake on. */
#include "tasks/futex/futex.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "mm/space/space.h"
#include "mm/user/shared.h"
#include "mm/user/user_copy.h"
#include "tasks/futex/internal.h"
#include "tasks/process/group.h"

/* A wake that was counted for this thread is passed on; if there is no other waiter, the thread was woken after all. */
int64_t futex_give_up(struct futex_wait *wait, const struct futex_place *place, int64_t error)
{
    struct futex_place where = *place;
    uint32_t bitset;

    if (!futex_leave(wait, true))
        return error;
    where.key = wait->waiter.key;
    bitset = wait->waiter.bitset;
    if (futex_wake_at(&where, 1, bitset) > 0)
        return error;
    if (!futex_same_key(&where.key, &place->key) && futex_wake_at(place, 1, FUTEX_ANY) > 0)
        return error; /* without this thread, the requeue would have moved that one */
    return 0;
}

static int64_t interrupted(const struct futex_expected *expected)
{
    struct thread_context *context = &thread_current()->context;

    if (expected->deadline == 0)
        return -ERESTARTSYS;
    context->restart_function = RESTART_FUTEX;
    context->restart_argument[0] = expected->deadline;
    context->restart_argument[1] = expected->address | (expected->shared ? 1 : 0); /* bit 0 of the address is 0 */
    context->restart_argument[2] = (uint64_t)expected->bitset << 32 | expected->value;
    return -ERESTART_RESTARTBLOCK;
}

int64_t futex_wait_again(void)
{
    const struct thread_context *context = &thread_current()->context;
    struct futex_expected expected = {.deadline = context->restart_argument[0],
                                      .address = context->restart_argument[1] & ~1ull,
                                      .shared = (context->restart_argument[1] & 1) != 0,
                                      .value = (uint32_t)context->restart_argument[2],
                                      .bitset = (uint32_t)(context->restart_argument[2] >> 32)};

    return futex_wait(&expected);
}

int64_t futex_wait(const struct futex_expected *expected)
{
    struct wait_reason reason = {.what = "its futex", .kernel = -1, .key = expected->address};
    struct futex_place place;
    struct futex_wait wait;
    uint32_t value;
    int error = futex_find(expected->address, expected->shared, &place);

    if (error != 0)
        return error;
    if (user_read(&value, expected->address, sizeof(value)) != 0)
        return -EFAULT;
    if (value != expected->value || futex_poll(expected, &place))
        return -EAGAIN; /* before queueing, which may cost a message */
    error = futex_release_lost_word(expected->address, value, &place);
    if (error != 0)
        return error;
    error = futex_join(&wait, &place, expected->bitset);
    if (error != 0)
        return error;
    if (user_read(&value, expected->address, sizeof(value)) != 0)
        return futex_give_up(&wait, &place, -EFAULT);
    if (value != expected->value)
        return futex_give_up(&wait, &place, -EAGAIN);
    error = futex_check_place(expected->address, &place);
    if (error != 0)
        return futex_give_up(&wait, &place, error);
    if (completion_wait_until(&wait.woken, &reason, WAIT_INTERRUPTIBLE, expected->deadline)) {
        futex_woken(&wait);
        return 0;
    }
    if (futex_leave(&wait, false))
        return 0;
    if (expected->deadline != 0 && clock_now() >= expected->deadline)
        return -ETIMEDOUT;
    return interrupted(expected);
}

static __attribute__((noinline)) int64_t wake(uint64_t address, bool shared, uint32_t count, uint32_t bitset)
{
    struct futex_place place;
    int error = shared ? futex_find(address, true, &place) : futex_find_private(address, &place);

    if (error != 0)
        return error;
    return futex_wake_at(&place, count, bitset);
}

/* Most wakes find no waiter. If the queue is on this kernel, a single load shows this. */
int64_t futex_wake(uint64_t address, bool shared, uint32_t count, uint32_t bitset)
{
    struct futex_place place;

    if (!shared && futex_find_private(address, &place) == 0 && place.owner == instance.kernel &&
        futex_queue_empty(&place.key))
        return 0;
    return wake(address, shared, count, bitset);
}

int64_t futex_requeue(uint64_t address, uint64_t to, bool shared, uint32_t wake, uint32_t requeue,
                      const uint32_t *expected)
{
    struct msg_futex_requeue request = {.mark = UINT64_MAX, .wake = wake, .requeue = requeue};
    struct futex_place from, target;
    int64_t error = futex_find(address, shared, &from);
    uint32_t value;

    if (error == 0)
        error = futex_find(to, shared, &target);
    if (error == 0 && expected != NULL) { /* waiters that queue after the word was read must not be requeued */
        error = futex_mark_at(&from, &request.mark);
        if (error == 0 && user_read(&value, address, sizeof(value)) != 0)
            error = -EFAULT;
        if (error == 0 && value != *expected)
            error = -EAGAIN;
    }
    if (error != 0)
        return error;
    request.from = from.key;
    request.to = target.key;
    if (from.owner != target.owner) { /* waiters cannot change their owner: they wake, and queue there themselves */
        request.to = from.key;
        request.wake = wake > UINT32_MAX - requeue ? UINT32_MAX : wake + requeue;
        request.requeue = 0;
    }
    error = futex_requeue_at(from.owner, &request);
    if (error > 0 && request.requeue != 0 && futex_check_place(to, &target) != 0)
        futex_wake_at(&target, UINT32_MAX,
                      FUTEX_ANY); /* its number may name another object by now: nobody stays there */
    return error;
}

enum { OP_SET, OP_ADD, OP_OR, OP_ANDN, OP_XOR, OPS };
enum { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE, CMPS };
#define OP_SHIFT 8u /* flag of OP: the argument is an exponent */

struct operation {
    uint32_t op, cmp, argument;
    int32_t compared;
};

/* Sign-extends the low twelve bits. */
static int32_t twelve(uint32_t bits)
{
    return (int32_t)(bits << 20) >> 20;
}

static bool decode(uint32_t encoded, struct operation *operation)
{
    operation->op = encoded >> 28 & 7;
    operation->cmp = encoded >> 24 & 15;
    operation->argument = (uint32_t)twelve(encoded >> 12);
    operation->compared = twelve(encoded);
    if ((encoded >> 28 & OP_SHIFT) != 0)
        operation->argument = 1u << (operation->argument & 31);
    return operation->op < OPS && operation->cmp < CMPS;
}

static uint32_t changed(const struct operation *operation, uint32_t old)
{
    switch (operation->op) {
    case OP_SET:
        return operation->argument;
    case OP_ADD:
        return old + operation->argument;
    case OP_OR:
        return old | operation->argument;
    case OP_ANDN:
        return old & ~operation->argument;
    default:
        return old ^ operation->argument;
    }
}

static bool holds(const struct operation *operation, uint32_t old)
{
    int32_t value = (int32_t)old;

    switch (operation->cmp) {
    case CMP_EQ:
        return value == operation->compared;
    case CMP_NE:
        return value != operation->compared;
    case CMP_LT:
        return value < operation->compared;
    case CMP_LE:
        return value <= operation->compared;
    case CMP_GT:
        return value > operation->compared;
    default:
        return value >= operation->compared;
    }
}

int64_t futex_wake_op(uint64_t address, uint64_t second, bool shared, uint32_t wake, uint32_t wake_second,
                      uint32_t encoded)
{
    struct operation operation;
    struct futex_place first_place, second_place;
    int64_t result, more;
    uint32_t old;
    int error = futex_find(address, shared, &first_place);

    if (error == 0)
        error = futex_find(second, shared, &second_place);
    if (error == 0 && !decode(encoded, &operation))
        error = -ENOSYS;
    if (error == 0 && user_read(&old, second, sizeof(old)) != 0)
        error = -EFAULT;
    if (error != 0)
        return error;
    do
        error = futex_swap(second, &old, changed(&operation, old));
    while (error == -EAGAIN);
    if (error != 0)
        return error;
    result = futex_wake_at(&first_place, wake, FUTEX_ANY);
    if (result < 0 || !holds(&operation, old))
        return result;
    more = futex_wake_at(&second_place, wake_second, FUTEX_ANY);
    return more < 0 ? more : result + more;
}
