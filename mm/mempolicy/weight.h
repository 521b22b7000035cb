/* The weights of nodes for POLICY_WEIGHTED: of the pages that it interleaves, a node gets as many in a row as its
 * weight says. They are the machine's: the option `weights`, and files of /sys
 * (kernel/fs/sys/weight.c), as in Linux since 6.9. Each kernel has a copy. A change applies to pages that are touched
 * afterwards. */
#ifndef MM_MEMPOLICY_WEIGHT_H
#define MM_MEMPOLICY_WEIGHT_H

#include <stdint.h>

#include "kernel/abi/limits.h"

#define WEIGHT_MAX 255u

/* [a] 0: not set, as if 1 */
extern volatile uint8_t mempolicy_weights[NODES_MAX];

static inline uint32_t mempolicy_weight(uint32_t node)
{
    uint32_t weight = mempolicy_weights[node];

    return weight != 0 ? weight : 1;
}

/* Registers the option. Once. */
void weight_init(void);

#endif
