/* The list of areas against a map with one byte a page.
 * sources: mm/area.c */
#include "mm/area.h"

#include <stdlib.h>

#include "kernel/abi/errno.h"
#include "kernel/abi/limits.h"
#include "mm/heap.h"
#include "tests/test.h"

#define PAGES 48u
#define NONE 0xff /* in no area */

static struct area_list list;
static uint8_t map[PAGES]; /* protection of each page, or NONE */
static int heap_left = -1; /* allocations until there is no memory; -1: plenty */
static long heap_objects;

void *heap_alloc(size_t size)
{
    if (heap_left == 0)
        return NULL;
    if (heap_left > 0)
        heap_left--;
    heap_objects++;
    return calloc(1, size);
}

void heap_free(void *object, size_t size)
{
    (void)size;
    if (object != NULL)
        heap_objects--;
    free(object);
}

static uint64_t at(uint64_t page)
{
    return page * PAGE_SIZE;
}

static void begin(void)
{
    heap_left = -1;
    if (list.head.next != NULL)
        area_list_clear(&list);
    area_list_init(&list);
    memset(map, NONE, sizeof(map));
    CHECK_EQ(heap_objects, 0);
}

/* The list says what the map says, and keeps its own rules. */
static void check_list(void)
{
    const struct area *before = NULL;
    uint8_t seen[PAGES];
    uint32_t count = 0;

    memset(seen, NONE, sizeof(seen));
    list_for_each(node, &list.head) {
        const struct area *area = container_of(node, const struct area, node);

        CHECK(node->next->previous == node);
        CHECK(area->start < area->end && (area->start | area->end) % PAGE_SIZE == 0 && area->end <= at(PAGES));
        CHECK(before == NULL || before->end <= area->start);
        CHECK(before == NULL || before->end < area->start || before->prot != area->prot);
        for (uint64_t page = area->start / PAGE_SIZE; page < area->end / PAGE_SIZE; page++)
            seen[page] = (uint8_t)area->prot;
        before = area;
        count++;
    }
    CHECK_EQ(list.count, count);
    CHECK_EQ(heap_objects, count);
    CHECK(memcmp(seen, map, sizeof(map)) == 0);
}

static void check_queries(uint64_t *state)
{
    uint64_t start = test_below(state, PAGES), end = start + 1 + test_below(state, PAGES - start);
    uint64_t low = test_below(state, PAGES), high = low + test_below(state, PAGES - low + 1);
    uint64_t length = 1 + test_below(state, 6);
    uint64_t gap = 0;
    bool overlaps = false;

    for (uint64_t page = start; page < end; page++)
        overlaps = overlaps || map[page] != NONE;
    CHECK_EQ(area_overlaps(&list, at(start), at(end)), overlaps);
    for (uint64_t page = 0; page < PAGES; page++) {
        const struct area *area = area_find(&list, at(page) + test_below(state, PAGE_SIZE));

        CHECK_EQ(area == NULL ? NONE : area->prot, map[page]);
        CHECK(area == NULL || (area->start <= at(page) && area->end >= at(page + 1)));
    }
    for (uint64_t page = low; page + length <= high; page++) {
        uint64_t free = 0;

        while (free < length && map[page + free] == NONE)
            free++;
        if (free == length)
            gap = page;
    }
    /* page 0 is no answer: 0 means that there is none */
    CHECK_EQ(area_find_gap(&list, at(length), at(low), at(high)), at(gap));
}

static void fill(uint64_t start, uint64_t end, uint8_t prot)
{
    for (uint64_t page = start; page < end; page++) {
        map[page] = prot;
    }
}

/* A change of protection: what is shared stays so. */
static void change(uint64_t start, uint64_t end, uint8_t prot)
{
    for (uint64_t page = start; page < end; page++) {
        if (map[page] != NONE)
            map[page] = (uint8_t)((map[page] & AREA_SHARED) | prot);
    }
}

static uint8_t random_shared(uint64_t *state)
{
    return test_below(state, 3) == 0 ? AREA_SHARED : 0;
}

TEST(area_random, "random sets, removals and changes of protection agree with the map, and so do all questions")
{
    uint64_t state = 1;

    begin();
    for (int step = 0; step < 60000; step++) {
        uint64_t start = test_below(&state, PAGES);
        uint64_t end = start + 1 +
                       test_below(&state, test_below(&state, 4) == 0 ? PAGES - start : 1 + (PAGES - start) / 4);
        uint8_t prot = (uint8_t)test_below(&state, 4);
        bool whole = true;

        if (end > PAGES)
            end = PAGES;
        switch (test_below(&state, 5)) {
        case 0:
            prot |= random_shared(&state);
            CHECK_EQ(area_set(&list, at(start), at(end), prot), 0);
            fill(start, end, prot);
            break;
        case 1:
            CHECK_EQ(area_remove(&list, at(start), at(end)), 0);
            fill(start, end, NONE);
            break;
        case 2:
            for (uint64_t page = start; page < end; page++)
                whole = whole && map[page] != NONE;
            CHECK_EQ(area_protect(&list, at(start), at(end), prot), whole ? 0 : -ENOMEM);
            CHECK_EQ(area_covers(&list, at(start), at(end)), whole);
            if (whole)
                change(start, end, prot);
            break;
        case 3:
            CHECK_EQ(area_protect_known(&list, at(start), at(end), prot), 0);
            change(start, end, prot);
            break;
        default:
            check_queries(&state);
            break;
        }
        check_list();
    }
    begin();
}

