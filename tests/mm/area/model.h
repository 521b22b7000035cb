/* For the tests of mm/area/area.c: a list of areas, a map that says the same with one word a page, and a heap that can
 * run out. Included once, after PAGES is defined: the pages of the map. */
#ifndef TESTS_MM_AREA_MODEL_H
#define TESTS_MM_AREA_MODEL_H

#include "kernel/abi/limits.h"
#include "mm/area/area.h"
#include "mm/area/tree.h"
#include "tests/stand_in/heap.h"
#include "tests/test.h"

#define NONE 0xffff /* in no area */

static struct area_list list;
static uint16_t map[PAGES]; /* AREA_* of each page, or NONE */

static inline uint64_t at(uint64_t page)
{
    return page * PAGE_SIZE;
}

static inline void begin(void)
{
    heap_left = -1;
    if (list.head.next != NULL)
        area_list_clear(&list);
    area_list_init(&list);
    memset(map, 0xff, sizeof(map));
    CHECK_EQ(heap_objects, 0);
}

/* --- the list's own rules --- */

/* Walks a subtree in order; *EXPECTED is the list's next node, of which each area must be the next. */
static inline void check_subtree(const struct area *area, const struct area *parent, const struct list **expected)
{
    const struct area *lower = area->child[AREA_LOWER], *higher = area->child[AREA_HIGHER];
    const struct area *before = area_before(&list, area);
    uint32_t low_height = lower != NULL ? lower->height : 0, high_height = higher != NULL ? higher->height : 0;
    uint64_t widest = area->gap;

    CHECK(area->parent == parent);
    CHECK(low_height <= high_height + 1 && high_height <= low_height + 1);
    CHECK_EQ(area->height, 1 + (low_height > high_height ? low_height : high_height));
    if (lower != NULL) {
        check_subtree(lower, area, expected);
        widest = lower->widest > widest ? lower->widest : widest;
    }
    CHECK(*expected == &area->node);
    *expected = area->node.next;
    CHECK_EQ(area->gap, area->start - (before != NULL ? before->end : 0));
    if (higher != NULL) {
        check_subtree(higher, area, expected);
        widest = higher->widest > widest ? higher->widest : widest;
    }
    CHECK_EQ(area->widest, widest);
}

/* The tree has the areas of the list, in order, balanced, and each node tells the truth of its subtree. */
static inline void check_tree(void)
{
    const struct list *expected = list.head.next;

    if (list.root != NULL)
        check_subtree(list.root, NULL, &expected);
    CHECK(expected == &list.head);
}

static inline void check_order(void)
{
    const struct area *before = NULL;
    uint64_t locked = 0;
    uint32_t count = 0;

    list_for_each(node, &list.head) {
        const struct area *area = container_of(node, const struct area, node);

        CHECK(node->next->previous == node);
        CHECK(area->start < area->end && (area->start | area->end) % PAGE_SIZE == 0);
        CHECK(before == NULL || before->end <= area->start);
        CHECK(before == NULL || before->end < area->start || before->prot != area->prot);
        CHECK(area_before(&list, area) == before && (before == NULL || area_after(&list, before) == area));
        locked += (area->prot & AREA_LOCKED) != 0 ? area->end - area->start : 0;
        before = area;
        count++;
    }
    CHECK(before == NULL || area_after(&list, before) == NULL);
    CHECK_EQ(list.count, count);
    CHECK_EQ(list.locked, locked);
    CHECK_EQ(heap_objects, count);
}

/* --- the list against the map --- */

static inline void check_list(void)
{
    uint16_t seen[PAGES];

    check_order();
    check_tree();
    memset(seen, 0xff, sizeof(seen));
    list_for_each(node, &list.head) {
        const struct area *area = container_of(node, const struct area, node);

        CHECK(area->end <= at(PAGES));
        for (uint64_t page = area->start / PAGE_SIZE; page < area->end / PAGE_SIZE; page++)
            seen[page] = (uint16_t)area->prot;
    }
    CHECK(memcmp(seen, map, sizeof(map)) == 0);
}

static inline void fill(uint64_t start, uint64_t end, uint32_t prot)
{
    for (uint64_t page = start; page < end; page++)
        map[page] = (uint16_t)prot;
}

/* Takes the bits CLEAR away and adds the bits SET, where there is an area. */
static inline void change_bits(uint64_t start, uint64_t end, uint32_t set, uint32_t clear)
{
    for (uint64_t page = start; page < end; page++) {
        if (map[page] != NONE)
            map[page] = (uint16_t)((map[page] & ~clear) | set);
    }
}

