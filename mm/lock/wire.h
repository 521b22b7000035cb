/* The payloads of the distributed locks: SPACE_LOCK and SPACE_UNLOCK (mm/lock/home.md), SPACE_REQUEST and SPACE_FREED
 * (mm/lock/lamport.md). */
#ifndef MM_LOCK_WIRE_H
#define MM_LOCK_WIRE_H

#include <stdint.h>

/* SPACE_LOCK: START has SPACE_LOCK_KEEPS for a fork, which leaves leases as they are; SPACE_UNLOCK: START has the enum
 * space_lock_outcome in its low bits */
#define SPACE_LOCK_KEEPS 1ull
struct msg_space_lock {
    uint64_t space;      /* the group's id */
    uint64_t start, end; /* the range; requests that overlap exclude each other */
};

struct msg_space_granted {
    uint64_t members; /* kernels that host the space now */
    uint64_t sharers; /* those of them that may have something in the range */
    uint64_t waited;  /* 1: it had to wait for another request */
};

/* SPACE_REQUEST, SPACE_FREED */
struct msg_space_request {
    uint64_t space;
    uint64_t start, end; /* as above */
    uint64_t time;       /* when the request was made; time and asking kernel identify it */
};

struct msg_space_queued {
    uint64_t queued;  /* 1: queued, as the space is here; 2: the same, and the answer was held back; 0: not here */
    uint64_t members; /* the kernels that host the space, if its home answers; else 0 */
};

_Static_assert(sizeof(struct msg_space_lock) == 24, "wire format");
_Static_assert(sizeof(struct msg_space_granted) == 24, "wire format");
_Static_assert(sizeof(struct msg_space_request) == 32, "wire format");
_Static_assert(sizeof(struct msg_space_queued) == 16, "wire format");

#endif
