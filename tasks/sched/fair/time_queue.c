/* The slow paths of the pairing heap. See the header. */
#include "tasks/sched/fair/time_queue.h"

void time_queue_init(struct time_queue *queue)
{
    queue->first = NULL;
}

/* Melds in two passes: pairs from left to right, then all pairs from right to left. This order makes removing the first
 * node cheap on average. The pairs are kept in a list through next, the last pair first. */
struct time_node *time_queue_join_children(struct time_node *child)
{
    struct time_node *pairs = NULL;
    struct time_node *all;

    do {
        struct time_node *other = child->next;
        struct time_node *rest = other != NULL ? other->next : NULL;
        struct time_node *pair = other != NULL ? time_queue_meld(child, other) : child;

        pair->next = pairs;
        pairs = pair;
        child = rest;
    } while (child != NULL);
    all = pairs;
    pairs = pairs->next;
    while (pairs != NULL) {
        struct time_node *rest = pairs->next;

        all = time_queue_meld(all, pairs);
        pairs = rest;
    }
    all->next = NULL;
    all->previous = NULL;
    return all;
}

void time_queue_remove(struct time_queue *queue, struct time_node *node)
{
    struct time_node *below = node->child;

    if (node == queue->first) {
        time_queue_pop(queue);
        return;
    }
    if (node->previous->child == node)
        node->previous->child = node->next;
    else
        node->previous->next = node->next;
    if (node->next != NULL)
        node->next->previous = node->previous;
    if (below == NULL)
        return;
    below = time_queue_join_children(below);
    queue->first = time_queue_meld(queue->first, below);
}

/* Goes down first, then to the right, then up until there is a right sibling. `previous` of the leftmost sibling is the
 * parent. */
struct time_node *time_queue_next(const struct time_node *node)
{
    if (node->child != NULL)
        return node->child;
    for (;;) {
        if (node->previous == NULL) /* this is the first node of the queue, which has no siblings */
            return NULL;
        if (node->next != NULL)
            return node->next;
        while (node->previous->child != node)
            node = node->previous;
        node = node->previous;
    }
}
