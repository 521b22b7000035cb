/* The map of leases against one with a word a page.
 * sources: mm/lease/map.c kernel/lib/ordered.c */
#include "mm/lease/map.h"

#include "kernel/abi/errno.h"
#include "kernel/abi/limits.h"
#include "tests/stand_in/heap.h"
#include "tests/test.h"

#define PAGES 64u
#define KERNELS 3u
#define NOBODY 0xff
#define EMPTY 0x10 /* beside the kernel: a lease of empty pages */

static struct lease_map map;
static uint8_t pages[PAGES]; /* the kernel of each, or NOBODY */

static uint64_t at(uint64_t page)
{
    return page * PAGE_SIZE;
}

static void begin(void)
{
    heap_left = -1;
    if (map.order.next != NULL)
        while (!lease_map_clear_some(&map, 3))
            continue;
    lease_map_init(&map);
    memset(pages, NOBODY, sizeof(pages));
    CHECK_EQ(heap_objects, 0);
}

static void fill(uint64_t start, uint64_t end, uint8_t kernel)
{
    for (uint64_t page = start; page < end; page++)
        pages[page] = kernel;
}

static uint64_t random_below(uint64_t *state, uint64_t below)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (*state >> 33) % below;
}

/* Each run of pages of one kernel and kind is one lease, in order. */
static void check_order(void)
{
    const struct lease *lease = lease_map_next(&map, 0), *before = NULL;
    uint32_t empties = 0;

    CHECK_EQ(lease_map_empty(&map), lease == NULL);
    for (uint64_t page = 0; page < PAGES;) {
        uint64_t end = page + 1;

        while (end < PAGES && pages[end] == pages[page])
            end++;
        if (pages[page] != NOBODY) {
            CHECK(lease != NULL && lease->start == at(page) && lease->end == at(end) &&
                  (lease->kernel | (lease->empty ? EMPTY : 0u)) == pages[page]);
            empties += (pages[page] & EMPTY) != 0 ? 1 : 0;
            CHECK(lease_map_before(&map, lease) == before);
            before = lease;
            lease = lease_map_after(&map, lease);
        }
        page = end;
    }
    CHECK(lease == NULL && lease_map_before(&map, NULL) == before);
    CHECK_EQ(map.empties, empties);
}

static void check_questions(uint64_t *state)
{
    uint64_t page = random_below(state, PAGES), address = at(page) + random_below(state, PAGE_SIZE), behind = page;
    const struct lease *found = lease_map_find(&map, address), *next = lease_map_next(&map, address);

    CHECK((found != NULL) == (pages[page] != NOBODY) && (found == NULL || found == next));
    CHECK(found == NULL || found->kernel == (pages[page] & ~EMPTY & 0xff));
    while (behind < PAGES && pages[behind] == NOBODY)
        behind++;
    CHECK((next != NULL) == (behind < PAGES) && (next == NULL || next->kernel == (pages[behind] & ~EMPTY & 0xff)));
    CHECK(next == NULL || (next->end > address && (next->start <= address || next->start == at(behind))));
    CHECK(found == NULL || !lease_map_gap(&map, address, address + 1));
    CHECK(found != NULL || lease_map_gap(&map, address, behind < PAGES ? at(behind) : at(PAGES)));
    CHECK(behind == PAGES || !lease_map_gap(&map, address, at(behind) + 1));
}

TEST(lease_map_random, "random changes agree with a map of pages, also when memory runs out, and so do all questions")
{
    uint64_t state = 7, failed[2] = {0};

    begin();
    for (int i = 0; i < 60000; i++) {
        uint64_t start = random_below(&state, PAGES), end = start + random_below(&state, PAGES - start + 1);
        uint8_t kernel = (uint8_t)random_below(&state, KERNELS + 2);
        bool set = kernel < KERNELS, empty = random_below(&state, 2) == 0;
        int error;

        if (i % 3 == 0) /* mostly small ones, so that there are many */
            end = end < start + 3 ? end : start + 3;
        heap_left = random_below(&state, 4) == 0 ? (int)random_below(&state, 2) : -1;
        if (set)
            error = (empty ? lease_map_set_empty : lease_map_set)(&map, at(start), at(end), kernel);
        else
            error = lease_map_remove(&map, at(start), at(end));
        CHECK(error == 0 || (error == -ENOMEM && heap_left == 0));
        heap_left = -1;
        failed[set] += error != 0;
        if (error == 0)
            fill(start, end, !set ? NOBODY : empty ? kernel | EMPTY : kernel);
        check_order();
        check_questions(&state);
    }
    CHECK(failed[0] > 0 && failed[1] > 0);
    begin();
}

