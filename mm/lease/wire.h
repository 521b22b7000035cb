/* The payloads of granting and recalling a lease: mm/lease/lease.md. */
#ifndef MM_LEASE_WIRE_H
#define MM_LEASE_WIRE_H

#include <stdint.h>

/* SPACE_LEASE */
struct msg_space_lease {
    uint64_t space;
    uint64_t length; /* bytes that the lease has to have room for */
};

struct msg_space_leased {
    uint64_t start; /* 0: no lease is granted */
};

/* SPACE_RECALL */
struct msg_space_recall {
    uint64_t space;
    uint64_t start, end; /* the range that is wanted; with FROM, the range that the holder gives up */
    uint64_t from;       /* where to continue, or 0 in the first request */
};

/* The reply. AREAS times struct msg_space_area and PAIRS times struct msg_space_pair follow; a pair for each page with
 * an owning entry, its page with SPACE_PAIR_COW if the entry is copy-on-write. */
#define SPACE_PAIR_COW 1ull
#define RECALLED_AREAS 48u /* in a part of the reply, at most: handlers list and record a part at once */
#define RECALLED_PAGES 96u
struct msg_space_recalled {
    uint64_t start, end; /* the range that the holder gives up */
    uint64_t next;       /* where to continue, or 0: this is the last part */
    uint32_t areas, pairs;
    uint64_t pending; /* 1: in this part of the range an unmap without memory has left entries pending free */
};

_Static_assert(sizeof(struct msg_space_lease) == 16, "wire format");
_Static_assert(sizeof(struct msg_space_leased) == 8, "wire format");
_Static_assert(sizeof(struct msg_space_recall) == 32, "wire format");
_Static_assert(sizeof(struct msg_space_recalled) == 40, "wire format");

#endif
