/* The kernels that map a node's pages, as homes of spaces with areas that refer to it. Each has as many references to
 * the node as it was granted, and returns them when no area of its spaces refers to the node. mm/file/file_map.md. */
#ifndef KERNEL_FS_NODE_MAP_H
#define KERNEL_FS_NODE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/limits.h"
#include "kernel/lib/list.h"

struct node;

struct node_maps {                 /* under node->lock */
    uint32_t granted[KERNELS_MAX]; /* references to the node that each kernel has */
    uint32_t all;                  /* of all kernels */
    bool written;                  /* one of them is of an area that may write to the file */
    struct list revocations;       /* under way (revocation.h) */
};

/* A space at home with KERNEL is about to map NODE; WRITTEN: so that it can write to it. One reference to NODE goes
 * along. -ENOMEM. */
int node_maps_grant(struct node *node, uint32_t kernel, bool written);
/* node->lock is held: a program has a mapping of it, or one that it may write. */
bool node_mapped_locked(const struct node *node);
bool node_maps_written_locked(const struct node *node);
/* node->lock is held: how often each kernel has it. */
void node_maps_granted_locked(const struct node *node, uint32_t granted[KERNELS_MAX]);
/* For the end of a node. */
void node_maps_free(struct node *node);
/* Programs are quiesced: moves the references that kernel FROM was granted to kernel TO. */
void node_maps_switch(uint32_t from, uint32_t to);

/* Says to mm/ what can be mapped here, and registers the messages. Once. */
void node_map_init(void);

#endif
