/* The tree over an area list: an AVL tree in order of addresses, whose nodes know the greatest free range before any
 * area of their subtree. For mm/area/area.c, which alone changes areas; it calls these for the list and the tree at
 * once. They cost O(log n), and no stack that depends on n. */
#ifndef MM_AREA_TREE_H
#define MM_AREA_TREE_H

#include "mm/area/area.h"

/* Indices of struct area's child. */
enum { AREA_LOWER, AREA_HIGHER };

/* Puts AREA, with its start and end set, before NEXT, or behind all when that is NULL. */
void area_tree_insert(struct area_list *list, struct area *area, struct area *next);
/* Takes AREA out; it stays the caller's. */
void area_tree_remove(struct area_list *list, struct area *area);
/* The start or end of AREA was changed; its neighbours are the same. */
void area_tree_moved(struct area_list *list, struct area *area);

/* The last area that starts below ADDRESS, or NULL. */
struct area *area_tree_last_below(const struct area_list *list, uint64_t address);
/* Of AREA and those before it the last one with a gap of at least LENGTH bytes, or NULL. */
const struct area *area_tree_gap_until(const struct area *area, uint64_t length);

#endif
