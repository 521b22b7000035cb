/* The policies that move memory to those who use it: pure functions of what has been seen of a block, for tests on the
 * host. mm/numa.md describes them. */
#ifndef MM_SEEN_CHOICE_H
#define MM_SEEN_CHOICE_H

#include <stdint.h>

#define SEEN_STAYS UINT32_MAX

/* A block when another look at accesses has been counted. */
struct seen_view {
    uint32_t nodes;       /* of the machine */
    uint32_t here;        /* the node of the block */
    uint32_t now;         /* the node whose accesses have just been seen */
    uint32_t last;        /* the node whose accesses were seen before; SEEN_STAYS: nobody's yet */
    const uint16_t *used; /* of each node: pages found accessed, those just seen included; halved every period */
};

struct seen_policy {
    const char *name; /* the value of the option numa= */
    /* Returns the node to which the block is to move, or SEEN_STAYS. NULL: nobody looks for accesses. */
    uint32_t (*choose)(const struct seen_view *view);
};

#define SEEN_POLICIES 6u
extern const struct seen_policy seen_policies[SEEN_POLICIES]; /* in the order of the option's values */

#endif
