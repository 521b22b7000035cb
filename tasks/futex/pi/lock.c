/* Priority-inheriting futexes (FUTEX_LOCK_PI and related operations): the calls, which run in a program's thread and
 * wait for its memory and for the kernels involved. See tasks/futex/pi/pi.md.
 *
 * The word is 0 when the lock is free, otherwise the owner's thread id, with FUTEX_WAITERS if threads may wait.
 * Programs take and release a lock without waiters without the kernel. A waiter sets FUTEX_WAITERS before it queues, so
 * that the owner has to enter the kernel to release the lock. The releasing thread asks the home for the next owner,
 * and both write the next owner's id into the word, so that it is there before either of them continues. */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "mm/space/space.h"
#include "mm/user/user_copy.h"
#include "msg/channel.h"
#include "tasks/futex/pi/internal.h"
#include "tasks/role/role.h"
#include "tasks/sched/sched.h"
#include "tasks/thread/group.h"

#define PAUSE 200000u /* ns to wait for the end of an ending owner */

/* Takes the lock if it is free: 0. -EBUSY: WORD names another owner; -EDEADLK: the caller owns it; -EFAULT. */
static int try_take(uint64_t address, uint32_t *word)
{
    uint32_t tid = thread_current()->tid;
    int error;

    if (user_read(word, address, sizeof(*word)) != 0)
        return -EFAULT;
    do {
        if ((*word & PI_TID_MASK) == tid)
            return -EDEADLK;
        if ((*word & PI_TID_MASK) != 0)
            return -EBUSY;
        error = futex_swap(address, word, tid | (*word & (PI_OWNER_DIED | PI_WAITERS)));
    } while (error == -EAGAIN);
    return error;
}

/* Sets FUTEX_WAITERS in the word at ADDRESS, which had the value WORD: 0. -EAGAIN: the word has changed; -EFAULT. */
static int set_waiters(uint64_t address, uint32_t *word)
{
    if ((*word & PI_WAITERS) != 0)
        return 0;
    return futex_swap(address, word, *word | PI_WAITERS);
}

/* Whether the word at ADDRESS names OWNER. */
static bool names(uint64_t address, uint32_t owner)
{
    uint32_t word;

    return user_read(&word, address, sizeof(word)) == 0 && (word & PI_TID_MASK) == owner;
}

enum pi_notified pi_sleep(struct pi_wait *wait, uint64_t deadline)
{
    struct wait_reason reason = {.what = "its lock (futex)", .kernel = -1, .key = wait->address};
    struct group *group = wait->thread->group;
    enum pi_notified notified;

    for (;;) {
        bool changed;

        spin_lock(&group->lock);
        wait->asleep = true;
        while (wait->notified == PI_NOTHING && !wait->changed && !wait_ops.ended(WAIT_INTERRUPTIBLE) &&
               (deadline == 0 || clock_now() < deadline)) {
            sched_block(&group->lock, &reason, WAIT_INTERRUPTIBLE, deadline);
            spin_lock(&group->lock);
        }
        wait->asleep = false;
        notified = wait->notified;
        changed = wait->changed;
        spin_unlock(&group->lock);
        if (notified != PI_NOTHING || !changed)
            return notified;
        pi_donate_again(wait);
    }
}

static enum pi_notified wait_notified(struct pi_wait *wait)
{
    struct wait_reason reason = {.what = "word of its lock to arrive", .kernel = (int32_t)wait->home.kernel};
    struct group *group = wait->thread->group;
    enum pi_notified notified;

    spin_lock(&group->lock);
    wait->asleep = true;
    while (wait->notified == PI_NOTHING) {
        sched_block(&group->lock, &reason, WAIT_FIRM, 0);
        spin_lock(&group->lock);
    }
    wait->asleep = false;
    notified = wait->notified;
    spin_unlock(&group->lock);
    return notified;
}

enum pi_notified pi_leave(struct pi_wait *wait, bool *parked)
{
    struct msg_pi_leave leave = {.token = wait->home.token};
    struct msg_pi_state state = {.count = 0};

