/* Shared by the files of priority-inheriting futexes. tasks/futex/pi/pi.md has the protocol. */
#ifndef TASKS_FUTEX_PI_INTERNAL_H
#define TASKS_FUTEX_PI_INTERNAL_H

#include "tasks/futex/donation/donation.h"
#include "tasks/futex/pi/pi.h"
#include "tasks/futex/pi/wire.h"
#include "tasks/remote/operation.h"

/* The priority of a lock without waiters: below that of any thread. */
#define PI_IDLE ((struct pi_priority){.policy = POLICY_IDLE})

/* For operations that must not fail for lack of memory; the home serves them without waiting for other threads. */
extern const struct remote_how pi_sure;

/* tasks/futex/pi/wait.c: the current thread begins a wait: from now on HOME can notify it, and a change of the priority
 * that it donates wakes it. LOOKS: it will search for a cycle; others see that as soon as they see the wait. -ENOMEM.
 */
int pi_wait_begin(struct pi_wait *wait, const struct futex_place *lock, uint64_t address, uint32_t home, bool looks);
/* Ends the wait of a thread that is in no queue and that no kernel notifies any more. */
void pi_wait_end(struct pi_wait *wait);

/* tasks/futex/pi/chain.c: sends UPDATE, a donation or its retraction, to OWNER, the owner of a lock. Results are those
 * of pi_donate_locked; -ESRCH: there is no such thread. KERNEL: where the owner was, or NULL. Waits for the kernels
 * that it asks. */
int64_t pi_notify_owner(uint32_t owner, const struct pi_donation_update *update, struct pi_link *link,
                        uint32_t *kernel);
/* Donates to the owner of WAIT's lock, for which the current thread is queued and whose state is STATE. Results, LINK
 * and KERNEL as above. */
int64_t pi_donate_to_owner(const struct pi_wait *wait, const struct msg_pi_state *state, struct pi_link *link,
                           uint32_t *kernel);
/* Retracts the owner's donation for the lock KEY, unless it is newer than STATE. */
void pi_retract(const struct futex_key *key, const struct msg_pi_state *state);
/* Sends STATE, a new state of PLACE's lock, to the lock's owner, and retracts it if the lock has another owner by then.
 * 0, or an error of pi_notify_owner. */
int64_t pi_carry(const struct futex_place *place, const struct msg_pi_state *state);
/* The current thread, which is queued, donates its changed priority. */
void pi_donate_again(struct pi_wait *wait);
/* Searches for a cycle. OWNER, which owns the lock for which the current thread is queued, waits at LINK, of KERNEL. 0;
 * -EDEADLK: the chain of owners leads back to the current thread, or has more than PI_CHAIN_MAX steps. */
#define PI_CHAIN_MAX 1024u /* the default of max_lock_depth in Linux */
int pi_look_for_cycle(struct pi_wait *wait, uint32_t owner, const struct pi_link *link, uint32_t kernel);

/* tasks/futex/pi/lock.c, for park.c. */
/* Waits until the home notifies the thread, it is interrupted, or DEADLINE; donates its priority again when that
 * changes. Returns the notification, or PI_NOTHING. */
enum pi_notified pi_sleep(struct pi_wait *wait, uint64_t deadline);
/* Leaves the queue. Returns the notification if the home has sent one before, otherwise PI_NOTHING; *PARKED, which is
 * valid only then: the thread was still parked at its word. */
enum pi_notified pi_leave(struct pi_wait *wait, bool *parked);
/* The current thread has been granted WAIT's lock: writes its id into the word. 0, -EFAULT; 1: the previous owner,
 * which has ended, had already released the lock, and another thread owns it: the current thread has to retry. */
int pi_finish(const struct pi_wait *wait);
/* To be called after threads were queued for the lock of the word at ADDRESS, with state STATE, and its owner got a
 * donation. True: that thread was not the owner any more; the queue is ended and the donation retracted. */
bool pi_is_late(const struct futex_place *place, uint64_t address, const struct msg_pi_state *state);
#endif
