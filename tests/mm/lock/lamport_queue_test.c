/* Queues of lock requests against a plain list of them.
 * sources: mm/lock/lamport_queue.c */
#include "mm/lock/lamport_queue.h"

#include "kernel/abi/limits.h"
#include "tests/test.h"

#define ENTRIES 40u
#define PAGES 40u /* more than there are lists */

static struct lamport_queues queues;
static struct lamport_entry entries[ENTRIES];
static bool there[ENTRIES];

static struct space_range pages(uint64_t first, uint64_t count)
{
    return (struct space_range){first * PAGE_SIZE, (first + count) * PAGE_SIZE};
}

static struct lamport_entry *make(uint32_t i, struct space_range range, uint64_t time, uint32_t kernel)
{
    entries[i] = (struct lamport_entry){.range = range, .time = time, .kernel = kernel};
    list_init(&entries[i].node);
    return &entries[i];
}

static struct lamport_entry *add(uint32_t i, struct space_range range, uint64_t time, uint32_t kernel)
{
    struct lamport_entry *entry = make(i, range, time, kernel);

    CHECK(lamport_add(&queues, entry));
    return entry;
}

TEST(page_order, "requests for one page are in order of time, and of kernels where times are equal")
{
    const struct lamport_entry *late, *early, *low, *high;

    lamport_init(&queues);
    late = add(0, pages(3, 1), 9, 0);
    high = add(1, pages(3, 1), 7, 2);
    low = add(2, pages(3, 1), 7, 1);
    early = add(3, pages(3, 1), 5, 3);
    CHECK(lamport_before(&queues, early) == NULL);
    CHECK(lamport_before(&queues, low) == early);
    lamport_remove(&entries[3]);
    CHECK(lamport_before(&queues, low) == NULL);
    CHECK(lamport_before(&queues, high) == low);
    CHECK(lamport_before(&queues, late) == low);
}

TEST(other_pages, "pages do not exclude each other, also those that share a list")
{
    lamport_init(&queues);
    add(0, pages(1, 1), 1, 0);
    add(1, pages(1 + LAMPORT_LISTS, 1), 2, 0);
    add(2, pages(2, 1), 3, 0);
    CHECK(lamport_before(&queues, &entries[1]) == NULL);
    CHECK(lamport_before(&queues, &entries[2]) == NULL);
}

TEST(heavy_in_page_queues, "a heavy request stands in the queues of its pages, those made later too, in order")
{
    lamport_init(&queues);
    add(0, pages(5, 1), 10, 0);
    add(1, pages(4, 3), 20, 0);
    add(2, pages(5, 1), 30, 0); /* its queue was there */
    add(3, pages(6, 1), 15, 1); /* these were not */
    add(4, pages(6, 1), 25, 1);
    add(5, pages(7, 1), 40, 1); /* outside */
    CHECK(lamport_before(&queues, &entries[1]) != NULL);
    CHECK(lamport_before(&queues, &entries[2]) != NULL);
    CHECK(lamport_before(&queues, &entries[3]) == NULL);
    CHECK(lamport_before(&queues, &entries[4]) != NULL);
    CHECK(lamport_before(&queues, &entries[5]) == NULL);
    lamport_remove(&entries[0]);
    CHECK(lamport_before(&queues, &entries[1]) == &entries[3]);
    lamport_remove(&entries[3]);
    CHECK(lamport_before(&queues, &entries[1]) == NULL);
    CHECK(lamport_before(&queues, &entries[2]) == &entries[1]);
    CHECK(lamport_before(&queues, &entries[4]) == &entries[1]);
}

TEST(whole_space, "the whole space excludes every page; separate ranges do not exclude each other")
{
    lamport_init(&queues);
    add(0, pages(1, 2), 1, 0);
    add(1, pages(3, 2), 2, 0);
    add(2, SPACE_HEAVY, 3, 0);
    CHECK(lamport_before(&queues, &entries[1]) == NULL);
    CHECK(lamport_before(&queues, &entries[2]) == &entries[0]);
    lamport_remove(&entries[0]);
    lamport_remove(&entries[1]);
    CHECK(lamport_before(&queues, &entries[2]) == NULL);
}

TEST(names, "time and kernel name a request: a second one of that name is refused, another name is not found")
{
    lamport_init(&queues);
    add(0, pages(1, 1), 5, 1);
    CHECK(!lamport_add(&queues, make(1, pages(1, 1), 5, 1)));
    add(2, pages(1, 1), 5, 2);
    CHECK(lamport_find(&queues, pages(1, 1), 5, 1) == &entries[0]);
    CHECK(lamport_find(&queues, pages(1, 1), 5, 2) == &entries[2]);
    CHECK(lamport_find(&queues, pages(1, 1), 6, 1) == NULL);
    CHECK(lamport_find(&queues, pages(2, 1), 5, 1) == NULL);
}

