/* NUMA groups of threads: where most threads of a group are, its memory is to be. group.md describes them. What is free
 * of the rest of mm/seen is tested on the host. */
#ifndef MM_SEEN_GROUP_H
#define MM_SEEN_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/limits.h"
#include "msg/message.h"

#define NUMA_GROUPS 16u           /* 0: no group */
#define NUMA_GROUP_ASK UINT32_MAX /* in place of one */

struct space;

/* How many threads of each group a kernel has. */
struct msg_space_groups { /* SPACE_GROUPS */
    uint64_t space;
    uint32_t kernel;
    uint16_t threads[NUMA_GROUPS]; /* [0] is 0 */
    uint32_t pad;
};

_Static_assert(sizeof(struct msg_space_groups) == 48, "wire format");

/* What the home knows of the groups of a space. All fields: space->lock. */
struct seen_groups {
    uint64_t since; /* when it was made, clock_now ns */
    uint16_t threads[KERNELS_MAX][NUMA_GROUPS];
    kernel_set any;            /* kernels that have told what they have */
    uint8_t node[NUMA_GROUPS]; /* 1 + the home node; 0: none */
};

/* TOLD is what its kernel has. MEMBERS: the kernels that may have threads. NODE_OF: of each kernel. Returns the groups
 * whose home node is another one now, a bit for each. */
uint32_t groups_note(struct seen_groups *groups, const struct msg_space_groups *told, kernel_set members,
                     uint32_t (*node_of)(uint32_t kernel));

/* --- of a space --- */

/* The home node of GROUP, at the home of SPACE; NODES_MAX: it has none, or not all kernels may have told. */
uint32_t groups_node_locked(const struct space *space, uint32_t group);
/* Tells HOME what TOLD has. Waits, and holds no reference to a space. False: it did not take it, and is to be told
 * again.
 */
bool groups_tell(uint32_t home, const struct msg_space_groups *told);
void groups_end(struct space *space);
/* Registers the message. Once. */
void groups_init(void);

#endif
