/* Scheduling policies of a thread. See the header. */
#include "tasks/sched/policy.h"

#include "kernel/abi/errno.h"
#include "tasks/sched/sched.h"
#include "tasks/thread/thread.h"

static uint32_t kind_of(const struct thread *thread)
{
    return thread->context.policy & POLICY_MASK;
}

static uint32_t priority_of(const struct thread *thread)
{
    return thread->context.policy >> POLICY_PRIORITY_SHIFT;
}

static bool is_real(uint32_t policy)
{
    return policy == POLICY_FIFO || policy == POLICY_RR;
}

bool policy_same_owner(const struct thread *thread, uint32_t user)
{
    const struct credentials *to = &thread->context.credentials;

    return user == 0 || user == to->euid || user == to->uid;
}

bool policy_may_nice(int32_t nice, uint64_t limit)
{
    return FAIR_NICE_MAX + 1 - nice <= (int64_t)(limit < FAIR_PRIORITY_MAX ? limit : FAIR_PRIORITY_MAX);
}

/* Whether a caller other than root may make this change: THREAD must belong to the caller's user, must not get more
 * precedence than the limits of its process allow, and keeps reset-on-fork if it has it. */
static bool may_set(const struct thread *thread, const struct policy_wish *wish, bool reset)
{
    if (!is_real(wish->policy) && !wish->keep_nice && wish->nice < thread->context.nice &&
        !policy_may_nice(wish->nice, wish->nice_limit))
        return false;
    if (is_real(wish->policy) && ((wish->policy != kind_of(thread) && wish->real_limit == 0) ||
                                  (wish->priority > priority_of(thread) && wish->priority > wish->real_limit)))
        return false;
    if (kind_of(thread) == POLICY_IDLE && wish->policy != POLICY_IDLE &&
        !policy_may_nice(thread->context.nice, wish->nice_limit))
        return false;
    return policy_same_owner(thread, wish->user) && (reset || (thread->context.policy & POLICY_RESET_ON_FORK) == 0);
}

int64_t policy_set_locked(struct thread *thread, const struct policy_wish *asked)
{
    struct policy_wish wish = *asked;
    uint32_t reset = wish.keep_reset ? thread->context.policy & POLICY_RESET_ON_FORK
                                     : (wish.reset_on_fork ? POLICY_RESET_ON_FORK : 0);

    if (wish.keep_policy)
        wish.policy = kind_of(thread);
    if (wish.keep_priority)
        wish.priority = priority_of(thread);
    if (wish.policy > POLICY_IDLE || wish.policy == 4 || wish.priority > FAIR_PRIORITY_MAX ||
        is_real(wish.policy) != (wish.priority > 0))
        return -EINVAL;
    if (asked->user != 0 && !may_set(thread, &wish, reset != 0))
        return -EPERM;
    if (!wish.keep_nice && !is_real(wish.policy))
        thread->context.nice = (int16_t)wish.nice;
    thread->context.policy = (uint16_t)(wish.priority << POLICY_PRIORITY_SHIFT | reset | wish.policy);
    return 0;
}

void policy_get_locked(struct thread *thread, struct policy_facts *facts)
{
    uint64_t user, system;

    sched_cpu_time(thread, &user, &system);
    *facts = (struct policy_facts){.policy = kind_of(thread),
                                   .priority = (uint16_t)priority_of(thread),
                                   .nice = (int8_t)thread->context.nice,
                                   .reset_on_fork = (thread->context.policy & POLICY_RESET_ON_FORK) != 0,
                                   .slice = thread->share.slice,
                                   .cpu_ns = user + system};
}
