/* The tree over an area list: an AVL tree in order of addresses, whose nodes record the greatest free range before any
 * area of their subtree. Only mm/area/area.c changes areas, through these functions, which update the list and the tree
 * together. They take O(log n) time, and stack space that does not depend on n. */
#ifndef MM_AREA_TREE_H
#define MM_AREA_TREE_H

#include "mm/area/area.h"

/* Indices of struct area's child. */
enum { AREA_LOWER, AREA_HIGHER };

/* Inserts AREA, whose start and end are set, before NEXT, or after all areas if NEXT is NULL. */
void area_tree_insert(struct area_list *list, struct area *area, struct area *next);
/* Removes AREA; its memory then belongs to the caller. */
void area_tree_remove(struct area_list *list, struct area *area);
/* Updates the tree after the start or end of AREA has changed; its neighbours are the same. */
void area_tree_moved(struct area_list *list, struct area *area);

/* Counts AREA's bytes as those of LIST (COMES), or no longer. Insertion and removal do it by themselves; whoever
 * changes an area of the list does it before and afterwards. */
static inline void area_tally(struct area_list *list, const struct area *area, bool comes)
{
    uint64_t size = (area->prot & AREA_LOCKED) != 0 ? area->end - area->start : 0;

    list->locked += comes ? size : -size;
}

/* The last area that starts below ADDRESS, or NULL. */
struct area *area_tree_last_below(const struct area_list *list, uint64_t address);
/* Among AREA and the areas before it, the last one with a gap of at least LENGTH bytes, or NULL. */
const struct area *area_tree_gap_until(const struct area *area, uint64_t length);

#endif