    *parked = true;
    if (remote_call(wait->home.kernel, MSG_PI_LEAVE, &leave, sizeof(leave), &state, sizeof(state), &pi_sure) < 0)
        return PI_NOTHING; /* that kernel has died, and notifies nobody */
    *parked = state.owner == 0;
    if (state.count == 0)
        return wait_notified(wait);
    if (!*parked && (state.changed != 0 || state.gone != 0))
        pi_carry(&wait->place, &state);
    return PI_NOTHING;
}

void pi_freed(const struct futex_place *place, uint32_t owner, bool died)
{
    struct msg_pi_freed freed = {.key = place->key, .owner = owner, .died = died};
    struct msg_pi_over over;

    remote_call(place->owner, MSG_PI_FREED, &freed, sizeof(freed), &over, sizeof(over), &pi_sure);
}

/* The current thread releases the lock KEY at its home. Returns the new owner, or 0. */
static uint32_t unlock(uint32_t home, const struct futex_key *key, bool died)
{
    struct msg_pi_unlock message = {.key = *key, .owner = thread_current()->tid, .died = died};
    struct msg_pi_thread next = {.thread = 0};

    remote_call(home, MSG_PI_UNLOCK, &message, sizeof(message), &next, sizeof(next), &pi_sure);
    return next.thread;
}

/* The owner that has ended had released the lock before this thread queued, and another thread has taken it: ends the
 * queue that has formed at the home. */
static int disclaim(const struct pi_wait *wait)
{
    pi_freed(&wait->place, thread_current()->tid, true);
    pi_donation_drop(&wait->place.key);
    return 1;
}

/* The releasing thread writes the same value, perhaps before this one; no other thread may change the word while it has
 * FUTEX_WAITERS. */
int pi_finish(const struct pi_wait *wait)
{
    uint32_t self = thread_current()->tid;
    uint32_t word;
    int error;

    if (user_read(&word, wait->address, sizeof(word)) != 0)
        return -EFAULT;
    do {
        if ((word & PI_TID_MASK) == self)
            return 0;
        if (wait->died && (word & PI_TID_MASK) != 0 && (word & PI_TID_MASK) != wait->from)
            return disclaim(wait);
        error = futex_swap(wait->address, &word, self | PI_WAITERS | (wait->died ? PI_OWNER_DIED : 0));
    } while (error == -EAGAIN);
    return error;
}

int pi_give_back(const struct futex_place *place, uint64_t address, bool died)
{
    uint32_t self = thread_current()->tid;
    uint32_t next = unlock(place->owner, &place->key, died);
    uint32_t word, value;
    int error;

    error = user_read(&word, address, sizeof(word)) != 0 ? -EFAULT : -EAGAIN;
    while (error == -EAGAIN) {
        value = (died ? PI_OWNER_DIED | (word & PI_WAITERS) : 0) | (next != 0 ? next | PI_WAITERS : 0);
        error = (word & PI_TID_MASK) == self ? futex_swap(address, &word, value) : 0;
    }
    if (next == 0) /* threads that queued between the request and the write of the word retry */
        pi_freed(place, self, false);
    pi_donation_drop(&place->key); /* last: this thread keeps the donated priority until it has passed on the lock */
    return error;
}

/* Whether the word at ADDRESS names OWNER, with FUTEX_WAITERS: without the bit, OWNER may have released the lock and
 * taken it again by itself. */
static bool is_waited_for(uint64_t address, uint32_t owner)
{
    uint32_t word;

    return user_read(&word, address, sizeof(word)) == 0 && (word & (PI_TID_MASK | PI_WAITERS)) == (owner | PI_WAITERS);
}

/* Whether OWNER, which was granted a lock in the wait TOKEN, has left that wait and so has written the word. */
static bool has_written(uint32_t owner, uint64_t token)
{
    const struct pi_donation_update look = {.how = PI_LOOK};
    struct pi_link link;
    int64_t waits = pi_notify_owner(owner, &look, &link, NULL);

    return waits == 0 || (waits == 1 && link.token != token);
}

/* The owner may have released the lock before these threads were queued, or before the donation arrived. Then the home
 * ends the queue, unless the lock has another owner by now, so that the queued threads retry, and the donation is
 * retracted. */
