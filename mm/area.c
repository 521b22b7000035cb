/* Areas of an address space. See the header. */
#include "mm/area.h"

#include <stddef.h>

#include "kernel/abi/errno.h"
#include "mm/heap.h"

static struct area *area_at(struct list *node)
{
    return container_of(node, struct area, node);
}

void area_list_init(struct area_list *list)
{
    list_init(&list->head);
    list->count = 0;
}

static void area_drop(struct area_list *list, struct area *area)
{
    list_remove(&area->node);
    list->count--;
    heap_free(area, sizeof(*area));
}

void area_list_clear(struct area_list *list)
{
    list_for_each_safe(node, &list->head)
        area_drop(list, area_at(node));
}

struct area *area_find(const struct area_list *list, uint64_t address)
{
    list_for_each(node, &list->head) {
        struct area *area = area_at(node);

        if (address < area->start)
            break;
        if (address < area->end)
            return area;
    }
    return NULL;
}

bool area_overlaps(const struct area_list *list, uint64_t start, uint64_t end)
{
    list_for_each(node, &list->head) {
        const struct area *area = area_at(node);

        if (area->start >= end)
            break;
        if (area->end > start)
            return true;
    }
    return false;
}

/* Takes [START, END) out, with SPARE for the one split that may be needed. Returns the node that what follows END is at
 * or behind, and whether SPARE was used. */
static struct list *carve(struct area_list *list, uint64_t start, uint64_t end, struct area *spare, bool *used)
{
    *used = false;
    list_for_each_safe(node, &list->head) {
        struct area *area = area_at(node);

        if (area->start >= end)
            return node;
        if (area->end <= start)
            continue;
        if (area->start < start && area->end > end) {
            *spare = (struct area){.start = end, .end = area->end, .prot = area->prot};
            area->end = start;
            list_insert_before(&spare->node, area->node.next);
            list->count++;
            *used = true;
            return &spare->node;
        }
        if (area->start < start)
            area->end = start;
        else if (area->end > end)
            area->start = end;
        else {
            area_drop(list, area);
            continue;
        }
        if (area->start >= end)
            return node;
    }
    return &list->head;
}

int area_remove(struct area_list *list, uint64_t start, uint64_t end)
{
    struct area *spare = heap_alloc(sizeof(*spare));
    bool used;

    if (spare == NULL)
        return -ENOMEM;
    carve(list, start, end, spare, &used);
    if (!used)
        heap_free(spare, sizeof(*spare));
    return 0;
}

/* Joins AREA with the neighbour behind it when they touch and are alike. */
static void join(struct area_list *list, struct area *area)
{
    struct area *next;

    if (area->node.next == &list->head)
        return;
    next = area_at(area->node.next);
    if (area->end == next->start && area->prot == next->prot) {
        area->end = next->end;
        area_drop(list, next);
    }
}

int area_set(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot)
{
    struct area *area = heap_alloc(sizeof(*area));
    struct area *spare = heap_alloc(sizeof(*spare));
    struct list *behind;
    bool used;

    if (area == NULL || spare == NULL) {
        heap_free(area, sizeof(*area));
        heap_free(spare, sizeof(*spare));
        return -ENOMEM;
    }
    behind = carve(list, start, end, spare, &used);
    if (!used)
        heap_free(spare, sizeof(*spare));
    *area = (struct area){.start = start, .end = end, .prot = prot};
    list_insert_before(&area->node, behind);
    list->count++;
    join(list, area);
    if (area->node.previous != &list->head)
        join(list, area_at(area->node.previous));
    return 0;
}

/* The first byte at or behind ADDRESS that no area holds. */
static uint64_t covered_until(const struct area_list *list, uint64_t address)
{
    list_for_each(node, &list->head) {
        const struct area *area = area_at(node);

        if (area->start > address)
            break;
        if (area->end > address)
            address = area->end;
    }
    return address;
}

bool area_covers(const struct area_list *list, uint64_t start, uint64_t end)
{
    return covered_until(list, start) >= end;
}

/* Cuts the area that has AT inside in two, with SPARE. Returns whether SPARE was used. */
static bool split(struct area_list *list, uint64_t at, struct area *spare)
{
    struct area *area = area_find(list, at);

    if (area == NULL || area->start == at)
        return false;
    *spare = (struct area){.start = at, .end = area->end, .prot = area->prot};
    area->end = at;
    list_insert_before(&spare->node, area->node.next);
    list->count++;
    return true;
}

int area_protect_known(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot)
{
    struct area *low = heap_alloc(sizeof(*low));
    struct area *high = heap_alloc(sizeof(*high));

    if (low == NULL || high == NULL) {
        heap_free(low, sizeof(*low));
        heap_free(high, sizeof(*high));
        return -ENOMEM;
    }
    if (!split(list, start, low))
        heap_free(low, sizeof(*low));
    if (!split(list, end, high))
        heap_free(high, sizeof(*high));
    list_for_each(node, &list->head) {
        struct area *area = area_at(node);

        if (area->start >= start && area->end <= end)
            area->prot = (area->prot & AREA_SHARED) | prot;
    }
    for (struct list *node = list->head.next; node != &list->head && area_at(node)->start <= end;) {
        uint32_t count = list->count;

        join(list, area_at(node));
        if (list->count == count)
            node = node->next; /* else look again: it touches another one now */
    }
    return 0;
}

int area_protect(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot)
{
    return area_covers(list, start, end) ? area_protect_known(list, start, end, prot) : -ENOMEM;
}

int area_append(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot)
{
    struct area *area = heap_alloc(sizeof(*area));

    if (area == NULL)
        return -ENOMEM;
    *area = (struct area){.start = start, .end = end, .prot = prot};
    list_append(&list->head, &area->node);
    list->count++;
    return 0;
}

uint64_t area_find_gap(const struct area_list *list, uint64_t length, uint64_t low, uint64_t high)
{
    for (const struct list *node = list->head.previous; node != &list->head; node = node->previous) {
        const struct area *area = container_of(node, const struct area, node);

        if (area->end < high) {
            uint64_t floor = area->end > low ? area->end : low;

            if (high > floor && high - floor >= length)
                return high - length;
        }
        if (area->start < high)
            high = area->start;
        if (high <= low)
            return 0;
    }
    return high > low && high - low >= length ? high - length : 0;
}
