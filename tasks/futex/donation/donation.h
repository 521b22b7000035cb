/* Priority donation: a thread that waits for a lock of FUTEX_LOCK_PI donates its priority (policy, real-time priority
 * and nice) to the lock's owner. This header has the state on the owner's kernel; tasks/futex/pi/pi.md has the
 * protocol.
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

/* How a thread is scheduled, as far as it can be donated. */
struct pi_priority {
    uint16_t policy; /* in the format of struct thread_context */
    int16_t nice;
};

/* Payload of a THREAD_DONATE (tasks/locate/locate.h), and of its result, whose value is 1 if the thread itself waits
 * for a lock. */
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
    uint32_t looking; /* nonzero: the thread has not finished its search for a cycle */
};

_Static_assert(sizeof(struct pi_donation_update) == 32 && sizeof(struct pi_link) == 16, "wire format");

/* A donation to the owner of a lock. */
struct pi_donation {
    struct pi_donation *next; /* [g] */
    struct futex_key key;     /* [i] */
    uint64_t stamp;           /* [g] of the lock state from which it comes */
    struct pi_priority priority;
};

enum pi_notified { PI_NOTHING, PI_GRANTED, PI_AGAIN };

/* A wait, on its thread's stack. */
struct pi_wait {
    struct remote_wait home;      /* notified by the home of the word where the thread is parked, or else of the lock */
    struct thread *thread;        /* [i] */
    struct futex_place place;     /* [i] of the lock */
    uint64_t address;             /* [i] of the lock's word */
    struct pi_donation *donation; /* [g] preallocated for the grant of the lock; NULL: used */
    enum pi_notified notified;    /* [g] */
    bool died;                    /* [g] PI_GRANTED: the previous owner has ended */
    uint32_t from;                /* [g] PI_GRANTED: the previous owner */
    bool changed;                 /* [g] the priority it donates has changed */
    bool looking;                 /* [g] it has not finished its search for a cycle */
    bool asleep;                  /* [g] it sleeps for the lock, and a changed priority or a notification wakes it */
};

/* Performs THREAD_DONATE. THREAD is present here, and its group's lock is held. 1: THREAD waits for a lock, at LINK; 0:
 * it does not; -EAGAIN: it is ending; -ENOMEM. Does not wait. */
int64_t pi_donate_locked(struct thread *thread, const struct pi_donation_update *update, struct pi_link *link);
/* The policy or nice value of THREAD, present here, has changed; its group's lock is held. */
void pi_share_changed_locked(struct thread *thread);

/* For migration: how many donations THREAD has, and the part of each that goes into the message. The group's lock is
 * held. */
uint32_t pi_donations_count(const struct thread *thread);
void pi_donations_list(const struct thread *thread, struct pi_donation_update *out);
/* Replaces the donations of THREAD, which does not run. -ENOMEM: they are unchanged. Called under its group's lock, or
 * before THREAD is published. */
int pi_donations_set(struct thread *thread, const struct pi_donation_update *donations, uint32_t count);
/* Frees all donations of a thread that is being freed, without notifying any thread. */
void pi_donations_free(struct thread *thread);

/* The current thread is ending: from now on it refuses donations. */
void pi_close(void);

/* The priority that THREAD donates to others. The group's lock is held. */
struct pi_priority pi_priority_locked(const struct thread *thread);
/* WAIT's thread, whose group's lock is held, is granted its lock: STAMP is that of the lock's state, PRIORITY the
 * highest of the remaining waiters. */
void pi_granted_locked(struct pi_wait *wait, uint64_t stamp, struct pi_priority priority);
/* Whether the current thread has a donation for the lock KEY. */
bool pi_donation_held(const struct futex_key *key);
/* Drops the donation for the lock KEY, which the current thread has released. */
void pi_donation_drop(const struct futex_key *key);
/* Removes one donation of the current thread and returns its key; false: it has none. */
bool pi_donation_take(struct futex_key *key);

#endif
