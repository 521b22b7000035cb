/* Blocks that adapt to their users. See the header and adaptive.md. */
#include "mm/seen/region.h"

#define NODE_BITS 6u
#define RUN_BITS 3u
#define RUN_MOST ((1u << RUN_BITS) - 1)
#define AGE_SHIFT (NODE_BITS + RUN_BITS)
#define AGE_MASK ((1u << (16 - AGE_SHIFT)) - 1) /* periods are counted modulo 128 */
#define NOBODY NODES_MAX
#define OUTLIERS                                                                                                       \
    16u /* part of the pages that were seen which may have no sole user, or another one, where blocks join */

_Static_assert(NODES_MAX == 1u << NODE_BITS && REGION_SURE <= RUN_MOST, "a page's word");

/* A page's word: the node that used it last, in how many looks in a row, and the period. 0 looks: nobody. */
static uint16_t word_of(uint32_t node, uint32_t run, uint32_t age)
{
    return (uint16_t)(node | run << NODE_BITS | (age & AGE_MASK) << AGE_SHIFT);
}

static uint32_t node_of(uint16_t word)
{
    return word & (NODES_MAX - 1);
}

static uint32_t run_of(uint16_t word)
{
    return word >> NODE_BITS & RUN_MOST;
}

static bool is_used(uint16_t word, uint32_t age)
{
    return run_of(word) != 0 && ((age - (word >> AGE_SHIFT)) & AGE_MASK) < REGION_IDLE;
}

void seen_region_begin(struct seen_region *region)
{
    for (uint32_t page = 0; page < REGION_PAGES; page += REGION_USUAL)
        region->starts[page / 64] |= 1ull << page % 64;
}

/* What nobody uses any more is forgotten before its period's number comes again. */
static void grow_old(struct seen_region *region, uint32_t age)
{
    bool all = age < region->age || age - region->age > REGION_IDLE;

    for (uint32_t page = 0; age != region->age && page < REGION_PAGES; page++) {
        if (all || !is_used(region->pages[page], age))
            region->pages[page] = 0;
    }
    region->age = age;
}

void seen_region_see(struct seen_region *region, const struct msg_space_seen *seen, uint32_t age)
{
    grow_old(region, age);
    for (uint32_t i = 0; i < REGION_PAGES / 64; i++) {
        for (uint64_t left = seen->accessed[i]; left != 0; left &= left - 1) {
            uint16_t *word = &region->pages[64 * i + (uint32_t)__builtin_ctzll(left)];
            uint32_t run = is_used(*word, age) && node_of(*word) == seen->node ? run_of(*word) : 0;

            *word = word_of(seen->node, run < RUN_MOST ? run + 1 : run, age);
        }
    }
}

/* Pages of a part: how many were used, and how many of these have a sole user; the first of these users, how many pages
 * it has, and whether there is another one. */
struct use {
    uint32_t used, sole, first, of_first;
};

static struct use use_of(const struct seen_region *region, uint32_t start, uint32_t count, uint32_t age)
{
    struct use use = {.first = NOBODY};

    for (uint32_t page = start; page < start + count; page++) {
        uint16_t word = region->pages[page];

        if (!is_used(word, age))
            continue;
        use.used++;
        if (run_of(word) < REGION_SURE)
            continue;
        use.sole++;
        if (use.first == NOBODY)
            use.first = node_of(word);
        use.of_first += node_of(word) == use.first;
    }
    return use;
}

static void begin_block(uint64_t *starts, uint32_t page)
{
    starts[page / 64] |= 1ull << page % 64;
}

/* Divides a usual block, or a part of it: in halves, while most of its used pages have sole users, and different ones.
 * Pages that several nodes use are seen from now one and now another of them, and seldom seem to have a sole user. */
static void split(const struct seen_region *region, uint64_t *starts, uint32_t start, uint32_t count, uint32_t age)
{
    struct use use = use_of(region, start, count, age);

    if (count == 1 || use.of_first == use.sole || 2 * use.sole < use.used) {
        begin_block(starts, start);
        return;
    }
    split(region, starts, start, count / 2, age);
    split(region, starts, start + count / 2, count / 2, age);
}

/* Divides COUNT pages, at least a usual block. Returns the node that uses all of them alone, so that they have become
 * one block, which may be a half of a larger one; else NOBODY. */
static uint32_t join(const struct seen_region *region, uint64_t *starts, uint32_t start, uint32_t count, uint32_t age)
{
    uint32_t half = count / 2, first, second;

    if (count == REGION_USUAL) {
        struct use use = use_of(region, start, count, age);

        split(region, starts, start, count, age);
        return use.used != 0 && use.of_first == use.sole && OUTLIERS * (use.used - use.sole) <= use.used ? use.first
                                                                                                         : NOBODY;
    }
    first = join(region, starts, start, half, age);
    second = join(region, starts, start + half, half, age);
    if (first == NOBODY || first != second)
        return NOBODY;
    starts[(start + half) / 64] &= ~(1ull << (start + half) % 64);
    return first;
}

bool seen_region_divide(struct seen_region *region, uint32_t age)
{
    uint64_t starts[REGION_PAGES / 64] = {0};
    bool changed = false;

    join(region, starts, 0, REGION_PAGES, age);
    for (uint32_t i = 0; i < REGION_PAGES / 64; i++) {
        changed |= region->starts[i] != starts[i];
        region->starts[i] = starts[i];
    }
    return changed;
}

static bool begins(const uint64_t *starts, uint32_t page)
{
    return (starts[page / 64] >> page % 64 & 1) != 0;
}

uint32_t seen_region_block(const uint64_t starts[REGION_PAGES / 64], uint32_t page, uint32_t *count)
{
    uint32_t end = page + 1;

    while (!begins(starts, page))
        page--; /* page 0 begins one */
    while (end < REGION_PAGES && !begins(starts, end))
        end++;
    *count = end - page;
    return page;
}

uint64_t seen_region_users(const struct seen_region *region, uint32_t first, uint32_t count, uint32_t age)
{
    uint64_t users = 0;

    for (uint32_t page = first; page < first + count; page++)
        users |= is_used(region->pages[page], age) ? 1ull << node_of(region->pages[page]) : 0;
    return users;
}