TEST(dropped, "a queue is gone with its last request")
{
    lamport_init(&queues);
    CHECK(lamport_any(&queues) == NULL);
    add(0, pages(1, 1), 1, 0);
    add(1, pages(1, 4), 2, 0);
    for (int left = 2; left > 0; left--) {
        CHECK(lamport_any(&queues) != NULL);
        lamport_remove(lamport_any(&queues));
    }
    CHECK(lamport_any(&queues) == NULL);
}

TEST(busy, "the lowest busy address is found, and requests for the whole space do not count")
{
    lamport_init(&queues);
    add(0, SPACE_HEAVY, 1, 0);
    CHECK_EQ(lamport_lowest(&queues, 0, 100 * PAGE_SIZE), 100 * PAGE_SIZE);
    add(1, pages(50, 1), 2, 0);
    add(2, pages(20, 10), 3, 0);
    CHECK_EQ(lamport_lowest(&queues, 0, 100 * PAGE_SIZE), 20 * PAGE_SIZE);
    CHECK_EQ(lamport_lowest(&queues, 25 * PAGE_SIZE, 100 * PAGE_SIZE), 20 * PAGE_SIZE);
    CHECK_EQ(lamport_lowest(&queues, 30 * PAGE_SIZE, 100 * PAGE_SIZE), 50 * PAGE_SIZE);
    CHECK_EQ(lamport_lowest(&queues, 51 * PAGE_SIZE, 100 * PAGE_SIZE), 100 * PAGE_SIZE);
    CHECK_EQ(lamport_lowest(&queues, 30 * PAGE_SIZE, 50 * PAGE_SIZE), 50 * PAGE_SIZE);
}

TEST(taken, "a page or a range is taken when any request has a part of it, be it one for the whole space")
{
    lamport_init(&queues);
    add(0, pages(50, 1), 2, 0);
    add(1, pages(20, 10), 3, 0);
    CHECK(lamport_taken(&queues, 50 * PAGE_SIZE, 51 * PAGE_SIZE));
    CHECK(!lamport_taken(&queues, (50 + LAMPORT_LISTS) * PAGE_SIZE, (51 + LAMPORT_LISTS) * PAGE_SIZE));
    CHECK(lamport_taken(&queues, 29 * PAGE_SIZE, 30 * PAGE_SIZE));
    CHECK(!lamport_taken(&queues, 30 * PAGE_SIZE, 50 * PAGE_SIZE));
    CHECK(lamport_taken(&queues, 40 * PAGE_SIZE, 60 * PAGE_SIZE));
    add(3, SPACE_HEAVY, 1, 0);
    CHECK(lamport_taken(&queues, 30 * PAGE_SIZE, 50 * PAGE_SIZE));
    CHECK(lamport_taken(&queues, 7 * PAGE_SIZE, 8 * PAGE_SIZE));
}

static void check_all(void)
{
    bool any = false;

    for (uint32_t i = 0; i < ENTRIES; i++) {
        bool first = true;

        if (!there[i])
            continue;
        any = true;
        CHECK(lamport_find(&queues, entries[i].range, entries[i].time, entries[i].kernel) == &entries[i]);
        for (uint32_t j = 0; j < ENTRIES; j++)
            first = first && !(there[j] && j != i && lamport_older(&entries[j], &entries[i]) &&
                               range_overlaps(entries[j].range, entries[i].range));
        CHECK_EQ(lamport_before(&queues, &entries[i]) == NULL, first);
    }
    CHECK_EQ(lamport_any(&queues) != NULL, any);
}

TEST(random_requests, "who is first agrees with a look at all requests, whatever comes and goes")
{
    uint64_t seed = 6;

    lamport_init(&queues);
    memset(there, 0, sizeof(there));
    for (uint32_t step = 0; step < 4000; step++) {
        uint32_t i = (uint32_t)test_below(&seed, ENTRIES);

        if (there[i]) {
            lamport_remove(&entries[i]);
            there[i] = false;
        } else {
            uint64_t count = test_below(&seed, 4) != 0 ? 1 : 1 + test_below(&seed, 8);
            struct space_range range = pages(test_below(&seed, PAGES), count);

            if (test_below(&seed, 20) == 0)
                range = SPACE_HEAVY;
            add(i, range, 1 + test_below(&seed, 30), i); /* kernels differ, times may be equal */
            there[i] = true;
        }
        check_all();
    }
}
