/* Payloads of the messages about locks that lend priority of msg/messages.def; tasks/futex/pi/pi.md has the
 * protocol. */
#ifndef TASKS_FUTEX_PI_WIRE_H
#define TASKS_FUTEX_PI_WIRE_H

#include <stdint.h>

#include "msg/message.h"
#include "tasks/futex/loan/loan.h"
#include "tasks/futex/word/word.h"

enum pi_operation {
    PI_JOIN = 1, /* key, token, thread, owner, urgency: wait for the lock, which OWNER has as far as the waiter knows.
                    -> the lock's state; -ENOMEM */
    PI_PARK,     /* a pair: key, token, thread, urgency, to: wait at a word until requeued to the lock TO. -ENOMEM */
    PI_LEAVE,    /* token. -> value 1: it was queued, and the lock's state; owner 0: at a word. Value 0: it is told */
    PI_CHANGE,   /* token, urgency. -> value 1: it is queued for a lock, and its state; 0: it is not */
    PI_OWNER,    /* token, kernel. -> owner: of the lock which that waiter is queued for, or 0 */
    PI_HELD,     /* key, owner. -> value 1: the lock is known, and is its */
    PI_UNLOCK,   /* key, thread, died. -> owner: who has it from now on, or 0: nobody waits, the lock is forgotten */
    PI_FREED,    /* key, owner, died, token: the word is not OWNER's any more. Who waits for it as such tries again. ->
                    value: how many; stamp: what OWNER was lent up to then is over. -EBUSY: it was granted the lock, in
                    the wait with the token MARK, which is another than TOKEN: the word may be late */
    PI_MARK,     /* key. -> mark: of those that are parked there now */
    PI_RELEASE,  /* a pair: key, count, mark: those that are parked try for their lock. -> value: how many */
    PI_REQUEUE   /* a pair: key, count, mark, owner, to: those that are parked wait for TO from now on. -> value: how
                    many, and the lock's state; -EINVAL: one is parked for another lock; -EDEADLK: one has it; -ENOMEM */
};

struct msg_pi_call { /* PI_CALL, a request to the word's home */
    struct futex_key key;
    uint64_t token;     /* names the wait among those of the waiter's kernel */
    uint32_t operation; /* enum pi_operation */
    uint32_t thread;
    uint32_t owner;
    struct pi_urgency urgency;
    union {
        uint32_t kernel; /* PI_OWNER: the waiter's */
        uint32_t count;  /* PI_RELEASE, PI_REQUEUE */
        uint32_t died;   /* PI_UNLOCK: its owner ends; PI_FREED: there is no such thread, or it says so itself */
    };
    uint32_t pad;
};

struct msg_pi_pair { /* PI_CALL of the operations that have two words */
    struct msg_pi_call call;
    struct futex_key to;
    uint64_t mark; /* only who was parked before it */
};

struct msg_pi_result {
    int64_t value;  /* or a negative errno */
    uint64_t stamp; /* of the lock's state: the greater, the later */
    uint64_t mark;
    uint32_t owner;            /* its thread id */
    struct pi_urgency urgency; /* the most urgent waiter's */
    uint32_t gone;             /* not 0: the last waiter has left, and the lock is not known any more */
    uint32_t changed;          /* not 0: owner or urgency are others than before */
};

struct msg_pi_told { /* PI_TOLD, a notice to a waiter's kernel: it is in no queue any more */
    uint64_t token;
    uint64_t stamp;            /* PI_GRANTED: of the lock's state, now that it is its owner */
    uint32_t told;             /* enum pi_told */
    uint32_t died;             /* PI_GRANTED: the owner before has ended */
    struct pi_urgency urgency; /* PI_GRANTED: the most urgent of those that go on waiting */
    uint32_t from;             /* PI_GRANTED: the owner before */
};

_Static_assert(sizeof(struct msg_pi_call) == MSG_SHORT && sizeof(struct msg_pi_pair) == 72 &&
                   sizeof(struct msg_pi_result) <= MSG_SHORT && sizeof(struct msg_pi_told) <= MSG_SHORT,
               "wire format");
#endif
