/* A queue of objects ordered by a number, the least first: a pairing heap (Fredman, Sedgewick, Sleator, Tarjan 1986).
 * Adding takes constant time, removing the first one O(log n) on average; with few entries, both take a few
 * instructions. Nodes lie inside the objects; the queue allocates nothing and locks nothing. */
#ifndef TASKS_SCHED_FAIR_TIME_QUEUE_H
#define TASKS_SCHED_FAIR_TIME_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct time_node {
    uint64_t key;               /* constant while in a queue */
    struct time_node *child;    /* first child; the children are in no order */
    struct time_node *next;     /* next with the same parent */
    struct time_node *previous; /* previous with the same parent, or the parent; NULL for the first of the queue */
};

struct time_queue {
    struct time_node *first; /* the one with the least key, or NULL */
};

void time_queue_init(struct time_queue *queue);

/* Makes one tree of the trees A and B; of equal keys A's is first. */
static inline struct time_node *time_queue_meld(struct time_node *a, struct time_node *b)
{
    struct time_node *above = b->key < a->key ? b : a;
    struct time_node *below = above == a ? b : a;

    below->next = above->child;
    below->previous = above;
    if (above->child != NULL)
        above->child->previous = below;
    above->child = below;
    return above;
}

/* Inserts NODE, which is in no queue and has its key. */
static inline void time_queue_add(struct time_queue *queue, struct time_node *node)
{
    node->child = NULL;
    node->next = NULL;
    node->previous = NULL;
    queue->first = queue->first == NULL ? node : time_queue_meld(queue->first, node);
}

/* Melds the children of the removed first node into one tree. The slow path of time_queue_pop. */
struct time_node *time_queue_join_children(struct time_node *child);

/* Removes and returns the first node of a queue that is not empty. */
static inline struct time_node *time_queue_pop(struct time_queue *queue)
{
    struct time_node *first = queue->first;
    struct time_node *child = first->child;

    if (child != NULL && child->next != NULL)
        child = time_queue_join_children(child);
    if (child != NULL)
        child->previous = NULL;
    queue->first = child;
    return first;
}

/* Removes NODE, which is in QUEUE. */
void time_queue_remove(struct time_queue *queue, struct time_node *node);

/* The node after NODE in a walk over all nodes, or NULL. The walk begins with the first node and has no order
 * otherwise. The queue must not change meanwhile. */
struct time_node *time_queue_next(const struct time_node *node);

#endif
