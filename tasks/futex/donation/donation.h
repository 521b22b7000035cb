/* What threads are lent: who waits for a lock of FUTEX_LOCK_PI lends its priority (policy, real priority and nice) to
 * the lock's owner. Here is what the owner's kernel keeps of that; tasks/futex/pi/pi.md has the protocol.
 *
 * Marks: [i] set once, [g] under the lock of the thread's group. */
#ifndef TASKS_FUTEX_DONATION_DONATION_H
#define TASKS_FUTEX_DONATION_DONATION_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/lib/list.h"
#include "tasks/futex/word/word.h"
#include "tasks/remote/notify.h"
#include "tasks/thread/thread.h"

/* How a thread is scheduled: what it lends, or is lent. */
struct pi_priority {
    uint16_t policy; /* as in struct thread_context */
    int16_t nice;
};

/* Words of a THREAD_DONATE (tasks/locate/locate.h), and of its result, whose value is 1 when the thread waits itself.
 */
struct pi_donation_update {
    struct futex_key key;
    uint64_t stamp;
    uint32_t how; /* enum pi_how */
    struct pi_priority priority;
};
enum pi_how { PI_DONATE, PI_RETRACT, PI_LOOK };

struct pi_link { /* in struct msg_thread_result */
    uint64_t token;
    uint32_t home;    /* kernel that has the queue */
    uint32_t looking; /* not 0: it has not seen yet whether it waits for itself */
};

_Static_assert(sizeof(struct pi_donation_update) == 32 && sizeof(struct pi_link) == 16, "wire format");

/* What is lent to the owner of a lock. */
struct pi_donation {
    struct pi_donation *next; /* [g] */
    struct futex_key key;     /* [i] */
    uint64_t stamp;           /* [g] of the state that it comes from */
    struct pi_priority priority;
};

enum pi_told { PI_NOTHING, PI_GRANTED, PI_AGAIN };

/* A wait, on its thread's stack. */
struct pi_wait {
    struct remote_wait home;  /* what the kernel tells that has the queue: of the word where it is parked, else of the
                                 lock */
    struct thread *thread;    /* [i] */
    struct futex_place place; /* [i] of the lock */
    uint64_t address;         /* [i] of the lock's word */
    struct pi_donation *donation; /* [g] for when it is granted the lock, so that this needs no memory; NULL: used */
    enum pi_told told;            /* [g] */
    bool died;                    /* [g] PI_GRANTED: the owner before has ended */
    uint32_t from;                /* [g] PI_GRANTED: the owner before */
    bool changed;                 /* [g] it lends something else now */
    bool looking;                 /* [g] it has not seen yet whether it waits for itself */
    bool asleep;                  /* [g] in pi_sleep: elsewhere nobody wakes it for this */
};

/* THREAD_DONATE. THREAD is present here, its group's lock is held. 1: it waits, at LINK; 0: it does not; -EAGAIN: it
 * ends; -ENOMEM. */
int64_t pi_donate_locked(struct thread *thread, const struct pi_donation_update *update, struct pi_link *link);
/* THREAD, present here, has another policy or nice value; its group's lock is held. */
void pi_share_changed_locked(struct thread *thread);

/* For a move: how many donations THREAD has, and what of each goes into its message. The group's lock is held. */
uint32_t pi_donations_count(const struct thread *thread);
void pi_donations_list(const struct thread *thread, struct pi_donation_update *out);
/* THREAD, which does not run, has these and no others. -ENOMEM: as before. Under its group's lock, or unknown yet. */
int pi_donations_set(struct thread *thread, const struct pi_donation_update *donations, uint32_t count);
/* All go, untold: the thread is freed. */
void pi_donations_free(struct thread *thread);

/* The current thread ends for good: nobody lends it any more. */
void pi_close(void);

/* What THREAD lends to others. The group's lock is held. */
struct pi_priority pi_priority_locked(const struct thread *thread);
/* WAIT, whose group's lock is held, is granted its lock: STAMP is of the lock's state now, PRIORITY that of the most
 * urgent of those that go on waiting. */
void pi_granted_locked(struct pi_wait *wait, uint64_t stamp, struct pi_priority priority);
/* The current thread has a donation for the lock KEY. */
bool pi_donation_held(const struct futex_key *key);
/* The current thread has given back the lock KEY. */
void pi_donation_drop(const struct futex_key *key);
/* The key of a donation that the current thread has, taken from it; false: it has none. */
bool pi_donation_take(struct futex_key *key);

#endif