static inline bool all_in_areas(uint64_t start, uint64_t end)
{
    for (uint64_t page = start; page < end; page++) {
        if (map[page] == NONE)
            return false;
    }
    return true;
}

static inline bool none_in_areas(uint64_t start, uint64_t end)
{
    for (uint64_t page = start; page < end; page++) {
        if (map[page] != NONE)
            return false;
    }
    return true;
}

/* Every question, about random places. */
static inline void check_queries(uint64_t *state)
{
    uint64_t start = test_below(state, PAGES), end = start + 1 + test_below(state, PAGES - start);
    uint64_t low = test_below(state, PAGES), high = low + test_below(state, PAGES - low + 1);
    uint64_t length = 1 + test_below(state, test_below(state, 8) == 0 ? 40 : 6);
    uint64_t gap = 0;
    const struct area *next = NULL;

    CHECK_EQ(area_overlaps(&list, at(start), at(end)), !none_in_areas(start, end));
    CHECK_EQ(area_covers(&list, at(start), at(end)), all_in_areas(start, end));
    CHECK(area_find(&list, at(PAGES)) == NULL && area_next(&list, at(PAGES)) == NULL);
    for (uint64_t page = PAGES; page-- > 0;) {
        uint64_t address = at(page) + test_below(state, PAGE_SIZE);
        const struct area *area = area_find(&list, address);

        CHECK_EQ(area == NULL ? NONE : area->prot, map[page]);
        CHECK(area == NULL || (area->start <= at(page) && area->end >= at(page + 1)));
        next = area != NULL ? area : next;
        CHECK(area_next(&list, address) == next);
    }
    for (uint64_t page = low; page + length <= high; page++) {
        if (none_in_areas(page, page + length))
            gap = page;
    }
    /* page 0 is no answer: 0 means that there is none */
    CHECK_EQ(area_find_gap(&list, at(length), at(low), at(high)), at(gap));
}

/* --- random changes --- */

enum kind { KIND_SET, KIND_REMOVE, KIND_PROTECT, KIND_PROTECT_KNOWN, KIND_FLAG, KINDS };

struct step {
    enum kind kind;
    uint64_t start, end; /* pages */
    uint32_t prot;       /* of KIND_FLAG: the bits to set */
    uint32_t clear;      /* KIND_FLAG */
};

/* A random change that makes sense; mostly of a few pages. */
static inline struct step random_step(uint64_t *state)
{
    uint32_t kept[] = {0,          0, AREA_SHARED, AREA_GROWS, AREA_HUGE, AREA_LOCKED | AREA_DONTFORK, AREA_WIPEONFORK,
                       AREA_LOCKED};
    uint64_t start = test_below(state, PAGES), room = PAGES - start;
    struct step step = {.kind = (enum kind)test_below(state, KINDS), .start = start};

    step.end = start + 1 + test_below(state, test_below(state, 16) == 0 ? room : room < 8 ? room : 8);
    step.prot = (uint32_t)test_below(state, 4);
    if (step.kind == KIND_SET)
        step.prot |= kept[test_below(state, sizeof(kept) / sizeof(kept[0]))];
    if (step.kind == KIND_FLAG) {
        step.prot = kept[test_below(state, sizeof(kept) / sizeof(kept[0]))];
        step.clear = kept[test_below(state, sizeof(kept) / sizeof(kept[0]))];
    }
    return step;
}

/* Makes the change in the list. */
static inline int step_list(const struct step *step)
{
    uint64_t start = at(step->start), end = at(step->end);

    switch (step->kind) {
    case KIND_SET:
        return area_set(&list, start, end, step->prot);
    case KIND_REMOVE:
        return area_remove(&list, start, end);
    case KIND_PROTECT:
        return area_protect(&list, start, end, step->prot);
    case KIND_PROTECT_KNOWN:
        return area_protect_known(&list, start, end, step->prot);
    default:
        return area_flag(&list, start, end, step->prot, step->clear);
    }
}

/* Makes it in the map. */
static inline void step_map(const struct step *step)
{
    if (step->kind == KIND_SET)
        fill(step->start, step->end, step->prot);
    else if (step->kind == KIND_REMOVE)
        fill(step->start, step->end, NONE);
    else
        change_bits(step->start, step->end, step->prot, step->kind == KIND_FLAG ? step->clear : AREA_PROT);
}

/* Whether the list is to refuse it, memory or not. */
static inline bool step_refused(const struct step *step)
{
    return step->kind == KIND_PROTECT && !all_in_areas(step->start, step->end);
}

#endif
