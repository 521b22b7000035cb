/* Policy, priority and nice value of a thread, as the scheduling system calls set and return them.
 * tasks/sched/scheduling.md. */
#ifndef TASKS_SCHED_POLICY_H
#define TASKS_SCHED_POLICY_H

#include <stdbool.h>
#include <stdint.h>

struct thread;

struct policy_wish {
    uint32_t policy; /* POLICY_*, without flags */
    uint32_t priority;
    int32_t nice;
    bool reset_on_fork;
    bool keep_policy, keep_priority, keep_nice, keep_reset;
    uint32_t user; /* the caller's effective user */
    /* most that a caller other than root may set: soft RLIMIT_NICE and RLIMIT_RTPRIO of the thread's process */
    uint32_t nice_limit, real_limit;
};

struct policy_facts {
    uint32_t policy; /* POLICY_*, without flags */
    uint16_t priority;
    int8_t nice;
    bool reset_on_fork;
    uint64_t slice;  /* ns; UINT64_MAX: none */
    uint64_t cpu_ns; /* CPU time so far */
};

/* Sets the policy of THREAD, which is present here; its group's lock is held. -EINVAL: no such policy, or a priority
 * that does not fit it. -EPERM. The caller notifies the scheduler by pi_share_changed_locked. */
int64_t policy_set_locked(struct thread *thread, const struct policy_wish *asked);
/* Whether a caller other than root may give a thread NICE, if RLIMIT_NICE of its process is LIMIT. */
bool policy_may_nice(int32_t nice, uint64_t limit);
/* Whether a caller with the effective user USER may change the scheduling of THREAD, which is present here. */
bool policy_same_owner(const struct thread *thread, uint32_t user);
void policy_get_locked(struct thread *thread, struct policy_facts *facts);

#endif
