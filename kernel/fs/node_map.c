/* Mappings of nodes. See the header. */
#include "kernel/fs/node_map.h"

#include <stddef.h>

#include "boot/instance.h"
#include "kernel/fs/node.h"
#include "mm/heap.h"

struct node_maps {
    uint32_t granted[KERNELS_MAX]; /* references to the node that each kernel has */
    uint32_t all;                  /* of all kernels */
    bool written;                  /* one of them is of an area that may write to the file */
};

bool node_maps_written_locked(const struct node *node)
{
    return node->maps != NULL && node->maps->written;
}

void node_maps_free(struct node *node)
{
    heap_free(node->maps, sizeof(*node->maps));
}
