/* The queues of lock requests in order of age. See the header. */
#include "mm/lock/lamport_queue.h"

void lamport_init(struct lamport_queues *queues)
{
    list_init(&queues->heavy);
    for (uint32_t i = 0; i < LAMPORT_LISTS; i++)
        list_init(&queues->pages[i]);
}

static bool is_page(struct space_range range)
{
    return range.end - range.start <= PAGE_SIZE;
}

static struct list *list_of(struct lamport_queues *queues, struct space_range range)
{
    return is_page(range) ? &queues->pages[range.start / PAGE_SIZE % LAMPORT_LISTS] : &queues->heavy;
}

struct lamport_entry *lamport_any(struct lamport_queues *queues)
{
    if (!list_empty(&queues->heavy))
        return container_of(queues->heavy.next, struct lamport_entry, node);
    for (uint32_t i = 0; i < LAMPORT_LISTS; i++) {
        if (!list_empty(&queues->pages[i]))
            return container_of(queues->pages[i].next, struct lamport_entry, node);
    }
    return NULL;
}

bool lamport_older(const struct lamport_entry *a, const struct lamport_entry *b)
{
    return a->time != b->time ? a->time < b->time : a->kernel < b->kernel;
}

bool lamport_add(struct lamport_queues *queues, struct lamport_entry *entry)
{
    struct list *list = list_of(queues, entry->range), *behind = list->previous;

    /* from the end, because most requests are younger than all that are queued */
    while (behind != list && lamport_older(entry, container_of(behind, struct lamport_entry, node)))
        behind = behind->previous;
    if (behind != list && !lamport_older(container_of(behind, struct lamport_entry, node), entry))
        return false;
    list_insert_before(&entry->node, behind->next);
    return true;
}

void lamport_remove(struct lamport_entry *entry)
{
    list_remove(&entry->node);
}

struct lamport_entry *lamport_find(struct lamport_queues *queues, struct space_range range, uint64_t time,
                                   uint32_t kernel)
{
    list_for_each(node, list_of(queues, range)) {
        struct lamport_entry *entry = container_of(node, struct lamport_entry, node);

        if (entry->time == time && entry->kernel == kernel)
            return entry;
    }
    return NULL;
}

static const struct lamport_entry *before_in(const struct list *list, const struct lamport_entry *entry)
{
    list_for_each(node, list) {
        const struct lamport_entry *other = container_of(node, const struct lamport_entry, node);

        if (!lamport_older(other, entry))
            break;
        if (range_overlaps(other->range, entry->range))
            return other;
    }
    return NULL;
}

const struct lamport_entry *lamport_before(const struct lamport_queues *queues, const struct lamport_entry *entry)
{
    const struct lamport_entry *found = before_in(&queues->heavy, entry);

    if (is_page(entry->range) && found == NULL)
        return before_in(&queues->pages[entry->range.start / PAGE_SIZE % LAMPORT_LISTS], entry);
    for (uint32_t i = 0; i < LAMPORT_LISTS && found == NULL; i++)
        found = before_in(&queues->pages[i], entry);
    return found;
}

static bool taken_in(const struct list *list, struct space_range range)
{
    list_for_each(node, list) {
        if (range_overlaps(container_of(node, const struct lamport_entry, node)->range, range))
            return true;
    }
    return false;
}

bool lamport_taken(const struct lamport_queues *queues, uint64_t start, uint64_t end)
{
    struct space_range range = {start, end};
    bool taken = taken_in(&queues->heavy, range);

    if (is_page(range) && !taken)
        return taken_in(&queues->pages[start / PAGE_SIZE % LAMPORT_LISTS], range);
    for (uint32_t i = 0; i < LAMPORT_LISTS && !taken; i++)
        taken = taken_in(&queues->pages[i], range);
    return taken;
}

static uint64_t lowest_in(const struct list *list, uint64_t start, uint64_t end)
{
    uint64_t lowest = end;

    list_for_each(node, list) {
        const struct lamport_entry *entry = container_of(node, const struct lamport_entry, node);

        if (entry->range.end != SPACE_HEAVY.end && entry->range.start < lowest && entry->range.end > start)
            lowest = entry->range.start;
    }
    return lowest;
}

uint64_t lamport_lowest(const struct lamport_queues *queues, uint64_t start, uint64_t end)
{
    uint64_t lowest = lowest_in(&queues->heavy, start, end);

    for (uint32_t i = 0; i < LAMPORT_LISTS; i++)
        lowest = lowest_in(&queues->pages[i], start, lowest);
    return lowest;
}
