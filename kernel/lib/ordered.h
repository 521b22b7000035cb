/* Ordered sets: objects with a 64-bit key in a binary tree, with lookup, insertion and
 * removal in expected logarithmic time (a treap: Seidel and Aragon 1996, "Randomized Search Trees"). Allocates no
 * memory and does not recurse. The caller locks. */
#ifndef KERNEL_LIB_ORDERED_H
#define KERNEL_LIB_ORDERED_H

#include <stdint.h>

struct ordered_link { /* lives in the object */
    struct ordered_link *less, *more;
    uint64_t key;
};

struct ordered { /* all zeros: empty */
    struct ordered_link *top;
};

/* Returns the object with KEY, or NULL. */
struct ordered_link *ordered_find(const struct ordered *set, uint64_t key);
/* Returns the object with the lowest key that is not below KEY, or NULL. */
struct ordered_link *ordered_from(const struct ordered *set, uint64_t key);
/* Adds LINK; no object of SET may have LINK->key. */
void ordered_add(struct ordered *set, struct ordered_link *link);
/* Removes LINK, which must be in SET. */
void ordered_remove(struct ordered *set, struct ordered_link *link);

#endif
