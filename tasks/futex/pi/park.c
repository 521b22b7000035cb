/* Waiting at a word for a priority-inheritance futex: FUTEX_WAIT_REQUEUE_PI and FUTEX_CMP_REQUEUE_PI. Who waits is
 * parked at the word's home; who requeues puts it among those that wait for the lock, which it gets without having run.
 * See tasks/futex/pi/pi.md. */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "mm/space/space.h"
#include "mm/user/user_copy.h"
#include "tasks/futex/pi/internal.h"

/* -EAGAIN: the word has another value. */
static int check(uint64_t address, uint32_t expected)
{
    uint32_t value;

    if (user_read(&value, address, sizeof(value)) != 0)
        return -EFAULT;
    return value == expected ? 0 : -EAGAIN;
}

struct target { /* of a requeue */
    struct futex_place from, to;
    uint64_t address; /* of the lock's word */
};

/* The lock's word names an owner, with FUTEX_WAITERS: who it is, perhaps the current thread, which takes it if it is
 * free. *TAKEN: to be given back, to one of those that are requeued. */
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

/* Up to COUNT of those that were parked before MARK wait for the lock from now on. How many. */
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

    if (target->from.owner != target->to.owner) { /* a waiter cannot change its home: it goes for the lock itself */
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
            pi_freed(&target->to, state.owner, carried == -ESRCH); /* who waits for it sees for itself */
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
    /* who parks after we have looked has to stay */
    remote_call(target.from.owner, MSG_PI_MARK, NULL, 0, &parked, sizeof(parked), &pi_sure);
    error = check(address, expected);
    if (error != 0)
        return error;
    return requeue_parked(&target, requeue == UINT32_MAX ? requeue : requeue + 1, parked.mark);
}

/* The thread should not have been parked, and was requeued: another is in its place, if there is one. HAS: it has the
 * lock, which it keeps when there is none. */
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

/* What a wait returns that has been told. */
static int64_t told_result(const struct futex_expected *expected, const struct pi_wait *wait, enum pi_notified told)
{
    int64_t result;

    if (told == PI_GRANTED)
        return 0;
    result = futex_lock_pi(wait->address, expected->shared, expected->deadline, false);
    return result == -ERESTARTNOINTR ? -EAGAIN : result;
}

/* 0: *TOLD. */
static int64_t wait_parked(const struct futex_expected *expected, const struct futex_place *word, struct pi_wait *wait,
                           enum pi_notified *told)
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
        return error;
    error = check(expected->address, expected->value);
    *told = error == 0 ? pi_sleep(wait, expected->deadline) : PI_NOTHING;
    if (*told == PI_NOTHING)
        *told = pi_leave(wait, &parked);
    else
        parked = false;
    if (*told == PI_GRANTED) {
        finished = pi_finish(wait);
        if (finished < 0)
            return finished;
        if (finished == 1)
            *told = PI_AGAIN;
    }
    if (error == 0 && *told != PI_NOTHING)
        return 0;
    if (error == 0 && expected->deadline != 0 && clock_now() >= expected->deadline)
        return -ETIMEDOUT;
    if (error == 0)
        return parked ? -ERESTARTNOINTR : -EAGAIN; /* a deadline is a time: it may begin again */
    if (*told == PI_NOTHING && parked)
        return error;
    return pass_on(word, wait, *told == PI_GRANTED, error);
}

int64_t futex_wait_requeue_pi(const struct futex_expected *expected, uint64_t lock)
{
    struct futex_place word, place;
    enum pi_notified told = PI_NOTHING;
    struct pi_wait wait;
    int64_t result;

    if (expected->address == lock)
        return -EINVAL;
    result = futex_find(lock, expected->shared, &place);
    if (result == 0)
        result = futex_find(expected->address, expected->shared, &word);
    if (result == 0)
        result = check(expected->address, expected->value); /* before anybody is bothered */
    if (result == 0)
        result = pi_wait_begin(&wait, &place, lock, word.owner);
    if (result != 0)
        return result;
    result = wait_parked(expected, &word, &wait, &told);
    pi_wait_end(&wait);
    return result == 0 && told != PI_NOTHING ? told_result(expected, &wait, told) : result;
}
