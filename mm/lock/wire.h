/* Payloads of the locks over kernels: SPACE_LOCK and SPACE_UNLOCK (mm/lock/home.md), SPACE_REQUEST and SPACE_FREED
 * (mm/lock/lamport.md). */
#ifndef MM_LOCK_WIRE_H
#define MM_LOCK_WIRE_H

#include <stdint.h>

/* SPACE_LOCK, SPACE_UNLOCK */
struct msg_space_lock {
    uint64_t space;      /* id: the group's */
    uint64_t start, end; /* the range; two that overlap exclude each other */
};

struct msg_space_granted {
    uint64_t members; /* kernels that host the space now */
    uint64_t waited;  /* 1: others had to release it first */
};

/* SPACE_REQUEST, SPACE_FREED */
struct msg_space_request {
    uint64_t space;
    uint64_t start, end; /* as above */
    uint64_t time;       /* when it was made: with the asking kernel its name */
};

struct msg_space_queued {
    uint64_t queued;  /* 1: the space is here, and the request in its queues; 2: and the answer was held back; 0: it is
                       * not here */
    uint64_t members; /* kernels that host the space, from its home; else 0 */
};

_Static_assert(sizeof(struct msg_space_lock) == 24, "wire format");
_Static_assert(sizeof(struct msg_space_granted) == 16, "wire format");
_Static_assert(sizeof(struct msg_space_request) == 32, "wire format");
_Static_assert(sizeof(struct msg_space_queued) == 16, "wire format");

#endif