bool pi_is_late(const struct futex_place *place, uint64_t address, const struct msg_pi_state *state)
{
    struct msg_pi_freed freed = {.key = place->key, .owner = state->owner};
    struct msg_pi_state before = {.owner = state->owner};
    struct msg_pi_over over;
    int error;

    if (is_waited_for(address, state->owner))
        return false;
    error = remote_call(place->owner, MSG_PI_FREED, &freed, sizeof(freed), &over, sizeof(over), &pi_sure);
    if (error >= 0 && over.granted != 0 && has_written(state->owner, over.granted) &&
        !is_waited_for(address, state->owner)) {
        freed.token = over.granted; /* the program has overwritten the word, or has unmapped or reused its memory */
        error = remote_call(place->owner, MSG_PI_FREED, &freed, sizeof(freed), &over, sizeof(over), &pi_sure);
    }
    if (error < 0 || over.granted != 0)
        return false;
    before.stamp = over.stamp;
    pi_retract(&place->key, &before);
    return true;
}

/* WAIT's thread is queued, and the lock has STATE: donates to the owner, and checks whether the owner waits for this
 * thread. 0; -EAGAIN: the owner is ending; -ESRCH: there is no such thread; -EDEADLK; -ENOMEM. */
static int64_t donate(struct pi_wait *wait, const struct msg_pi_state *state)
{
    struct pi_link link;
    uint32_t kernel;
    int64_t error = pi_donate_to_owner(wait, state, &link, &kernel);

    if (error < 0)
        return error;
    if (pi_is_late(&wait->place, wait->address, state) || error == 0)
        return 0;
    return pi_look_for_cycle(wait, state->owner, &link, kernel);
}

/* Takes the lock of the word at ADDRESS from OWNER, which was lost with a kernel. 0; 1: the word has changed, and the
 * caller retries; -EFAULT. */
static int take_over(uint64_t address, uint32_t owner)
{
    uint32_t word;
    int error;

    if (user_read(&word, address, sizeof(word)) != 0)
        return -EFAULT;
    if ((word & PI_TID_MASK) != owner)
        return 1;
    error = futex_swap(address, &word, thread_current()->tid | PI_OWNER_DIED | (word & PI_WAITERS));
    return error == -EAGAIN ? 1 : error;
}

/* OWNER, which the word at ADDRESS named, does not exist. -ESRCH: the word still names it; 1: the caller retries;
 * -ERESTARTNOINTR: it is to die, and must not retry, because the word may name OWNER for ever.
 *
 * When a kernel has died, OWNER may have been lost with it, and nobody can tell: its lock is then taken over, as one
 * that its owner's end has released: 0. While a death is cleaned up, OWNER may still run elsewhere. */
static int owner_gone(uint64_t address, uint32_t owner)
{
    static const struct wait_reason ends = {.what = "end of a lost lock's owner", .kernel = -1};

    if (thread_dying(thread_current()))
        return -ERESTARTNOINTR;
    if (!names(address, owner))
        return 1;
    if (msg_peers_fenced() != 0) {
        sched_block(NULL, &ends, WAIT_INTERRUPTIBLE, clock_now() + PAUSE);
        return wait_ops.ended(WAIT_INTERRUPTIBLE) ? -ERESTARTNOINTR : 1;
    }
    return role_lost() ? take_over(address, owner) : -ESRCH;
}

/* The kernel that has the lock's queue has died. The word may be in memory that processes share, of which another
 * kernel has the queues once the death is cleaned up: so the call begins again, after a pause in which this thread can
 * be quiesced. That of a process at home there ends. */
static int home_lost(uint64_t deadline)
{
    static const struct wait_reason reason = {.what = "another queue of its lock", .kernel = -1};

    sched_block(NULL, &reason, WAIT_INTERRUPTIBLE, clock_now() + PAUSE);
    return deadline != 0 && clock_now() >= deadline ? -ETIMEDOUT : -ERESTARTNOINTR;
}

