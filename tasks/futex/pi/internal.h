/* What the files of locks that lend priority know of each other. tasks/futex/pi/pi.md. */
#ifndef TASKS_FUTEX_PI_INTERNAL_H
#define TASKS_FUTEX_PI_INTERNAL_H

#include "tasks/futex/donation/donation.h"
#include "tasks/futex/pi/pi.h"
#include "tasks/futex/pi/wire.h"
#include "tasks/remote/operation.h"

/* Nobody waits: less than anybody's own. */
#define PI_IDLE ((struct pi_priority){.policy = POLICY_IDLE})

/* How its home is asked for what it cannot refuse; it does not wait for other threads. */
extern const struct remote_how pi_sure;

/* tasks/futex/pi/wait.c: the current thread begins to wait: from now on HOME can tell it, and it is woken when it lends
 * something else. -ENOMEM. */
int pi_wait_begin(struct pi_wait *wait, const struct futex_place *lock, uint64_t address, uint32_t home);
/* It is in no queue and will not be told any more. */
void pi_wait_end(struct pi_wait *wait);

/* tasks/futex/pi/chain.c: tells OWNER, which has the lock KEY, what is lent to it, or that this is over. Results as
 * pi_donate_locked's, -ESRCH: there is no such thread. KERNEL: where it was. Waits for the kernels that it asks. */
int64_t pi_tell_owner(uint32_t owner, const struct pi_donation_update *update, struct pi_link *link, uint32_t *kernel);
/* The state of WAIT's lock, for which its thread is queued, is STATE: the owner is lent to, and is on KERNEL. */
int64_t pi_donate_to_owner(const struct pi_wait *wait, const struct msg_pi_state *state, struct pi_link *link,
                           uint32_t *kernel);
/* The owner forgets what it was lent for the lock KEY by STATE, and before. */
void pi_retract(const struct futex_key *key, const struct msg_pi_state *state);
/* PLACE's word is not OWNER's any more: who waits for it as such tries again. DIED: there is no such thread. */
void pi_freed(const struct futex_place *place, uint32_t owner, bool died);
/* The state of PLACE's lock is STATE, as somebody who is in no queue of it has brought about: its owner is told. */
int64_t pi_carry(const struct futex_place *place, const struct msg_pi_state *state);
/* The current thread, which is queued, lends what it has now. */
void pi_donate_again(struct pi_wait *wait);
/* -EDEADLK: the current thread waits for itself, or the chain is longer than PI_CHAIN_MAX; 0. OWNER, which has
 * its lock, waits at LINK, of KERNEL. */
#define PI_CHAIN_MAX 1024u /* as Linux's max_lock_depth */
int pi_look_for_cycle(struct pi_wait *wait, uint32_t owner, const struct pi_link *link, uint32_t kernel);

/* tasks/futex/pi/lock.c, for park.c. */
/* Waits until told, to lend something else, interrupted, or DEADLINE; what it was told. */
enum pi_told pi_sleep(struct pi_wait *wait, uint64_t deadline);
/* Out of the queue: what it was told before, or PI_NOTHING. *PARKED: it was at its word still. */
enum pi_told pi_leave(struct pi_wait *wait, bool *parked);
/* The current thread has been granted WAIT's lock: the word says so from now on. 0, -EFAULT; 1: the owner that ended
 * had not got it any more, and another has: the current thread is to try again. */
int pi_finish(const struct pi_wait *wait);
/* Threads were queued for the lock of the word at ADDRESS, as STATE says, and its owner lent to: true when it is not
 * the owner any more; all is put right then. */
bool pi_is_late(const struct futex_place *place, uint64_t address, const struct msg_pi_state *state);
#endif
