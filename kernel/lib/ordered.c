/* Ordered sets. See the header. Keys are in order from left to right, priorities from the top down; a priority is a
 * hash of the key, so the tree's shape depends on its keys, not on the order of insertion. */
#include "kernel/lib/ordered.h"

#include <stddef.h>

/* The finalizer of MurmurHash3: every bit of the key affects every bit of the priority. */
static uint64_t priority(const struct ordered_link *link)
{
    uint64_t x = link->key;

    x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ull;
    return x ^ x >> 33;
}

struct ordered_link *ordered_find(const struct ordered *set, uint64_t key)
{
    struct ordered_link *link = set->top;

    while (link != NULL && link->key != key)
        link = key < link->key ? link->less : link->more;
    return link;
}

struct ordered_link *ordered_from(const struct ordered *set, uint64_t key)
{
    struct ordered_link *link = set->top, *best = NULL;

    while (link != NULL) {
        if (link->key >= key)
            best = link;
        link = link->key >= key ? link->less : link->more;
    }
    return best;
}

void ordered_add(struct ordered *set, struct ordered_link *link)
{
    struct ordered_link **place = &set->top, *rest;
    struct ordered_link **less = &link->less, **more = &link->more;

    while (*place != NULL && priority(*place) >= priority(link))
        place = link->key < (*place)->key ? &(*place)->less : &(*place)->more;
    rest = *place;
    *place = link;
    while (rest != NULL) { /* split the displaced subtree at our key */
        if (rest->key < link->key) {
            *less = rest;
            less = &rest->more;
            rest = rest->more;
        } else {
            *more = rest;
            more = &rest->less;
            rest = rest->less;
        }
    }
    *less = NULL;
    *more = NULL;
}

void ordered_remove(struct ordered *set, struct ordered_link *link)
{
    struct ordered_link **place = &set->top;
    struct ordered_link *less = link->less, *more = link->more;

    while (*place != link)
        place = link->key < (*place)->key ? &(*place)->less : &(*place)->more;
    while (less != NULL && more != NULL) { /* merge the two subtrees below */
        if (priority(less) >= priority(more)) {
            *place = less;
            place = &less->more;
            less = less->more;
        } else {
            *place = more;
            place = &more->less;
            more = more->less;
        }
    }
    *place = less != NULL ? less : more;
}
