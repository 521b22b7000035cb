/* Payloads of the FUTEX_* operations of msg/messages.def, and the words of their notification; tasks/futex/futex.md has
 * the protocol. */
#ifndef TASKS_FUTEX_WIRE_H
#define TASKS_FUTEX_WIRE_H

#include <stdint.h>

#include "msg/message.h"
#include "tasks/futex/word/word.h"

struct msg_futex_wait { /* FUTEX_WAIT */
    struct futex_key key;
    uint64_t token; /* identifies the wait among those of the waiter's kernel */
    uint32_t bitset;
    uint32_t priority; /* the waiter's real-time priority, or 0 */
};

struct msg_futex_wake { /* FUTEX_WAKE */
    struct futex_key key;
    uint32_t count; /* maximal number of woken waiters */
    uint32_t bitset;
};

struct msg_futex_mark { /* FUTEX_MARK */
    struct futex_key key;
};

struct msg_futex_marked {
    uint64_t mark; /* waiters queued from now on have greater numbers */
};

struct msg_futex_requeue { /* FUTEX_REQUEUE */
    struct futex_key from, to;
    uint64_t mark;    /* only waiters with numbers up to it */
    uint32_t wake;    /* maximal number of woken waiters */
    uint32_t requeue; /* maximal number of further waiters that are moved to TO */
};

struct msg_futex_done { /* the reply to FUTEX_WAKE and FUTEX_REQUEUE */
    uint32_t count;     /* number of woken and requeued waiters */
    uint32_t pad;
};

struct msg_futex_leave { /* FUTEX_LEAVE */
    uint64_t token;
    uint32_t differs; /* the word did not have the expected value, so the waiter should not have been queued */
    uint32_t pad;
};

struct msg_futex_left {
    uint32_t woken; /* nonzero: it was woken before, and the notification is on its way or has arrived */
    uint32_t pad;
};

struct msg_futex_robust { /* FUTEX_ROBUST */
    uint32_t group;
    uint32_t thread;
    uint64_t list; /* user address; 0: none */
};

struct futex_notified {   /* words of the notification (tasks/remote/notify.h) that a waiter has been woken */
    struct futex_key key; /* the word where it was woken, and the bitset of the wake */
    uint32_t bitset;
    uint32_t pad;
};

/* Among a kernel's notes at the home of a process (msg_notes_at): the robust list of a thread that is there. */
struct futex_note {
    uint64_t list;   /* user address */
    uint32_t thread; /* id */
    uint32_t group;  /* id, stored last; 0: the note is free */
};

_Static_assert(sizeof(struct futex_note) == 16, "wire format");
_Static_assert(sizeof(struct msg_futex_wait) == 32 && sizeof(struct msg_futex_wake) == 24 &&
                   sizeof(struct msg_futex_mark) == 16 && sizeof(struct msg_futex_marked) == 8 &&
                   sizeof(struct msg_futex_requeue) == 48 && sizeof(struct msg_futex_done) == 8 &&
                   sizeof(struct msg_futex_leave) == 16 && sizeof(struct msg_futex_left) == 8 &&
                   sizeof(struct futex_notified) == 24 && sizeof(struct msg_futex_robust) == 16,
               "wire format");
_Static_assert(sizeof(struct msg_futex_requeue) <= MSG_SHORT, "requests of one slot");

#endif
