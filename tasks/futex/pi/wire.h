/* Payloads of the PI_* operations of msg/messages.def, which the home of a word serves, and the words of its
 * notification; tasks/futex/pi/pi.md has the protocol. */
#ifndef TASKS_FUTEX_PI_WIRE_H
#define TASKS_FUTEX_PI_WIRE_H

#include <stdint.h>

#include "msg/message.h"
#include "tasks/futex/donation/donation.h"
#include "tasks/futex/word/word.h"

struct msg_pi_join { /* PI_JOIN */
    struct futex_key key;
    uint64_t token; /* identifies the wait among those of the waiter's kernel */
    uint32_t thread;
    uint32_t owner;
    struct pi_priority priority;
    uint32_t pad;
};

struct msg_pi_park { /* PI_PARK */
    struct futex_key key, to;
    uint64_t token;
    uint32_t thread;
    struct pi_priority priority;
};

struct msg_pi_leave { /* PI_LEAVE */
    uint64_t token;
};

struct msg_pi_change { /* PI_CHANGE */
    uint64_t token;
    struct pi_priority priority;
    uint32_t pad;
};

struct msg_pi_owner { /* PI_OWNER */
    uint64_t token;
    uint32_t kernel; /* the waiter's */
    uint32_t pad;
};

struct msg_pi_held { /* PI_HELD */
    struct futex_key key;
};

struct msg_pi_unlock { /* PI_UNLOCK */
    struct futex_key key;
    uint32_t owner;
    uint32_t died; /* nonzero: the owner is ending */
};

struct msg_pi_freed { /* PI_FREED */
    struct futex_key key;
    uint64_t token; /* msg_pi_over.granted, if the caller has found that this wait is over; or 0 */
    uint32_t owner;
    uint32_t died; /* nonzero: there is no such thread, or the caller is OWNER and rejects a grant */
};

struct msg_pi_requeue { /* PI_RELEASE, PI_REQUEUE */
    struct futex_key key, to;
    uint64_t mark;  /* only waiters with numbers up to it */
    uint32_t count; /* maximal number of waiters */
    uint32_t owner; /* of TO, as the caller has read it */
};

struct msg_pi_state {            /* the state of a lock; all zero for a word */
    uint64_t stamp;              /* a later state has a greater stamp */
    uint32_t owner;              /* its thread id */
    struct pi_priority priority; /* the highest of a waiter */
    uint32_t count;              /* defined by the operation */
    uint16_t gone;               /* nonzero: the last waiter has left, and the home has forgotten the lock */
    uint16_t changed;            /* nonzero: owner or priority has changed */
};

struct msg_pi_thread {
    uint32_t thread; /* its id, 0: none */
    uint32_t pad;
};

struct msg_pi_over {
    uint64_t stamp;   /* donations to OWNER with stamps up to this one are void */
    uint64_t granted; /* nonzero: the home has changed nothing; OWNER was granted the lock in the wait with this token,
                       * which is not that of the request: OWNER may not have written the word yet */
};

struct msg_pi_marked {
    uint64_t mark;
};

struct pi_notice {  /* words of the notification (tasks/remote/notify.h) to a waiter, which is in no queue any more */
    uint64_t stamp; /* PI_GRANTED: of the lock's state with the waiter as its owner */
    uint32_t notified;           /* enum pi_notified */
    uint32_t died;               /* PI_GRANTED: the previous owner has ended */
    struct pi_priority priority; /* PI_GRANTED: the highest of the remaining waiters */
    uint32_t from;               /* PI_GRANTED: the previous owner */
};

_Static_assert(sizeof(struct msg_pi_join) == 40 && sizeof(struct msg_pi_park) == MSG_SHORT &&
                   sizeof(struct msg_pi_change) == 16 && sizeof(struct msg_pi_owner) == 16 &&
                   sizeof(struct msg_pi_unlock) == 24 && sizeof(struct msg_pi_freed) == 32 &&
                   sizeof(struct msg_pi_requeue) == MSG_SHORT && sizeof(struct msg_pi_state) == 24 &&
                   sizeof(struct msg_pi_over) == 16 && sizeof(struct pi_notice) == 24,
               "wire format");
#endif
