/* Intrusive doubly linked lists: a node is a field of the object, and the head is a node, too. The caller locks. */
#ifndef KERNEL_LIB_LIST_H
#define KERNEL_LIB_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next;
    struct list *previous;
};

/* The object of type TYPE whose list node MEMBER is at NODE. */
#define container_of(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

#define list_for_each(node, head) for (struct list *node = (head)->next; node != (head); node = node->next)

/* As list_for_each, and the body may remove NODE from the list. */
#define list_for_each_safe(node, head)                                                                                 \
    for (struct list *node = (head)->next, *node##_next = node->next; node != (head);                                  \
         node = node##_next, node##_next = node->next)

static inline void list_init(struct list *head)
{
    head->next = head;
    head->previous = head;
}

static inline bool list_empty(const struct list *head)
{
    return head->next == head;
}

static inline void list_insert_before(struct list *node, struct list *position)
{
    node->next = position;
    node->previous = position->previous;
    position->previous->next = node;
    position->previous = node;
}

static inline void list_append(struct list *head, struct list *node)
{
    list_insert_before(node, head);
}

static inline void list_prepend(struct list *head, struct list *node)
{
    list_insert_before(node, head->next);
}

/* Moves all of FROM, in their order, behind those of HEAD. */
static inline void list_append_all(struct list *head, struct list *from)
{
    if (list_empty(from))
        return;
    from->next->previous = head->previous;
    head->previous->next = from->next;
    from->previous->next = head;
    head->previous = from->previous;
    list_init(from);
}

/* Removes NODE from its list and makes it an empty list, so removing it again is harmless. */
static inline void list_remove(struct list *node)
{
    node->previous->next = node->next;
    node->next->previous = node->previous;
    list_init(node);
}

#endif
