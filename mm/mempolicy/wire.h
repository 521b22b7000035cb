/* The payloads of SPACE_POLICY_MAKE and SPACE_POLICY_TELL; the request of each is the reply of the other.
 * mm/mempolicy/mempolicy.md. */
#ifndef MM_MEMPOLICY_WIRE_H
#define MM_MEMPOLICY_WIRE_H

#include <stdint.h>

#include "mm/mempolicy/mempolicy.h"

struct msg_space_policy {
    uint64_t space;
    struct policy policy;
};

struct msg_space_policy_number {
    uint64_t space;
    uint32_t number; /* 1 to POLICY_MAX */
    uint32_t pad;
};

_Static_assert(sizeof(struct msg_space_policy) == 32, "wire format");
_Static_assert(sizeof(struct msg_space_policy_number) == 16, "wire format");

#endif