static int wait_in_queue(struct pi_wait *wait, uint32_t owner, uint64_t deadline)
{
    static const struct wait_reason ends = {.what = "end of a lock's owner", .kernel = -1};
    struct thread *thread = wait->thread;
    struct remote_how how = {.why = "queue of its lock", .key = wait->place.key.word};
    struct msg_pi_join join = {
        .key = wait->place.key, .token = wait->home.token, .thread = thread->tid, .owner = owner};
    enum pi_notified notified = PI_NOTHING;
    struct msg_pi_state state;
    int64_t error;
    bool parked;

    spin_lock(&thread->group->lock);
    join.priority = pi_priority_locked(thread);
    spin_unlock(&thread->group->lock);
    error = remote_call(wait->home.kernel, MSG_PI_JOIN, &join, sizeof(join), &state, sizeof(state), &how);
    if (error == -EIO)
        return home_lost(deadline);
    if (error < 0)
        return (int)error;
    error = donate(wait, &state);
    if (error == 0) { /* after an error `looking` stays set until the thread has left: others that search see that this
                       * cycle is about to be broken */
        spin_lock(&thread->group->lock);
        wait->looking = false;
        spin_unlock(&thread->group->lock);
        notified = pi_sleep(wait, deadline);
    }
    if (notified == PI_NOTHING)
        notified = pi_leave(wait, &parked);
    if (notified == PI_GRANTED)
        return pi_finish(wait);
    if (notified == PI_AGAIN)
        pi_retract(&wait->place.key, &state);
    if (error == -ESRCH) {
        pi_freed(&wait->place, state.owner, true); /* other threads that are queued for it retry */
        error = owner_gone(wait->address, state.owner);
        return error == 1 && deadline != 0 && clock_now() >= deadline ? -ETIMEDOUT : (int)error;
    }
    if (error == -EAGAIN)
        sched_block(NULL, &ends, WAIT_INTERRUPTIBLE, clock_now() + PAUSE);
    else if (error != 0)
        return (int)error;
    if (deadline != 0 && clock_now() >= deadline)
        return -ETIMEDOUT;
    return wait_ops.ended(WAIT_INTERRUPTIBLE) ? -ERESTARTNOINTR : 1;
}

/* Waits for the lock, which OWNER owns. 0: the current thread owns it; 1: it has to retry; or an error. */
static int wait_for_lock(const struct futex_place *place, uint64_t address, uint32_t owner, uint64_t deadline)
{
    struct pi_wait wait;
    int result = pi_wait_begin(&wait, place, address, place->owner, true);

    if (result != 0)
        return result;
    result = wait_in_queue(&wait, owner, deadline);
    pi_wait_end(&wait);
    return result;
}

/* The result of a TRY on a lock that another thread owns; its word at ADDRESS is WORD. -EAGAIN, or as owner_gone if
 * there is no such thread. */
static int64_t try_fails(uint64_t address, uint32_t word)
{
    const struct pi_donation_update look = {.how = PI_LOOK};
    struct pi_link link;
    int result = 1;

    if (pi_notify_owner(word & PI_TID_MASK, &look, &link, NULL) == -ESRCH)
        result = owner_gone(address, word & PI_TID_MASK);
    return result == 1 ? -EAGAIN : result;
}

int64_t futex_lock_pi(uint64_t address, bool shared, uint64_t deadline, bool try)
{
    struct futex_place place;
    uint32_t word, old;
    int result = futex_find(address, shared, &place);

    if (result != 0)
        return result;
    do {
        result = try_take(address, &word);
        if (result != -EBUSY)
            return result;
        if (try)
            return try_fails(address, word);
        old = word;
        result = set_waiters(address, &word);
        if (result == 0)
            result = wait_for_lock(&place, address, word & PI_TID_MASK, deadline);
        word = old | PI_WAITERS;
        if (result == -ESRCH && word != old)
            futex_swap(address, &word, old);
    } while (result == 1 || result == -EAGAIN);
    return result;
}

int64_t futex_unlock_pi(uint64_t address, bool shared)
{
    struct futex_place place;
    uint32_t word;
    int error;

    if (user_read(&word, address, sizeof(word)) != 0)
        return -EFAULT;
    if ((word & PI_TID_MASK) != thread_current()->tid)
        return -EPERM; /* before the address is looked at, as on Linux */
    error = futex_find(address, shared, &place);
    if (error != 0)
        return error;
    do {
        if ((word & PI_TID_MASK) != thread_current()->tid)
            return -EPERM;
        if ((word & PI_WAITERS) != 0)
            return pi_give_back(&place, address, false);
        error = futex_swap(address, &word, 0);
    } while (error == -EAGAIN);
    return error;
}

void pi_release_thread(void)
{
    struct futex_key key;

    while (pi_donation_take(&key)) /* the thread that is granted the lock writes the word */
        unlock(futex_owner(&key), &key, true);
}
