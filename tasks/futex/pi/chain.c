/* Donating to the owner of a lock on any kernel, and following chains of waiting owners. See tasks/futex/pi/pi.md. Runs
 * in a program's thread, and waits for the kernels that it asks.
 *
 * A state of a lock is sent to its owner with the stamp that the home gave it, and the owner keeps the latest one. The
 * state may arrive after the owner has released the lock. So its sender checks the owner again afterwards, and if it
 * has changed retracts the donation. */
#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "tasks/futex/pi/internal.h"
#include "tasks/locate/locate.h"
#include "tasks/sched/sched.h"

#define PAUSE 100000u /* ns between two searches for a cycle, while another thread searches */

int64_t pi_notify_owner(uint32_t owner, const struct pi_donation_update *update, struct pi_link *link, uint32_t *kernel)
{
    struct msg_thread_call call = {.thread = owner, .type = MSG_THREAD_DONATE, .update = *update};
    struct msg_thread_result result;
    int64_t value = thread_call(&call, &result, kernel);

    *link = result.link;
    return value;
}

static struct pi_donation_update update_of(const struct futex_key *key, const struct msg_pi_state *state,
                                           enum pi_how how)
{
    return (struct pi_donation_update){.key = *key, .stamp = state->stamp, .how = how, .priority = state->priority};
}

void pi_retract(const struct futex_key *key, const struct msg_pi_state *state)
{
    struct pi_donation_update update = update_of(key, state, PI_RETRACT);
    struct pi_link link;

    pi_notify_owner(state->owner, &update, &link, NULL); /* a thread that does not exist has no donation to retract */
}

int64_t pi_donate_to_owner(const struct pi_wait *wait, const struct msg_pi_state *state, struct pi_link *link,
                           uint32_t *kernel)
{
    struct pi_donation_update update = update_of(&wait->place.key, state, PI_DONATE);

    return pi_notify_owner(state->owner, &update, link, kernel);
}

/* Other threads may have owned the lock meanwhile, and the same owner may have taken it again without waiters: only the
 * home knows. */
int64_t pi_carry(const struct futex_place *place, const struct msg_pi_state *state)
{
    struct msg_pi_held held = {.key = place->key};
    struct pi_donation_update update = update_of(&place->key, state, PI_DONATE);
    struct msg_pi_thread owner = {.thread = 0};
    struct pi_link link;
    int64_t error;

    if (state->gone == 0) {
        error = pi_notify_owner(state->owner, &update, &link, NULL);
        if (error < 0)
            return error;
        remote_call(place->owner, MSG_PI_HELD, &held, sizeof(held), &owner, sizeof(owner), &pi_sure);
        if (owner.thread == state->owner)
            return 0;
    }
    pi_retract(&place->key, state);
    return 0;
}

void pi_donate_again(struct pi_wait *wait)
{
    struct thread *thread = thread_current();
    struct msg_pi_change change = {.token = wait->home.token};
    struct msg_pi_state state = {.count = 0};

    spin_lock(&thread->group->lock);
    wait->changed = false;
    change.priority = pi_priority_locked(thread);
    spin_unlock(&thread->group->lock);
    remote_call(wait->home.kernel, MSG_PI_CHANGE, &change, sizeof(change), &state, sizeof(state), &pi_sure);
    if (state.count == 1 && state.changed != 0)
        pi_carry(&wait->place, &state);
}

/* Returns the owner of the lock for which the waiter at LINK, of KERNEL, is queued; 0: it does not wait any more. */
static uint32_t owner_at(const struct pi_link *link, uint32_t kernel)
{
    struct msg_pi_owner message = {.token = link->token, .kernel = kernel};
    struct msg_pi_thread owner = {.thread = 0};

    remote_call(link->home, MSG_PI_OWNER, &message, sizeof(message), &owner, sizeof(owner), &pi_sure);
    return owner.thread;
}

/* Follows the chain from THREAD, which waits at LINK, of KERNEL. 0: the chain does not lead back to the current thread.
 * -EDEADLK: it does, or is too long. -EAGAIN: it does, but a thread with a greater id in the chain is searching, too,
 * and gives up in place of the current one. */
static int look_once(uint32_t thread, struct pi_link link, uint32_t kernel)
{
    const struct pi_donation_update look = {.how = PI_LOOK};
    uint32_t self = thread_current()->tid;
    bool other = link.looking != 0 && thread > self;

    for (uint32_t length = 0; length < PI_CHAIN_MAX; length++) {
        uint32_t owner = owner_at(&link, kernel);

        if (owner == 0)
            return 0;
        if (owner == self)
            return other ? -EAGAIN : -EDEADLK;
        if (pi_notify_owner(owner, &look, &link, &kernel) != 1)
            return 0;
        other = other || (link.looking != 0 && owner > self);
    }
    return -EDEADLK;
}

/* If several threads close a cycle at the same time, only one gives up. Each is queued before it searches, so at least
 * one of them sees the cycle. A thread that sees another one searching waits until that has given up or has not found
 * the cycle. */
int pi_look_for_cycle(struct pi_wait *wait, uint32_t owner, const struct pi_link *link, uint32_t kernel)
{
    struct wait_reason reason = {.what = "another that would wait for itself", .kernel = -1, .key = wait->address};
    const struct pi_link own = {.token = wait->home.token, .home = wait->home.kernel};
    int result = look_once(owner, *link, kernel);

    while (result == -EAGAIN && !wait_ops.ended(WAIT_KILLABLE)) {
        sched_block(NULL, &reason, WAIT_FIRM, clock_now() + PAUSE); /* in a killable wait it is quiesced */
        result = look_once(wait->thread->tid, own, instance.kernel);
    }
    return result == -EAGAIN ? 0 : result;
}
