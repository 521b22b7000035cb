/* The tree over an area list. See the header.
 *
 * Of two neighbours in the list, one is always an ancestor of the other in the tree: if the first has a higher child,
 * the second is the lowest area of that subtree; else the first is the highest area of the second's lower subtree. So
 * the path from the deeper of the two to the root contains both, and a change of both is settled from there upwards. */
#include "mm/area/tree.h"

#include "kernel/lib/list.h"

static uint32_t height_of(const struct area *area)
{
    return area != NULL ? area->height : 0;
}

/* Computes AREA's height and widest gap from those of its children. Returns the child whose subtree is higher than the
 * other one by two, or NULL. */
static inline struct area *measure(struct area *area)
{
    struct area *lower = area->child[AREA_LOWER], *higher = area->child[AREA_HIGHER];
    uint32_t lower_height = 0, higher_height = 0;
    uint64_t widest = area->gap;

    if (lower != NULL) {
        lower_height = lower->height;
        widest = lower->widest > widest ? lower->widest : widest;
    }
    if (higher != NULL) {
        higher_height = higher->height;
        widest = higher->widest > widest ? higher->widest : widest;
    }
    area->height = (lower_height > higher_height ? lower_height : higher_height) + 1;
    area->widest = widest;
    if (higher_height > lower_height + 1)
        return higher;
    return lower_height > higher_height + 1 ? lower : NULL;
}

/* Puts NEW, which may be NULL, in OLD's place below OLD's parent. */
static void replace(struct area_list *list, const struct area *old, struct area *new)
{
    struct area *parent = old->parent;

    if (parent == NULL)
        list->root = new;
    else
        parent->child[parent->child[AREA_HIGHER] == old] = new;
    if (new != NULL)
        new->parent = parent;
}

/* As replace, and copies OLD's measures to NEW, so that settle still sees the old values when it reaches NEW. */
static void take_place(struct area_list *list, const struct area *old, struct area *new)
{
    replace(list, old, new);
    new->height = old->height;
    new->widest = old->widest;
}

static void adopt(struct area *parent, uint32_t side, struct area *child)
{
    parent->child[side] = child;
    if (child != NULL)
        child->parent = parent;
}

/* Rotates TOP down to SIDE. Its child of the other side takes its place and is returned. */
static struct area *rotate(struct area_list *list, struct area *top, uint32_t side)
{
    struct area *up = top->child[!side];

    replace(list, top, up);
    adopt(top, !side, up->child[side]);
    adopt(up, side, top);
    measure(top);
    measure(up);
    return up;
}

/* Balances AREA, of which measure has returned the child HEAVY, so that its subtrees differ in height by one at most.
 * Returns the root of the subtree. */
static struct area *balance(struct area_list *list, struct area *area, struct area *heavy)
{
    uint32_t side = area->child[AREA_HIGHER] == heavy;

    if (height_of(heavy->child[!side]) > height_of(heavy->child[side]))
        rotate(list, heavy, side);
    return rotate(list, area, !side);
}

/* Updates measures and balance from AREA, whose gap or children have changed, up to the root. An area's stored height
 * and widest gap are the values from which its parent computed its own, so the walk stops at the first subtree whose
 * values are unchanged; usually after a few steps. */
static void settle(struct area_list *list, struct area *area)
{
    for (; area != NULL; area = area->parent) {
        uint32_t height = area->height;
        uint64_t widest = area->widest;
        struct area *heavy = measure(area);

        if (heavy != NULL)
            area = balance(list, area, heavy);
        if (area->height == height && area->widest == widest)
            break;
    }
}

static void set_gap(const struct area_list *list, struct area *area)
{
    const struct area *before = area_before(list, area);

    area->gap = area->start - (before != NULL ? before->end : 0);
}

void area_tree_insert(struct area_list *list, struct area *area, struct area *next)
{
    struct area *before, *other = next; /* NEXT's gap changes, too */

    list_insert_before(&area->node, next != NULL ? &next->node : &list->head);
    list->count++;
    area_tally(list, area, true);
    before = area_before(list, area);
    area->child[AREA_LOWER] = NULL;
    area->child[AREA_HIGHER] = NULL;
    if (next != NULL && next->child[AREA_LOWER] == NULL) {
        adopt(next, AREA_LOWER, area);
        other = NULL; /* NEXT is AREA's parent: settling AREA reaches it */
    } else if (before != NULL) {
        adopt(before, AREA_HIGHER, area); /* BEFORE is the highest below NEXT, or of all, so it has no higher child */
    } else {
        area->parent = NULL;
        list->root = area;
    }
    area->height = 0; /* the subtree here was empty, so settle does not stop at AREA */
    set_gap(list, area);
    if (next != NULL)
        set_gap(list, next);
    settle(list, area);
    settle(list, other);
}

void area_tree_remove(struct area_list *list, struct area *area)
{
    struct area *next = area_after(list, area);
    struct area *lower = area->child[AREA_LOWER], *higher = area->child[AREA_HIGHER];
    struct area *from; /* the deepest area whose subtree changes */

    list_remove(&area->node);
    list->count--;
    area_tally(list, area, false);
    if (next != NULL)
        set_gap(list, next);
    if (lower != NULL && higher != NULL) {
        from = next; /* the lowest area of the higher subtree: it has no lower child */
        if (next != higher) {
            from = next->parent;
            adopt(from, AREA_LOWER, next->child[AREA_HIGHER]);
            adopt(next, AREA_HIGHER, higher);
        }
        adopt(next, AREA_LOWER, lower);
        take_place(list, area, next);
    } else if (lower != NULL || higher != NULL) {
        from = lower != NULL ? lower : higher;
        take_place(list, area, from);
    } else {
        from = area->parent;
        replace(list, area, NULL);
    }
    settle(list, from);
    if (next != from)
        settle(list, next);
}

void area_tree_moved(struct area_list *list, struct area *area)
{
    struct area *next = area_after(list, area);

    set_gap(list, area);
    if (next != NULL)
        set_gap(list, next);
    if (area->child[AREA_HIGHER] != NULL) {
        settle(list, next);
        settle(list, area);
    } else {
        settle(list, area);
        settle(list, next);
    }
}

struct area *area_tree_last_below(const struct area_list *list, uint64_t address)
{
    struct area *last = NULL;

    for (struct area *area = list->root; area != NULL;) {
        if (area->start < address) {
            last = area;
            area = area->child[AREA_HIGHER];
        } else {
            area = area->child[AREA_LOWER];
        }
    }
    return last;
}

/* The last area with a gap of at least LENGTH in the subtree of AREA, which has such an area. */
static const struct area *last_wide(const struct area *area, uint64_t length)
{
    for (;;) {
        const struct area *higher = area->child[AREA_HIGHER];

        if (higher != NULL && higher->widest >= length)
            area = higher;
        else if (area->gap >= length)
            return area;
        else
            area = area->child[AREA_LOWER];
    }
}

const struct area *area_tree_gap_until(const struct area *area, uint64_t length)
{
    while (area != NULL) {
        const struct area *lower = area->child[AREA_LOWER];

        if (area->gap >= length)
            return area;
        if (lower != NULL && lower->widest >= length)
            return last_wide(lower, length);
        while (area->parent != NULL && area->parent->child[AREA_LOWER] == area)
            area = area->parent;
        area = area->parent; /* the nearest ancestor that lies before all of this subtree */
    }
    return NULL;
}
