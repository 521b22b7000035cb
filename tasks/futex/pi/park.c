/* Waiting at a word for a priority-inheriting futex: FUTEX_WAIT_REQUEUE_PI and FUTEX_CMP_REQUEUE_PI. A waiter is parked
 * at the word's home. A requeue moves it to the queue of the lock, which it owns before it runs again. Both calls run
 * in a program's thread, and wait for its memory and for the kernels involved. See tasks/futex/pi/pi.md. */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "mm/space/space.h"
#include "mm/user/user_copy.h"
#include "tasks/futex/pi/internal.h"

/* 0; -EAGAIN: the word has another value; -EFAULT. */
static int check(uint64_t address, uint32_t expected)
{
    uint32_t value;

    if (user_read(&value, address, sizeof(value)) != 0)
        return -EFAULT;
    return value == expected ? 0 : -EAGAIN;
}

struct target { /* the words of a requeue */
    struct futex_place from, to;
    uint64_t address; /* of the lock's word */
};

/* Sets FUTEX_WAITERS in the lock's word at ADDRESS and returns its owner in *OWNER. A free lock is taken for the
 * current thread: *TAKEN, and it has to be released, to one of the requeued threads. 0, -EFAULT. */
static int claim(uint64_t address, uint32_t *owner, bool *taken)
{
    uint32_t self = thread_current()->tid;
    uint32_t word;
    int error;

    if (user_read(&word, address, sizeof(word)) != 0)
        return -EFAULT;
    do {
        *taken = (word & PI_TID_MASK) == 0;
        *owner = *taken ? self : word & PI_TID_MASK;
        error = futex_swap(address, &word, *owner | PI_WAITERS | (word & PI_OWNER_DIED));
    } while (error == -EAGAIN);
    return error;
}

/* Moves up to COUNT of the threads that were parked before MARK to the queue of the lock. Returns their number. */
static int64_t requeue_parked(const struct target *target, uint32_t count, uint64_t mark)
{
    struct remote_how how = {.why = "queue of its lock", .key = target->to.key.word};
    const struct pi_donation_update look = {.how = PI_LOOK};
    struct msg_pi_requeue message = {.key = target->from.key, .to = target->to.key, .mark = mark, .count = count};
    struct msg_pi_state state;
    struct pi_link link;
    int64_t carried;
    bool taken;
    int error;

    if (target->from.owner != target->to.owner) { /* a waiter cannot change its home: it takes the lock by itself */
        error = remote_call(target->from.owner, MSG_PI_RELEASE, &message, sizeof(message), &state, sizeof(state),
                            &pi_sure);
        return error < 0 ? error : (int64_t)state.count;
    }
    error = claim(target->address, &message.owner, &taken);
    if (error != 0)
        return error;
    if (!taken && pi_notify_owner(message.owner, &look, &link, NULL) == -ESRCH)
        return -ESRCH;
    error = remote_call(target->from.owner, MSG_PI_REQUEUE, &message, sizeof(message), &state, sizeof(state), &how);
    if (error >= 0 && state.count > 0) {
        carried = pi_carry(&target->to, &state);
        if (carried < 0)
            pi_freed(&target->to, state.owner, carried == -ESRCH); /* the queued threads check the owner themselves */
        else
            pi_is_late(&target->to, target->address, &state);
    }
    if (taken)
        pi_give_back(&target->to, target->address, false);
    return error < 0 ? error : (int64_t)state.count;
}

int64_t futex_requeue_pi(uint64_t address, uint64_t to, bool shared, uint32_t requeue, uint32_t expected)
{
    struct target target = {.address = to};
    struct msg_pi_marked parked = {.mark = 0};
    int64_t error = address == to ? -EINVAL : futex_find(address, shared, &target.from);

    if (error == 0)
        error = futex_find(to, shared, &target.to);
    if (error != 0)
        return error;
    /* threads that park after the word was read must not be requeued */
    remote_call(target.from.owner, MSG_PI_MARK, NULL, 0, &parked, sizeof(parked), &pi_sure);
    error = check(address, expected);
    if (error != 0)
        return error;
    return requeue_parked(&target, requeue == UINT32_MAX ? requeue : requeue + 1, parked.mark);
}

