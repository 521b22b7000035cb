/* Ordered sets: objects with a 64-bit key in a binary tree, found, put in and taken out in a number of steps that grows
 * with the logarithm of their number (a treap: Seidel and Aragon 1996, "Randomized Search Trees"). No memory of its
 * own, no recursion. The caller locks. */
#ifndef KERNEL_LIB_ORDERED_H
#define KERNEL_LIB_ORDERED_H

#include <stdint.h>

struct ordered_link { /* lives in the object */
    struct ordered_link *less, *more;
    uint64_t key;
};

struct ordered { /* zeros: empty */
    struct ordered_link *top;
};

/* The one with KEY, or NULL. */
struct ordered_link *ordered_find(const struct ordered *set, uint64_t key);
/* The one with the lowest key that is not below KEY, or NULL. */
struct ordered_link *ordered_from(const struct ordered *set, uint64_t key);
/* LINK->key is in no object of SET. */
void ordered_add(struct ordered *set, struct ordered_link *link);
/* LINK is in SET. */
void ordered_remove(struct ordered *set, struct ordered_link *link);

#endif
