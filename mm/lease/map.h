/* The map from ranges of addresses to kernels: disjoint ranges, each leased to one kernel; adjacent ranges of one
 * kernel and kind are merged. It is a sorted list with a tree over it (kernel/lib/ordered.h), and contains no hardware
 * access. The caller holds the lock that protects it. Finding one of N ranges costs O(log N), and a change O(log N) for
 * each range that it touches. Nothing here waits. */
#ifndef MM_LEASE_MAP_H
#define MM_LEASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/lib/list.h"
#include "kernel/lib/ordered.h"
#include "mm/space/strategy.h"

struct lease {
    struct ordered_link link; /* the key is END */
    struct list node;         /* in order of addresses */
    uint64_t start;           /* first byte */
    uint64_t end;             /* the first byte behind it */
    uint32_t kernel;
    bool empty; /* of empty pages of areas, which may continue at its ends: mm/lease/empty.c */
};

void lease_map_init(struct lease_map *map);
/* Frees up to MOST leases of MAP, which is used for nothing else any more. True: it is empty, as lease_map_init. */
bool lease_map_clear_some(struct lease_map *map, uint32_t most);
static inline bool lease_map_empty(const struct lease_map *map)
{
    return map->leases.top == NULL;
}

/* True if [START, END), which is not empty, is known to have no lease in it; a quick look that may miss it. */
static inline bool lease_map_gap(const struct lease_map *map, uint64_t start, uint64_t end)
{
    return start >= map->gap.start && end <= map->gap.end;
}

/* Returns the lease that contains ADDRESS, or NULL. lease_map_find looks first at the lease that was found last, and at
 * the last place where there was none. */
const struct lease *lease_map_search(const struct lease_map *map, uint64_t address);
static inline const struct lease *lease_map_find(const struct lease_map *map, uint64_t address)
{
    const struct lease *lease = map->last;

    if (lease != NULL && address - lease->start < lease->end - lease->start)
        return lease;
    return address - map->gap.start < map->gap.end - map->gap.start ? NULL : lease_map_search(map, address);
}
/* Returns the first lease that ends behind ADDRESS, which is the one that contains ADDRESS or else the next one; or
 * NULL. */
const struct lease *lease_map_next(const struct lease_map *map, uint64_t address);
/* Return the lease behind LEASE, or before it, or NULL. The lease before NULL is the last one. */
static inline const struct lease *lease_map_after(const struct lease_map *map, const struct lease *lease)
{
    return lease->node.next != &map->order ? container_of(lease->node.next, const struct lease, node) : NULL;
}

static inline const struct lease *lease_map_before(const struct lease_map *map, const struct lease *lease)
{
    const struct list *node = lease != NULL ? lease->node.previous : map->order.previous;

    return node != &map->order ? container_of(node, const struct lease, node) : NULL;
}

/* Leases [START, END) to KERNEL, in place of its former leases. -ENOMEM: unchanged. */
int lease_map_set(struct lease_map *map, uint64_t start, uint64_t end, uint32_t kernel);
/* The same for empty pages. */
int lease_map_set_empty(struct lease_map *map, uint64_t start, uint64_t end, uint32_t kernel);
/* The same for empty pages in a range without leases, with the memory LEASE, from heap_alloc_unset. */
void lease_map_add_empty(struct lease_map *map, uint64_t start, uint64_t end, uint32_t kernel, struct lease *lease);
/* Makes [START, END) unleased. -ENOMEM: unchanged; only if a lease would have to be split. */
int lease_map_remove(struct lease_map *map, uint64_t start, uint64_t end);

#endif