/* The thread should not have been parked, and was requeued: requeues another one in its place, if there is one. HAS:
 * the thread owns the lock, and keeps it if there is no other. */
static int64_t pass_on(const struct futex_place *word, const struct pi_wait *wait, bool has, int64_t error)
{
    const struct target target = {.from = *word, .to = wait->place, .address = wait->address};
    int64_t moved = requeue_parked(&target, 1, UINT64_MAX);

    if (!has)
        return error;
    if (moved <= 0)
        return 0;
    pi_give_back(&wait->place, wait->address, false);
    return error;
}

/* The result of a wait after the notification TOLD. */
static int64_t notified_result(const struct futex_expected *expected, const struct pi_wait *wait,
                               enum pi_notified notified)
{
    int64_t result;

    if (notified == PI_GRANTED)
        return 0;
    result = futex_lock_pi(wait->address, expected->shared, expected->deadline, false);
    return result == -ERESTARTNOINTR ? -EAGAIN : result;
}

/* Parks the current thread and waits. 0: it was notified with *TOLD; otherwise an error. */
static int64_t wait_parked(const struct futex_expected *expected, const struct futex_place *word, struct pi_wait *wait,
                           enum pi_notified *notified)
{
    struct thread *thread = wait->thread;
    struct remote_how how = {.why = "queue of its word", .key = word->key.word};
    struct msg_pi_park park = {
        .key = word->key, .to = wait->place.key, .token = wait->home.token, .thread = thread->tid};
    bool parked;
    int error, finished;

    spin_lock(&thread->group->lock);
    park.priority = pi_priority_locked(thread);
    spin_unlock(&thread->group->lock);
    error = remote_call(word->owner, MSG_PI_PARK, &park, sizeof(park), NULL, 0, &how);
    if (error < 0)
        return error == -EIO ? -EAGAIN : error; /* that kernel has died: as a word that has changed */
    error = check(expected->address, expected->value);
    *notified = error == 0 ? pi_sleep(wait, expected->deadline) : PI_NOTHING;
    if (*notified == PI_NOTHING)
        *notified = pi_leave(wait, &parked);
    else
        parked = false;
    if (*notified == PI_GRANTED) {
        finished = pi_finish(wait);
        if (finished < 0)
            return finished;
        if (finished == 1)
            *notified = PI_AGAIN;
    }
    if (error == 0 && *notified != PI_NOTHING)
        return 0;
    if (error == 0 && expected->deadline != 0 && clock_now() >= expected->deadline)
        return -ETIMEDOUT;
    if (error == 0)
        return parked ? -ERESTARTNOINTR : -EAGAIN; /* a deadline is absolute, so the call may be restarted */
    if (*notified == PI_NOTHING && parked)
        return error;
    return pass_on(word, wait, *notified == PI_GRANTED, error);
}

int64_t futex_wait_requeue_pi(const struct futex_expected *expected, uint64_t lock)
{
    struct futex_place word, place;
    enum pi_notified notified = PI_NOTHING;
    struct pi_wait wait;
    int64_t result;

    if (expected->address == lock)
        return -EINVAL;
    result = futex_find(lock, expected->shared, &place);
    if (result == 0)
        result = futex_find(expected->address, expected->shared, &word);
    if (result == 0)
        result = check(expected->address, expected->value); /* before parking, which may cost a message */
    if (result == 0)
        result = pi_wait_begin(&wait, &place, lock, word.owner, false);
    if (result != 0)
        return result;
    result = wait_parked(expected, &word, &wait, &notified);
    pi_wait_end(&wait);
    return result == 0 && notified != PI_NOTHING ? notified_result(expected, &wait, notified) : result;
}
