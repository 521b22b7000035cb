/* Payload of a fork: mm/fork/fork.md. */
#ifndef MM_FORK_WIRE_H
#define MM_FORK_WIRE_H

#include <stdint.h>

/* SPACE_TAKE: the answer; pairs of page and frame follow */
struct msg_space_taken {
    uint64_t next; /* the address to continue from, or 0: the list is complete */
    uint64_t unused;
};

_Static_assert(sizeof(struct msg_space_taken) == 16, "wire format");

#endif
