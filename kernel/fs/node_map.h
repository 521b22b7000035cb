/* Who maps a node's pages: kernels, as homes of spaces with areas that refer to it. Each has as many references to the
 * node as it was granted, and gives them back when no area of its spaces refers to the node. mm/file_map.md. */
#ifndef KERNEL_FS_NODE_MAP_H
#define KERNEL_FS_NODE_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct node;

/* node->lock is held: a program has a mapping of it that it may write. */
bool node_maps_written_locked(const struct node *node);
/* For the end of a node. */
void node_maps_free(struct node *node);

#endif
