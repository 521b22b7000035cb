/* Priority donation. See the header.
 *
 * For each lock that a thread owns and others wait for, its kernel keeps the highest priority among the waiters. The
 * thread runs with the best of its own priority and these, and donates that in turn if it waits for a lock itself.
 * Everything is under the lock of the thread's group; nothing here waits. */
#include "tasks/futex/donation/donation.h"

#include "kernel/abi/errno.h"
#include "mm/frame/heap.h"
#include "tasks/sched/sched.h"
#include "tasks/thread/group.h"

static struct pi_donation **find_locked(struct thread *thread, const struct futex_key *key)
{
    struct pi_donation **at = &thread->pi.donations;

    while (*at != NULL && ((*at)->key.word != key->word || (*at)->key.space != key->space))
        at = &(*at)->next;
    return at;
}

static int priority_of(struct pi_priority priority)
{
    return fair_priority(priority.policy, priority.nice);
}

struct pi_priority pi_priority_locked(const struct thread *thread)
{
    if (thread->donated)
        return (struct pi_priority){thread->donated_policy, thread->donated_nice};
    return (struct pi_priority){thread->context.policy & (uint16_t)~POLICY_RESET_ON_FORK, thread->context.nice};
}

/* Recomputes the best of the thread's donations, which is used if it is better than the thread's own priority. */
static void set_donated_locked(struct thread *thread)
{
    int best = fair_priority(thread->context.policy, thread->context.nice);

    thread->donated = false;
    for (const struct pi_donation *donation = thread->pi.donations; donation != NULL; donation = donation->next) {
        if (priority_of(donation->priority) <= best)
            continue;
        best = priority_of(donation->priority);
        thread->donated = true;
        thread->donated_policy = donation->priority.policy;
        thread->donated_nice = donation->priority.nice;
    }
}

/* If THREAD waits for a lock, makes it donate its changed priority to the owner. */
static void nudge_locked(struct thread *thread)
{
    if (thread->pi.wait == NULL)
        return;
    thread->pi.wait->changed = true;
    if (thread->pi.wait->asleep)
        sched_wake(thread);
}

static void donations_changed_locked(struct thread *thread)
{
    struct pi_priority before = pi_priority_locked(thread), now;

    set_donated_locked(thread);
    now = pi_priority_locked(thread);
    if (now.policy == before.policy && now.nice == before.nice)
        return;
    sched_share_changed(thread);
    nudge_locked(thread);
}

void pi_share_changed_locked(struct thread *thread)
{
    if (thread->pi.donations != NULL)
        set_donated_locked(thread);
    sched_share_changed(thread);
    nudge_locked(thread);
}

static void remove_locked(struct pi_donation **at)
{
    struct pi_donation *donation = *at;

    *at = donation->next;
    heap_free(donation, sizeof(*donation));
}

int64_t pi_donate_locked(struct thread *thread, const struct pi_donation_update *update, struct pi_link *link)
{
    struct pi_donation **at = find_locked(thread, &update->key);

    if (thread->pi.closed)
        return -EAGAIN;
    if (update->how == PI_DONATE) {
        if (*at == NULL) {
            struct pi_donation *donation = heap_alloc(sizeof(*donation));

            if (donation == NULL)
                return -ENOMEM;
            donation->key = update->key;
            *at = donation;
        }
        if (update->stamp > (*at)->stamp) {
            (*at)->stamp = update->stamp;
            (*at)->priority = update->priority;
            donations_changed_locked(thread);
        }
    } else if (update->how == PI_RETRACT && *at != NULL && (*at)->stamp <= update->stamp) {
        remove_locked(at);
        donations_changed_locked(thread);
    }
    if (thread->pi.wait == NULL)
        return 0;
    *link = (struct pi_link){.token = thread->pi.wait->home.token,
                             .home = thread->pi.wait->home.kernel,
                             .looking = thread->pi.wait->looking};
    return 1;
}

void pi_granted_locked(struct pi_wait *wait, uint64_t stamp, struct pi_priority priority)
{
    struct thread *thread = wait->thread;
    struct pi_donation **at = find_locked(thread, &wait->place.key);

    if (*at == NULL) { /* otherwise the donation of a later waiter has arrived first */
        wait->donation->key = wait->place.key;
        *at = wait->donation;
        wait->donation = NULL;
    }
    if (stamp > (*at)->stamp) {
        (*at)->stamp = stamp;
        (*at)->priority = priority;
        donations_changed_locked(thread);
    }
}

bool pi_donation_held(const struct futex_key *key)
{
    struct thread *thread = thread_current();
    bool held;

    spin_lock(&thread->group->lock);
    held = *find_locked(thread, key) != NULL;
    spin_unlock(&thread->group->lock);
    return held;
}

void pi_donation_drop(const struct futex_key *key)
{
    struct thread *thread = thread_current();
    struct pi_donation **at;

    spin_lock(&thread->group->lock);
    at = find_locked(thread, key);
    if (*at != NULL) {
        remove_locked(at);
        donations_changed_locked(thread);
    }
    spin_unlock(&thread->group->lock);
}

bool pi_donation_take(struct futex_key *key)
{
    struct thread *thread = thread_current();
    bool found;

    spin_lock(&thread->group->lock);
    found = thread->pi.donations != NULL;
    if (found) {
        *key = thread->pi.donations->key;
        remove_locked(&thread->pi.donations);
        donations_changed_locked(thread);
    }
    spin_unlock(&thread->group->lock);
    return found;
}

void pi_close(void)
{
    struct thread *thread = thread_current();

    spin_lock(&thread->group->lock);
    thread->pi.closed = true;
    spin_unlock(&thread->group->lock);
}

uint32_t pi_donations_count(const struct thread *thread)
{
    uint32_t count = 0;

    for (const struct pi_donation *donation = thread->pi.donations; donation != NULL; donation = donation->next)
        count++;
    return count;
}

void pi_donations_list(const struct thread *thread, struct pi_donation_update *out)
{
    for (const struct pi_donation *donation = thread->pi.donations; donation != NULL; donation = donation->next)
        *out++ = (struct pi_donation_update){
            .key = donation->key, .stamp = donation->stamp, .priority = donation->priority};
}

void pi_donations_free(struct thread *thread)
{
    while (thread->pi.donations != NULL)
        remove_locked(&thread->pi.donations);
}

int pi_donations_set(struct thread *thread, const struct pi_donation_update *donations, uint32_t count)
{
    struct pi_donation *old = thread->pi.donations;

    thread->pi.donations = NULL;
    for (uint32_t i = 0; i < count; i++) {
        struct pi_donation *donation = heap_alloc(sizeof(*donation));

        if (donation == NULL) {
            pi_donations_free(thread);
            thread->pi.donations = old;
            return -ENOMEM;
        }
        *donation = (struct pi_donation){.next = thread->pi.donations,
                                         .key = donations[i].key,
                                         .stamp = donations[i].stamp,
                                         .priority = donations[i].priority};
        thread->pi.donations = donation;
    }
    while (old != NULL) {
        struct pi_donation *next = old->next;

        heap_free(old, sizeof(*old));
        old = next;
    }
    set_donated_locked(thread);
    return 0;
}
