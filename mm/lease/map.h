/* Which kernel has what range: disjoint ranges of addresses, each of one kernel; neighbours of one kernel that touch
 * are one. A sorted list with a tree over it (kernel/lib/ordered.h), free of hardware; the caller holds the lock that
 * protects it. To find one of N costs O(log N), a change O(log N) for each that it touches. Nothing here waits. */
#ifndef MM_LEASE_MAP_H
#define MM_LEASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/lib/list.h"
#include "kernel/lib/ordered.h"
#include "mm/space/strategy.h"

struct lease {
    struct ordered_link link; /* its key is the end */
    struct list node;         /* in order of addresses */
    uint64_t start;           /* first byte */
    uint64_t end;             /* behind the last byte */
    uint32_t kernel;
};

void lease_map_init(struct lease_map *map);
void lease_map_clear(struct lease_map *map);
static inline bool lease_map_empty(const struct lease_map *map)
{
    return map->leases.top == NULL;
}

/* The one that holds ADDRESS, or NULL. */
const struct lease *lease_map_search(const struct lease_map *map, uint64_t address);
static inline const struct lease *lease_map_find(const struct lease_map *map, uint64_t address)
{
    const struct lease *lease = map->last;

    return lease != NULL && address - lease->start < lease->end - lease->start ? lease : lease_map_search(map, address);
}
/* The first that ends behind ADDRESS: the one that holds it or else the next one, or NULL. */
const struct lease *lease_map_next(const struct lease_map *map, uint64_t address);
/* The neighbour of LEASE behind it, or before it, or NULL; before NULL: the last. */
static inline const struct lease *lease_map_after(const struct lease_map *map, const struct lease *lease)
{
    return lease->node.next != &map->order ? container_of(lease->node.next, const struct lease, node) : NULL;
}

static inline const struct lease *lease_map_before(const struct lease_map *map, const struct lease *lease)
{
    const struct list *node = lease != NULL ? lease->node.previous : map->order.previous;

    return node != &map->order ? container_of(node, const struct lease, node) : NULL;
}

/* Makes [START, END) KERNEL's, whoever had it. -ENOMEM: unchanged. */
int lease_map_set(struct lease_map *map, uint64_t start, uint64_t end, uint32_t kernel);
/* Makes [START, END) nobody's. -ENOMEM, and unchanged: only when one lease is to become two. */
int lease_map_remove(struct lease_map *map, uint64_t start, uint64_t end);

#endif
