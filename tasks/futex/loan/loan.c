/* What threads are lent: of each lock that one has and others wait for, how urgent the most urgent of them is. A thread
 * runs with the best of its own and all of these, and lends that on if it waits for a lock itself. See the header. */
#include "tasks/futex/loan/loan.h"

#include "kernel/abi/errno.h"
#include "mm/frame/heap.h"
#include "tasks/sched/sched.h"
#include "tasks/thread/group.h"

static struct pi_loan **find_locked(struct thread *thread, const struct futex_key *key)
{
    struct pi_loan **at = &thread->pi.loans;

    while (*at != NULL && ((*at)->key.word != key->word || (*at)->key.space != key->space))
        at = &(*at)->next;
    return at;
}

static int urgency_of(struct pi_urgency urgency)
{
    return fair_urgency(urgency.policy, urgency.nice);
}

struct pi_urgency pi_urgency_locked(const struct thread *thread)
{
    if (thread->lent)
        return (struct pi_urgency){thread->lent_policy, thread->lent_nice};
    return (struct pi_urgency){thread->context.policy & (uint16_t)~POLICY_RESET_ON_FORK, thread->context.nice};
}

/* The best of what it is lent, if that is better than its own. */
static void set_lent_locked(struct thread *thread)
{
    int best = fair_urgency(thread->context.policy, thread->context.nice);

    thread->lent = false;
    for (const struct pi_loan *loan = thread->pi.loans; loan != NULL; loan = loan->next) {
        if (urgency_of(loan->urgency) <= best)
            continue;
        best = urgency_of(loan->urgency);
        thread->lent = true;
        thread->lent_policy = loan->urgency.policy;
        thread->lent_nice = loan->urgency.nice;
    }
}

/* One that waits lends something else from now on. */
static void nudge_locked(struct thread *thread)
{
    if (thread->pi.wait == NULL)
        return;
    thread->pi.wait->changed = true;
    if (thread->pi.wait->asleep)
        sched_wake(thread);
}

static void loans_changed_locked(struct thread *thread)
{
    struct pi_urgency before = pi_urgency_locked(thread), now;

    set_lent_locked(thread);
    now = pi_urgency_locked(thread);
    if (now.policy == before.policy && now.nice == before.nice)
        return;
    sched_share_changed(thread);
    nudge_locked(thread);
}

void pi_share_changed_locked(struct thread *thread)
{
    if (thread->pi.loans != NULL)
        set_lent_locked(thread);
    sched_share_changed(thread);
    nudge_locked(thread);
}

static void remove_locked(struct pi_loan **at)
{
    struct pi_loan *loan = *at;

    *at = loan->next;
    heap_free(loan, sizeof(*loan));
}

int64_t pi_lend_locked(struct thread *thread, const struct pi_lending *lending, struct pi_link *link)
{
    struct pi_loan **at = find_locked(thread, &lending->key);

    if (thread->pi.closed)
        return -EAGAIN;
    if (lending->how == PI_LEND) {
        if (*at == NULL) {
            struct pi_loan *loan = heap_alloc(sizeof(*loan));

            if (loan == NULL)
                return -ENOMEM;
            loan->key = lending->key;
            *at = loan;
        }
        if (lending->stamp > (*at)->stamp) {
            (*at)->stamp = lending->stamp;
            (*at)->urgency = lending->urgency;
            loans_changed_locked(thread);
        }
    } else if (lending->how == PI_RETRACT && *at != NULL && (*at)->stamp <= lending->stamp) {
        remove_locked(at);
        loans_changed_locked(thread);
    }
    if (thread->pi.wait == NULL)
        return 0;
    *link = (struct pi_link){.token = thread->pi.wait->home.token,
                             .home = thread->pi.wait->home.kernel,
                             .looking = thread->pi.wait->looking};
    return 1;
}

void pi_granted_locked(struct pi_wait *wait, uint64_t stamp, struct pi_urgency urgency)
{
    struct thread *thread = wait->thread;
    struct pi_loan **at = find_locked(thread, &wait->place.key);

    if (*at == NULL) { /* else who waits since then was faster */
        wait->loan->key = wait->place.key;
        *at = wait->loan;
        wait->loan = NULL;
    }
    if (stamp > (*at)->stamp) {
        (*at)->stamp = stamp;
        (*at)->urgency = urgency;
        loans_changed_locked(thread);
    }
}

bool pi_loan_held(const struct futex_key *key)
{
    struct thread *thread = thread_current();
    bool held;

    spin_lock(&thread->group->lock);
    held = *find_locked(thread, key) != NULL;
    spin_unlock(&thread->group->lock);
    return held;
}

void pi_loan_drop(const struct futex_key *key)
{
    struct thread *thread = thread_current();
    struct pi_loan **at;

    spin_lock(&thread->group->lock);
    at = find_locked(thread, key);
    if (*at != NULL) {
        remove_locked(at);
        loans_changed_locked(thread);
    }
    spin_unlock(&thread->group->lock);
}

bool pi_loan_take(struct futex_key *key)
{
    struct thread *thread = thread_current();
    bool found;

    spin_lock(&thread->group->lock);
    found = thread->pi.loans != NULL;
    if (found) {
        *key = thread->pi.loans->key;
        remove_locked(&thread->pi.loans);
        loans_changed_locked(thread);
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

uint32_t pi_loans_count(const struct thread *thread)
{
    uint32_t count = 0;

    for (const struct pi_loan *loan = thread->pi.loans; loan != NULL; loan = loan->next)
        count++;
    return count;
}

void pi_loans_list(const struct thread *thread, struct pi_lending *out)
{
    for (const struct pi_loan *loan = thread->pi.loans; loan != NULL; loan = loan->next)
        *out++ = (struct pi_lending){.key = loan->key, .stamp = loan->stamp, .urgency = loan->urgency};
}

void pi_loans_free(struct thread *thread)
{
    while (thread->pi.loans != NULL)
        remove_locked(&thread->pi.loans);
}

int pi_loans_set(struct thread *thread, const struct pi_lending *loans, uint32_t count)
{
    struct pi_loan *old = thread->pi.loans;

    thread->pi.loans = NULL;
    for (uint32_t i = 0; i < count; i++) {
        struct pi_loan *loan = heap_alloc(sizeof(*loan));

        if (loan == NULL) {
            pi_loans_free(thread);
            thread->pi.loans = old;
            return -ENOMEM;
        }
        *loan = (struct pi_loan){
            .next = thread->pi.loans, .key = loans[i].key, .stamp = loans[i].stamp, .urgency = loans[i].urgency};
        thread->pi.loans = loan;
    }
    while (old != NULL) {
        struct pi_loan *next = old->next;

        heap_free(old, sizeof(*old));
        old = next;
    }
    set_lent_locked(thread);
    return 0;
}