TEST(area_split, "a removal from the middle leaves both ends, and a set of the middle alike joins all three")
{
    begin();
    CHECK_EQ(area_set(&list, at(2), at(20), AREA_READ), 0);
    CHECK_EQ(area_remove(&list, at(8), at(12)), 0);
    fill(2, 8, AREA_READ);
    fill(12, 20, AREA_READ);
    check_list();
    CHECK_EQ(list.count, 2);
    CHECK_EQ(area_set(&list, at(8), at(12), AREA_READ), 0);
    fill(8, 12, AREA_READ);
    check_list();
    CHECK_EQ(list.count, 1);
    begin();
}

TEST(area_no_memory, "a set, removal or change of protection that gets no memory changes nothing and loses nothing")
{
    uint64_t state = 2;

    begin();
    for (int step = 0; step < 20000; step++) {
        uint64_t start = test_below(&state, PAGES), end = start + 1 + test_below(&state, PAGES - start);
        uint8_t prot = (uint8_t)test_below(&state, 4);
        uint64_t kind = test_below(&state, 3);
        bool whole = true;
        int error;

        for (uint64_t page = start; page < end; page++)
            whole = whole && map[page] != NONE;
        if (kind == 0)
            prot |= random_shared(&state);
        heap_left = (int)test_below(&state, 3);
        error = kind == 0   ? area_set(&list, at(start), at(end), prot)
                : kind == 1 ? area_remove(&list, at(start), at(end))
                            : area_protect(&list, at(start), at(end), prot);
        CHECK(error == 0 || error == -ENOMEM);
        CHECK(kind != 2 || whole || error == -ENOMEM);
        heap_left = -1;
        if (error == 0 && kind == 2)
            change(start, end, prot);
        else if (error == 0)
            fill(start, end, kind == 1 ? NONE : prot);
        check_list();
    }
    begin();
}

TEST(area_shared_apart, "a shared area joins no private one, and a change of protection keeps it shared")
{
    begin();
    CHECK_EQ(area_append(&list, at(2), at(6), AREA_READ), 0);
    CHECK_EQ(area_append(&list, at(6), at(9), AREA_READ | AREA_SHARED), 0);
    CHECK_EQ(list.count, 2);
    CHECK_EQ(area_protect(&list, at(4), at(8), AREA_READ | AREA_WRITE), 0);
    fill(2, 4, AREA_READ);
    fill(4, 6, AREA_READ | AREA_WRITE);
    fill(6, 8, AREA_READ | AREA_WRITE | AREA_SHARED);
    fill(8, 9, AREA_READ | AREA_SHARED);
    check_list();
    CHECK_EQ(list.count, 4);
    CHECK_EQ(area_protect(&list, at(2), at(9), AREA_READ), 0);
    CHECK_EQ(list.count, 2);
    begin();
}

TEST(area_clear, "clearing the list gives every object back")
{
    begin();
    for (uint64_t page = 0; page < PAGES; page += 2)
        CHECK_EQ(area_set(&list, at(page), at(page + 1), AREA_READ), 0);
    CHECK_EQ(list.count, PAGES / 2);
    area_list_clear(&list);
    CHECK_EQ(list.count, 0);
    CHECK_EQ(heap_objects, 0);
    CHECK(area_find(&list, 0) == NULL);
}

TEST(area_gap_edges, "a gap is found in an empty list, exactly as long as asked, and not where the range is too short")
{
    begin();
    CHECK_EQ(area_find_gap(&list, at(4), at(1), at(5)), at(1));
    CHECK_EQ(area_find_gap(&list, at(5), at(1), at(5)), 0);
    CHECK_EQ(area_set(&list, at(10), at(20), AREA_READ), 0);
    CHECK_EQ(area_find_gap(&list, at(2), at(8), at(20)), at(8));
    CHECK_EQ(area_find_gap(&list, at(3), at(8), at(20)), 0);
    CHECK_EQ(area_find_gap(&list, at(1), at(10), at(20)), 0);
    CHECK_EQ(area_find_gap(&list, at(1), at(10), at(15)), 0);
    CHECK_EQ(area_find_gap(&list, at(1), at(10), at(21)), at(20));
    begin();
}
