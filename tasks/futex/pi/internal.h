/* Shared by the files of priority-inheritance futexes. tasks/futex/pi/pi.md has the protocol. */
#ifndef TASKS_FUTEX_PI_INTERNAL_H
#define TASKS_FUTEX_PI_INTERNAL_H

#include "tasks/futex/donation/donation.h"
#include "tasks/futex/pi/pi.h"
#include "tasks/futex/pi/wire.h"
#include "tasks/remote/operation.h"

/* The priority when there is no waiter: below that of any thread. */
#define PI_IDLE ((struct pi_priority){.policy = POLICY_IDLE})

/* For operations that the home cannot refuse; it does not wait for other threads. */
extern const struct remote_how pi_sure;

/* tasks/futex/pi/wait.c: the current thread begins to wait: from now on HOME can notify it, and a change of the
 * priority that it donates wakes it. -ENOMEM. */
int pi_wait_begin(struct pi_wait *wait, const struct futex_place *lock, uint64_t address, uint32_t home);
/* Ends the wait of a thread that is in no queue and will not be notified any more. */
void pi_wait_end(struct pi_wait *wait);

/* tasks/futex/pi/chain.c: sends OWNER, the owner of the lock KEY, a donation or its retraction. Results are those of
 * pi_donate_locked; -ESRCH: there is no such thread. KERNEL: where the owner was. Waits for the kernels that it
 * asks. */
int64_t pi_notify_owner(uint32_t owner, const struct pi_donation_update *update, struct pi_link *link,
                        uint32_t *kernel);
/* Donates to the owner of WAIT's lock, for which its thread is queued and whose state is STATE. KERNEL: where the owner
 * was. */
int64_t pi_donate_to_owner(const struct pi_wait *wait, const struct msg_pi_state *state, struct pi_link *link,
                           uint32_t *kernel);
/* The owner drops its donation for the lock KEY if it is not newer than STATE. */
void pi_retract(const struct futex_key *key, const struct msg_pi_state *state);
/* OWNER does not own PLACE's lock any more: the threads queued for it as OWNER's try again. DIED: there is no such
 * thread. */
void pi_freed(const struct futex_place *place, uint32_t owner, bool died);
/* Sends the owner of PLACE's lock its new state STATE, which a thread that is not in the lock's queue has caused. */
int64_t pi_carry(const struct futex_place *place, const struct msg_pi_state *state);
/* The current thread, which is queued, donates its present priority. */
void pi_donate_again(struct pi_wait *wait);
/* -EDEADLK: the current thread waits for itself, or the chain is longer than PI_CHAIN_MAX; 0. OWNER, which has
 * its lock, waits at LINK, of KERNEL. */
#define PI_CHAIN_MAX 1024u /* as Linux's max_lock_depth */
int pi_look_for_cycle(struct pi_wait *wait, uint32_t owner, const struct pi_link *link, uint32_t kernel);

/* tasks/futex/pi/lock.c, for park.c. */
/* Waits until the home notifies the thread, the priority to donate changes, an interruption, or DEADLINE. Returns the
 * notification. */
enum pi_notified pi_sleep(struct pi_wait *wait, uint64_t deadline);
/* Leaves the queue. Returns the notification that came before that, or PI_NOTHING. *PARKED: the thread was still parked
 * at its word. */
enum pi_notified pi_leave(struct pi_wait *wait, bool *parked);
/* The current thread has been granted WAIT's lock: writes its id into the word. 0, -EFAULT; 1: the owner that ended had
 * already released the lock, and another thread has it: the current thread is to try again. */
int pi_finish(const struct pi_wait *wait);
/* After threads were queued for the lock of the word at ADDRESS, as STATE says, and its owner got a donation: true if
 * that thread is not the owner any more; then the queue is ended and the donation retracted. */
bool pi_is_late(const struct futex_place *place, uint64_t address, const struct msg_pi_state *state);
#endif
