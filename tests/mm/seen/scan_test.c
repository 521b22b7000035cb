/* Looks at a kernel's tables: each leaf table that areas have is looked at, and no look holds the lock for long.
 * sources: mm/seen/scan.c mm/area/area.c mm/area/tree.c */
#include "tests/mm/seen/space.h"

#include "mm/seen/hint.h"

#define AREAS 3000u
#define HELD_MOST 64u /* searches for a table in one hold of the lock */
#define FAR (1ull << 40)

static uint32_t searches;

const struct seen_policy *seen_policy_locked(const struct space *of)
{
    (void)of;
    return NULL;
}

uint32_t seen_way_locked(const struct space *of)
{
    (void)of;
    return SEEN_BY_BITS;
}

void hint_hide_locked(struct space *of, uint64_t va)
{
    (void)of, (void)va;
}

bool trace_is_on(void)
{
    return false;
}

void tlb_flush(uint64_t root, uint64_t start, uint64_t end)
{
    (void)root, (void)start, (void)end;
}

/* The tables are those with a page. */
const uint64_t *paging_next_leaf_look(const struct page_tables *tables, uint64_t *va, uint64_t end)
{
    (void)tables;
    searches++;
    for (uint64_t table = 0; table < TABLES; table++) {
        uint64_t first = START + table * LEAF_SIZE;

        if (first + LEAF_SIZE <= *va || first >= end || paging_next_used(pages[table], 0, LEAF_ENTRIES) == LEAF_ENTRIES)
            continue;
        *va = first > *va ? first : *va;
        return pages[table];
    }
    return NULL;
}

uint64_t *paging_entry(const struct page_tables *tables, uint64_t va, bool create)
{
    (void)tables, (void)create;
    return &pages[(va - START) / LEAF_SIZE][va % LEAF_SIZE / PAGE_SIZE];
}

uint64_t paging_large(const struct page_tables *tables, uint64_t va)
{
    (void)tables, (void)va;
    return 0;
}

bool paging_large_take_accessed(const struct page_tables *tables, uint64_t va)
{
    (void)tables, (void)va;
    return false;
}

bool paging_large_take_dirty(const struct page_tables *tables, uint64_t va)
{
    (void)tables, (void)va;
    return false;
}

/* Looks at all of the space. Returns the pages that were found, and *MOST: the searches with the lock held once. */
static uint32_t look_at_all(uint32_t *most)
{
    struct msg_space_seen seen;
    uint32_t found = 0;
    bool some, more = true;

    *most = 0;
    for (uint64_t at = 0; more;) {
        searches = 0;
        more = seen_look(&space, &at, &some, &seen);
        *most = searches > *most ? searches : *most;
        for (uint32_t i = 0; some && i < LEAF_ENTRIES / 64; i++)
            found += (uint32_t)__builtin_popcountll(seen.accessed[i]);
    }
    return found;
}

TEST(scan_areas, "a look goes through many areas without a table in parts, and finds what is between and behind them")
{
    uint32_t most;

    begin();
    for (uint32_t i = 0; i < AREAS; i++) /* untouched ones, before and behind the tables */
        CHECK_EQ(area_set(&space.areas, (i % 2 != 0 ? FAR : PAGE_SIZE) + 2ull * i * PAGE_SIZE,
                          (i % 2 != 0 ? FAR : PAGE_SIZE) + (2ull * i + 1) * PAGE_SIZE, AREA_READ),
                 0);
    CHECK_EQ(area_set(&space.areas, START + 5 * PAGE_SIZE, START + LEAF_SIZE + 9 * PAGE_SIZE, AREA_READ), 0);
    CHECK_EQ(area_set(&space.areas, START + LEAF_SIZE + 11 * PAGE_SIZE, START + LEAF_SIZE + 12 * PAGE_SIZE, AREA_READ),
             0);
    put_page(START + 5 * PAGE_SIZE, 1, PAGING_ACCESSED);
    put_page(START + LEAF_SIZE, 0, PAGING_ACCESSED);
    put_page(START + LEAF_SIZE + 11 * PAGE_SIZE, 1, PAGING_ACCESSED);
    CHECK_EQ(look_at_all(&most), 3);
    CHECK(most <= HELD_MOST);
    CHECK_EQ(space.stats.seen_looks, 1);
    CHECK_EQ(space.stats.seen_local, 1);
    CHECK_EQ(space.stats.seen_remote, 2);
    CHECK_EQ(look_at_all(&most), 0); /* the bits have been taken */
    CHECK_EQ(space.stats.seen_looks, 2);
    begin();
}

TEST(scan_empty, "a look at a space without areas, or without tables, ends")
{
    uint32_t most;

    begin();
    CHECK_EQ(look_at_all(&most), 0);
    CHECK_EQ(area_set(&space.areas, START, START + PAGE_SIZE, AREA_READ), 0);
    CHECK_EQ(look_at_all(&most), 0);
    CHECK_EQ(space.stats.seen_looks, 2);
    begin();
}
