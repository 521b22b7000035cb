/* Blocks that adapt: they split where pages have different users, join where all have one, and are the usual ones where
 * pages have several, or nobody has been seen for long enough.
 * sources: mm/seen/region.c */
#include "mm/seen/region.h"

#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

static struct seen_region *new_region(void)
{
    struct seen_region *region = calloc(1, sizeof(*region));

    seen_region_begin(region);
    return region;
}

/* NODE has used each STEP-th page of [FIRST, END) in LOOKS looks of the period AGE. */
static void use(struct seen_region *region, uint32_t node, uint32_t first, uint32_t end, uint32_t step, uint32_t looks,
                uint32_t age)
{
    struct msg_space_seen seen = {.node = (uint16_t)node};

    for (uint32_t page = first; page < end; page += step)
        seen_add(&seen, page);
    for (uint32_t i = 0; i < looks; i++)
        seen_region_see(region, &seen, age);
}

/* The blocks of [FIRST, END), of which each is a power of two of pages that divides its first one. */
static uint32_t blocks(const struct seen_region *region, uint32_t first, uint32_t end)
{
    uint32_t found = 0, count;

    for (uint32_t page = first; page < end; page += count, found++) {
        CHECK_EQ(seen_region_block(region->starts, page, &count), page);
        CHECK((count & (count - 1)) == 0 && page % count == 0 && page + count <= REGION_PAGES);
    }
    return found;
}

static uint32_t size_at(const struct seen_region *region, uint32_t page)
{
    uint32_t count;

    seen_region_block(region->starts, page, &count);
    return count;
}

TEST(region_usual, "blocks are of 64 KiB while nobody is known, and few looks change nothing")
{
    struct seen_region *region = new_region();

    CHECK_EQ(blocks(region, 0, REGION_PAGES), REGION_PAGES / REGION_USUAL);
    CHECK(!seen_region_divide(region, 1));
    use(region, 1, 0, 256, 1, REGION_SURE - 1, 1);
    use(region, 2, 256, 512, 1, REGION_SURE - 1, 1);
    CHECK(!seen_region_divide(region, 1));
    CHECK_EQ(seen_region_users(region, 0, 256, 1), 1u << 1);
    CHECK_EQ(seen_region_users(region, 0, 512, 1), 1u << 1 | 1u << 2);
    free(region);
}

TEST(region_joins, "memory of one user becomes one block, as far as it goes")
{
    struct seen_region *region = new_region();

    use(region, 3, 0, REGION_PAGES, 1, REGION_SURE, 9);
    CHECK(seen_region_divide(region, 9));
    CHECK_EQ(blocks(region, 0, REGION_PAGES), 1);
    CHECK(!seen_region_divide(region, 9));
    use(region, 5, 256, REGION_PAGES, 1, 1, 9); /* another one: no one is its sole user */
    CHECK(seen_region_divide(region, 9));
    CHECK_EQ(size_at(region, 0), 256);
    CHECK_EQ(blocks(region, 256, REGION_PAGES), 256 / REGION_USUAL);
    use(region, 5, 256, REGION_PAGES, 1, REGION_SURE, 9);
    CHECK(seen_region_divide(region, 9));
    CHECK_EQ(blocks(region, 0, REGION_PAGES), 2);
    free(region);
}

TEST(region_part, "what nobody uses does not join, nor do neighbours of different users, or of unequal size")
{
    struct seen_region *region = new_region();

    use(region, 1, 0, 48, 1, REGION_SURE, 2); /* three usual blocks */
    use(region, 2, 48, 64, 1, REGION_SURE, 2);
    seen_region_divide(region, 2);
    CHECK_EQ(size_at(region, 0), 32);
    CHECK_EQ(size_at(region, 32), 16);
    CHECK_EQ(size_at(region, 48), 16);
    CHECK_EQ(size_at(region, 64), REGION_USUAL);
    free(region);
}

TEST(region_splits, "a block splits down to its pages where these have different users, and joins again when they have "
                    "one")
{
    struct seen_region *region = new_region();

    use(region, 1, 0, 16, 2, REGION_SURE, 4); /* every second page */
    use(region, 2, 1, 16, 2, REGION_SURE, 4);
    use(region, 1, 16, 24, 1, REGION_SURE, 4);
    use(region, 2, 24, 32, 1, REGION_SURE, 4);
    CHECK(seen_region_divide(region, 4));
    CHECK_EQ(blocks(region, 0, 16), 16);
    CHECK_EQ(blocks(region, 16, 32), 2);
    CHECK_EQ(blocks(region, 32, REGION_PAGES), (REGION_PAGES - 32) / REGION_USUAL);
    use(region, 1, 0, 32, 1, REGION_SURE, 5);
    CHECK(seen_region_divide(region, 5));
    CHECK_EQ(size_at(region, 0), 32);
    free(region);
}

TEST(region_shared, "pages that several nodes use keep their usual block, in whichever order they are seen")
{
    struct seen_region *region = new_region();
    uint32_t random = 1, divided = 0;

    for (uint32_t look = 0; look < 1000; look++) { /* each node sees a part of the pages */
        struct msg_space_seen seen = {.node = look % 2};

        for (uint32_t page = 0; page < REGION_PAGES; page++) {
            random = random * 1664525 + 1013904223;
            if (random >> 30 == 0)
                seen_add(&seen, page);
        }
        seen_region_see(region, &seen, look / 10);
        seen_region_divide(region, look / 10);
        divided += blocks(region, 0, REGION_PAGES) > REGION_PAGES / REGION_USUAL;
    }
    CHECK_EQ(divided, 0);
    CHECK_EQ(blocks(region, 0, REGION_PAGES), REGION_PAGES / REGION_USUAL);
    free(region);
}

TEST(region_idle, "who has not been seen for some periods uses a page no more, however many have passed")
{
    struct seen_region *region = new_region();

    use(region, 1, 0, REGION_PAGES, 1, REGION_SURE, 10);
    seen_region_divide(region, 10);
    CHECK_EQ(blocks(region, 0, REGION_PAGES), 1);
    CHECK_EQ(seen_region_users(region, 0, REGION_PAGES, 10 + REGION_IDLE - 1), 1u << 1);
    CHECK_EQ(seen_region_users(region, 0, REGION_PAGES, 10 + REGION_IDLE), 0);
    use(region, 1, 0, 1, 1, 1, 10 + 128); /* as many periods as a page's word can tell apart */
    CHECK_EQ(seen_region_users(region, 1, REGION_PAGES - 1, 10 + 128), 0);
    seen_region_divide(region, 10 + 128);
    CHECK_EQ(blocks(region, 0, REGION_PAGES), REGION_PAGES / REGION_USUAL);
    use(region, 2, 0, REGION_PAGES, 1, REGION_SURE, 3); /* the periods have become longer */
    seen_region_divide(region, 3);
    CHECK_EQ(blocks(region, 0, REGION_PAGES), 1);
    free(region);
}
