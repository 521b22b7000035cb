/* The map from ranges to kernels. See the header. */
#include "mm/lease/map.h"

#include "kernel/abi/errno.h"
#include "mm/frame/heap.h"

void lease_map_init(struct lease_map *map)
{
    *map = (struct lease_map){.last = NULL};
    list_init(&map->order);
}

static struct lease *lease_at(struct list *node)
{
    return container_of(node, struct lease, node);
}

bool lease_map_clear_some(struct lease_map *map, uint32_t most)
{
    list_for_each_safe(node, &map->order) {
        if (most-- == 0)
            return false;
        list_remove(node);
        heap_free(lease_at(node), sizeof(struct lease));
    }
    lease_map_init(map);
    return true;
}

static inline struct lease *next(const struct lease_map *map, uint64_t address)
{
    struct ordered_link *link = address != UINT64_MAX ? ordered_from(&map->leases, address + 1) : NULL;

    return link != NULL ? container_of(link, struct lease, link) : NULL;
}

const struct lease *lease_map_next(const struct lease_map *map, uint64_t address)
{
    return next(map, address);
}

const struct lease *lease_map_search(const struct lease_map *map, uint64_t address)
{
    const struct lease *lease = next(map, address), *before;
    /* LAST and GAP are caches and no part of what the map says, so they may change in a const map */
    struct lease_map *caches = (struct lease_map *)(uintptr_t)map;

    if (lease == NULL || lease->start > address) {
        before = lease_map_before(map, lease);
        caches->gap = (struct space_range){before != NULL ? before->end : 0, lease != NULL ? lease->start : UINT64_MAX};
        return NULL;
    }
    caches->last = lease;
    return lease;
}

/* --- changes --- */

/* Inserts LEASE before BEHIND, or at the end if that is NULL. */
static void insert(struct lease_map *map, struct lease *lease, struct lease *behind)
{
    list_insert_before(&lease->node, behind != NULL ? &behind->node : &map->order);
    lease->link.key = lease->end;
    ordered_add(&map->leases, &lease->link);
    map->empties += lease->empty ? 1 : 0;
}

static void drop(struct lease_map *map, struct lease *lease)
{
    if (map->last == lease)
        map->last = NULL;
    map->empties -= lease->empty ? 1 : 0;
    ordered_remove(&map->leases, &lease->link);
    list_remove(&lease->node);
    heap_free(lease, sizeof(*lease));
}

static void set_end(struct lease_map *map, struct lease *lease, uint64_t end)
{
    ordered_remove(&map->leases, &lease->link);
    lease->end = lease->link.key = end;
    ordered_add(&map->leases, &lease->link);
}

/* Allocates *SPARE for the second part of a lease that contains [START, END) and reaches beyond both of its ends; NULL
 * if there is none. -ENOMEM. */
static int spare_for(const struct lease_map *map, uint64_t start, uint64_t end, struct lease **spare)
{
    const struct lease *lease = next(map, start);

    *spare = NULL;
    if (lease == NULL || lease->start >= start || lease->end <= end)
        return 0;
    *spare = heap_alloc_unset(sizeof(**spare));
    return *spare != NULL ? 0 : -ENOMEM;
}

/* Removes [START, END) from all leases, using SPARE if one is split. Returns the first lease behind the range, or
 * NULL. */
static struct lease *carve(struct lease_map *map, uint64_t start, uint64_t end, struct lease *spare)
{
    struct lease *lease = next(map, start);

    if (spare != NULL) {
        *spare = (struct lease){.start = end, .end = lease->end, .kernel = lease->kernel, .empty = lease->empty};
        set_end(map, lease, start);
        insert(map, spare, next(map, start));
        return spare;
    }
    if (lease != NULL && lease->start < start) {
        set_end(map, lease, start);
        lease = next(map, start);
    }
    while (lease != NULL && lease->end <= end) {
        struct lease *over = lease;

        lease = next(map, lease->end);
        drop(map, over);
    }
    if (lease != NULL && lease->start < end)
        lease->start = end;
    return lease;
}

int lease_map_remove(struct lease_map *map, uint64_t start, uint64_t end)
{
    struct lease *spare;

    if (start >= end)
        return 0;
    if (spare_for(map, start, end, &spare) != 0)
        return -ENOMEM;
    map->gap = (struct space_range){0, 0};
    carve(map, start, end, spare);
    return 0;
}

/* Merges LEASE into the one behind it if the two are adjacent, and of the same kernel and kind. */
static void join(struct lease_map *map, struct lease *lease)
{
    struct lease *behind = next(map, lease->end);

    if (behind == NULL || behind->start != lease->end || behind->kernel != lease->kernel ||
        behind->empty != lease->empty)
        return;
    behind->start = lease->start;
    drop(map, lease);
}

/* Inserts LEASE, with SPARE for the second part of one that it splits. */
static void put(struct lease_map *map, struct lease *lease, struct lease *spare)
{
    struct lease *before;
    struct list *node;

    map->gap = (struct space_range){0, 0};
    insert(map, lease, carve(map, lease->start, lease->end, spare));
    node = lease->node.previous;
    before = node != &map->order ? lease_at(node) : NULL;
    join(map, lease);
    if (before != NULL)
        join(map, before);
}

static int set(struct lease_map *map, uint64_t start, uint64_t end, uint32_t kernel, bool empty)
{
    struct lease *lease, *spare;

    if (start >= end)
        return 0;
    lease = heap_alloc_unset(sizeof(*lease));
    if (lease == NULL || spare_for(map, start, end, &spare) != 0) {
        heap_free(lease, sizeof(*lease));
        return -ENOMEM;
    }
    *lease = (struct lease){.start = start, .end = end, .kernel = kernel, .empty = empty};
    put(map, lease, spare);
    return 0;
}

int lease_map_set(struct lease_map *map, uint64_t start, uint64_t end, uint32_t kernel)
{
    return set(map, start, end, kernel, false);
}

int lease_map_set_empty(struct lease_map *map, uint64_t start, uint64_t end, uint32_t kernel)
{
    return set(map, start, end, kernel, true);
}

void lease_map_add_empty(struct lease_map *map, uint64_t start, uint64_t end, uint32_t kernel, struct lease *lease)
{
    *lease = (struct lease){.start = start, .end = end, .kernel = kernel, .empty = true};
    put(map, lease, NULL);
}
