/* Payloads of a lease and of its recall: mm/lease/lease.md. */
#ifndef MM_LEASE_WIRE_H
#define MM_LEASE_WIRE_H

#include <stdint.h>

/* SPACE_LEASE */
struct msg_space_lease {
    uint64_t space;
    uint64_t length; /* bytes that there is to be room for */
};

struct msg_space_leased {
    uint64_t start; /* 0: there is none */
};

/* SPACE_RECALL */
struct msg_space_recall {
    uint64_t space;
    uint64_t start, end; /* what is wanted; going on: what is given up */
    uint64_t from;       /* where to go on, or 0 */
};

/* The answer; areas and pairs follow, each for owned pages */
struct msg_space_recalled {
    uint64_t start, end; /* what is given up */
    uint64_t next;       /* where to go on, or 0: that was all */
    uint32_t areas, pairs;
};

_Static_assert(sizeof(struct msg_space_lease) == 16, "wire format");
_Static_assert(sizeof(struct msg_space_leased) == 8, "wire format");
_Static_assert(sizeof(struct msg_space_recall) == 32, "wire format");
_Static_assert(sizeof(struct msg_space_recalled) == 32, "wire format");

#endif
