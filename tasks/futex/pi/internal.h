/* What the files of locks that lend priority know of each other. tasks/futex/pi/pi.md. */
#ifndef TASKS_FUTEX_PI_INTERNAL_H
#define TASKS_FUTEX_PI_INTERNAL_H

#include "kernel/lib/list.h"
#include "tasks/futex/internal.h"
#include "tasks/futex/pi/pi.h"
#include "tasks/futex/pi/wire.h"
#include "tasks/thread/thread.h"

/* What is lent to the owner of a lock. */
struct pi_loan {
    struct pi_loan *next; /* [g] */
    struct futex_key key; /* [i] */
    uint64_t stamp;       /* [g] of the state that it comes from */
    struct pi_urgency urgency;
};

/* Nobody waits: less than anybody's own. */
#define PI_IDLE ((struct pi_urgency){.policy = POLICY_IDLE})

/* A wait, on its thread's stack. Marks: [g] the lock of the thread's group, [w] that of the table of waits too. */
struct pi_wait {
    struct list node;         /* [w] in the table of waits */
    struct thread *thread;    /* [i] */
    struct futex_place place; /* [i] of the lock */
    uint64_t address;         /* [i] of the lock's word */
    uint32_t home;            /* [i] kernel that has the queue: of the word where it is parked, else of the lock */
    uint64_t token;           /* [i] */
    struct pi_loan *loan;     /* [g] for when it is granted the lock, so that this needs no memory; NULL: used */
    enum pi_told told;        /* [g] */
    bool died;                /* [g] PI_GRANTED: the owner before has ended */
    uint32_t from;            /* [g] PI_GRANTED: the owner before */
    bool changed;             /* [g] it lends something else now */
    bool looking;             /* [g] it has not seen yet whether it waits for itself */
    bool asleep;              /* [g] in pi_sleep: elsewhere nobody wakes it for this */
};

/* tasks/futex/pi/remote.c: asks the home of a word, or serves it here. Waits, but not for other threads. */
void pi_call(uint32_t home, const struct msg_pi_call *call, struct msg_pi_result *result);
void pi_call_pair(uint32_t home, const struct msg_pi_pair *pair, struct msg_pi_result *result);

/* The current thread begins to wait: from now on it can be told, and is, when it lends something else. -ENOMEM. */
int pi_wait_begin(struct pi_wait *wait, const struct futex_place *lock, uint64_t address, uint32_t home);
/* It is in no queue and will not be told any more. */
void pi_wait_end(struct pi_wait *wait);
/* The waiter with MESSAGE's token, if it still waits, is told. Any context without such locks. */
void pi_take_told(const struct msg_pi_told *message);

/* tasks/futex/pi/loan.c: what THREAD lends to others. The group's lock is held. */
struct pi_urgency pi_urgency_locked(const struct thread *thread);
/* WAIT, whose group's lock is held, is granted its lock. */
void pi_granted_locked(struct pi_wait *wait, const struct msg_pi_told *message);
/* The current thread has a loan for the lock KEY. */
bool pi_loan_held(const struct futex_key *key);
/* The current thread has given back the lock KEY. */
void pi_loan_drop(const struct futex_key *key);
/* The key of a loan that the current thread has, taken from it; false: it has none. */
bool pi_loan_take(struct futex_key *key);

/* tasks/futex/pi/queue.c, at the home: does what CALL of KERNEL says; never waits. A pair is given for operations that
 * have two words. */
void pi_queue_init(void);
void pi_serve(uint32_t kernel, const struct msg_pi_pair *pair, struct msg_pi_result *result);

/* tasks/futex/pi/chain.c: tells OWNER, which has the lock KEY, what is lent to it, or that this is over. Results as
 * pi_lend_locked's, -ESRCH: there is no such thread. KERNEL: where it was. Waits for the kernels that it asks. */
int64_t pi_tell_owner(uint32_t owner, const struct pi_lending *lending, struct pi_link *link, uint32_t *kernel);
/* The state of WAIT's lock, for which its thread is queued, is STATE: the owner is lent to, and is on KERNEL. */
int64_t pi_lend_to_owner(const struct pi_wait *wait, const struct msg_pi_result *state, struct pi_link *link,
                         uint32_t *kernel);
/* The owner forgets what it was lent for the lock KEY by STATE, and before. */
void pi_retract(const struct futex_key *key, const struct msg_pi_result *state);
/* The state of PLACE's lock is STATE, as somebody who is in no queue of it has brought about: its owner is told. */
int64_t pi_carry(const struct futex_place *place, const struct msg_pi_result *state);
/* The current thread, which is queued, lends what it has now. */
void pi_lend_again(struct pi_wait *wait);
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
bool pi_is_late(const struct futex_place *place, uint64_t address, const struct msg_pi_result *state);
/* Gives back PLACE's lock, whose word at ADDRESS names the current thread. DIED: because it ends. 0, -EFAULT. */
int pi_give_back(const struct futex_place *place, uint64_t address, bool died);

#define PI_WAITERS 0x80000000u
#define PI_OWNER_DIED 0x40000000u
#define PI_TID_MASK 0x3fffffffu

#endif
