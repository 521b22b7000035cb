/* What a thread that has, or waits for, locks of FUTEX_LOCK_PI has of them: what is lent to it, and its wait. Who waits
 * lends its urgency (policy, real priority and nice) to the lock's owner, on whichever kernel that is, and so along a
 * chain of locks. tasks/futex/pi/pi.md has the protocol.
 *
 * Marks: [g] under the lock of the thread's group. */
#ifndef TASKS_FUTEX_PI_PI_H
#define TASKS_FUTEX_PI_PI_H

#include <stdbool.h>
#include <stdint.h>

struct thread;
struct pi_loan;
struct pi_wait;
struct pi_lending;
struct pi_link;

/* In struct thread; all zero at first. */
struct pi_thread {
    struct pi_loan *loans; /* [g] one for each lock it has that others wait for: moves with it */
    struct pi_wait *wait;  /* [g] it waits for a lock, or is parked at a word for one; or NULL */
    bool closed;           /* [g] it ends: what it has been lent is being given back */
};

/* THREAD_LEND. THREAD is present here, its group's lock is held. 1: it waits, at LINK; 0: it does not; -EAGAIN: it
 * ends; -ENOMEM. */
int64_t pi_lend_locked(struct thread *thread, const struct pi_lending *lending, struct pi_link *link);
/* THREAD, present here, has another policy or nice value; its group's lock is held. */
void pi_share_changed_locked(struct thread *thread);

/* For a move: how many loans THREAD has, and what of each goes into its message. The group's lock is held. */
uint32_t pi_loans_count(const struct thread *thread);
void pi_loans_list(const struct thread *thread, struct pi_lending *out);
/* THREAD, which does not run, has these and no others. -ENOMEM: as before. Under its group's lock, or unknown yet. */
int pi_loans_set(struct thread *thread, const struct pi_lending *loans, uint32_t count);
/* All go, untold: the thread is freed. */
void pi_loans_free(struct thread *thread);

/* The current thread ends for good: nobody lends it any more. */
void pi_close(void);
/* The current thread gives up its locks that others wait for, with FUTEX_OWNER_DIED. Waits for their homes. */
void pi_release_thread(void);

void pi_init(void);

#endif