TEST(lease_map_added, "a lease of what nobody has is added without memory, and becomes one with its neighbours")
{
    uint64_t state = 9;

    begin();
    for (int i = 0; i < 20000; i++) {
        uint64_t start = random_below(&state, PAGES), end = start;
        uint8_t kernel = (uint8_t)random_below(&state, KERNELS);
        struct lease *memory = heap_alloc_unset(sizeof(*memory));

        while (end < PAGES && end < start + 5 && pages[end] == NOBODY)
            end++;
        heap_left = 0;
        if (end > start) {
            lease_map_add_empty(&map, at(start), at(end), kernel, memory);
            fill(start, end, kernel | EMPTY);
        } else {
            heap_free(memory, sizeof(*memory));
        }
        heap_left = -1;
        if (i % 3 == 0 && lease_map_remove(&map, at(start / 2), at(start / 2 + 9)) == 0)
            fill(start / 2, start / 2 + 9 < PAGES ? start / 2 + 9 : PAGES, NOBODY);
        check_order();
        check_questions(&state);
    }
    begin();
}

TEST(lease_map_split, "a removal from the middle leaves both ends, which are one again when the middle is given back")
{
    begin();
    CHECK_EQ(lease_map_set(&map, at(4), at(20), 1), 0);
    CHECK_EQ(lease_map_remove(&map, at(8), at(12)), 0);
    fill(4, 8, 1);
    fill(12, 20, 1);
    check_order();
    CHECK_EQ(lease_map_set(&map, at(8), at(12), 1), 0);
    fill(8, 12, 1);
    check_order();
    begin();
}

TEST(lease_map_memory, "only a lease that becomes two needs memory to be removed")
{
    begin();
    CHECK_EQ(lease_map_set(&map, at(4), at(20), 2), 0);
    heap_left = 0;
    CHECK_EQ(lease_map_remove(&map, at(8), at(12)), -ENOMEM);
    fill(4, 20, 2);
    check_order();
    CHECK_EQ(lease_map_remove(&map, at(0), at(8)), 0);
    CHECK_EQ(lease_map_remove(&map, at(16), at(30)), 0);
    fill(4, 8, NOBODY);
    fill(16, 20, NOBODY);
    check_order();
    CHECK_EQ(lease_map_remove(&map, at(8), at(16)), 0);
    CHECK(lease_map_empty(&map));
    begin();
}

TEST(lease_map_last, "what was found last is not found any more when it is gone")
{
    begin();
    CHECK_EQ(lease_map_set(&map, at(4), at(8), 1), 0);
    CHECK(lease_map_find(&map, at(5)) != NULL);
    CHECK_EQ(lease_map_remove(&map, at(4), at(8)), 0);
    CHECK(lease_map_find(&map, at(5)) == NULL);
    begin();
}

TEST(lease_map_none, "where there was no lease, one is found after it has been made")
{
    begin();
    CHECK_EQ(lease_map_set(&map, at(4), at(8), 1), 0);
    CHECK(lease_map_find(&map, at(2)) == NULL && lease_map_find(&map, at(9)) == NULL);
    CHECK(lease_map_gap(&map, at(8), at(100)) && !lease_map_gap(&map, at(7), at(9)));
    CHECK_EQ(lease_map_set(&map, at(8), at(12), 1), 0); /* becomes one with the other */
    CHECK(lease_map_find(&map, at(9)) != NULL && !lease_map_gap(&map, at(8), at(9)));
    begin();
}
