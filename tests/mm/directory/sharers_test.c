/* The directory of a space against one with a word for each part.
 * sources: mm/directory/sharers.c */
#include "mm/directory/owners.h"

#include "tests/stand_in/heap.h"
#include "tests/test.h"

#define BLOCKS 6u
#define PARTS (BLOCKS * SHARERS_PARTS)
#define FAR (1ull << 46)
#define ALL UINT64_MAX

static struct sharers map;
static kernel_set parts[PARTS];

static uint64_t at(uint64_t part)
{
    return part * SHARERS_PART;
}

static void begin(void)
{
    heap_left = -1;
    sharers_end(&map);
    memset(parts, 0, sizeof(parts));
    CHECK_EQ(heap_objects, 0);
}

static uint64_t random_below(uint64_t *state, uint64_t below)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (*state >> 33) % below;
}

TEST(directory_empty, "a directory without marks has no sharers and no memory")
{
    begin();
    CHECK_EQ(sharers_in(&map, 0, ALL), 0);
    sharers_clear(&map, 0, FAR);
    sharers_forget(&map, ALL);
    sharers_mark(&map, at(3), at(3), 1);
    sharers_mark(&map, at(3), at(4), 0);
    CHECK_EQ(heap_objects, 0);
}

TEST(directory_part, "a mark of a page is one of its part, and of no other")
{
    begin();
    sharers_mark(&map, at(3) + 4096, at(3) + 8192, 1ull << 63);
    CHECK_EQ(sharers_in(&map, at(2), at(3)), 0);
    CHECK_EQ(sharers_in(&map, at(3), at(3) + 1), 1ull << 63);
    CHECK_EQ(sharers_in(&map, at(4), ALL), 0);
    CHECK_EQ(sharers_in(&map, 0, ALL), 1ull << 63);
    sharers_clear(&map, at(3), at(4));
    CHECK_EQ(sharers_in(&map, 0, ALL), 0);
}

TEST(directory_marked, "a quick look knows the parts of the block that was marked last, and no others")
{
    begin();
    CHECK(!sharers_marked(&map, at(3), true, 2));
    sharers_mark(&map, at(3) + 4096, at(3) + 8192, 6);
    CHECK(sharers_marked(&map, at(3), true, 2) && sharers_marked(&map, at(4) - 1, true, 6));
    CHECK(!sharers_marked(&map, at(3), true, 1) && !sharers_marked(&map, at(3), true, 7));
    CHECK(!sharers_marked(&map, at(3), false, 2)); /* not all of the block */
    CHECK(!sharers_marked(&map, at(2), true, 2) && !sharers_marked(&map, at(4), true, 2));
    CHECK(!sharers_marked(&map, at(3) + SHARERS_BLOCK, true, 2));
    sharers_mark(&map, 0, SHARERS_BLOCK, 1);
    CHECK(sharers_marked(&map, at(9), false, 1) && sharers_marked(&map, at(9), true, 1));
    CHECK(sharers_marked(&map, at(3), true, 7) && !sharers_marked(&map, at(3), false, 7));
    sharers_clear(&map, at(3), at(4));
    CHECK(!sharers_marked(&map, at(3), true, 2));
}

TEST(directory_whole, "the mark of a block is cleared in a part, and stays in the others")
{
    begin();
    sharers_mark(&map, FAR, FAR + SHARERS_BLOCK, 6);
    CHECK_EQ(heap_objects, 1); /* the table alone */
    sharers_clear(&map, FAR + at(1), FAR + at(2));
    CHECK_EQ(sharers_in(&map, FAR + at(1), FAR + at(2)), 0);
    CHECK_EQ(sharers_in(&map, FAR, FAR + at(1)), 6);
    CHECK_EQ(sharers_in(&map, FAR + at(2), FAR + at(64)), 6);
}

TEST(directory_large, "who is marked in a very large range is marked everywhere, until it is forgotten")
{
    begin();
    sharers_mark(&map, 0, 3ull << 30, 2);
    CHECK_EQ(heap_objects, 0);
    CHECK_EQ(sharers_in(&map, FAR, FAR + 1), 2);
    sharers_clear(&map, 0, FAR * 2);
    CHECK_EQ(sharers_in(&map, FAR, FAR + 1), 2);
    sharers_forget(&map, 2);
    CHECK_EQ(sharers_in(&map, 0, ALL), 0);
}

TEST(directory_no_memory, "without memory a mark becomes coarser and is never lost")
{
    begin();
    heap_left = 0;
    sharers_mark(&map, at(1), at(2), 4); /* no table */
    CHECK_EQ(sharers_in(&map, at(500), at(501)), 4);
    begin();
    heap_left = 1;
    sharers_mark(&map, at(1), at(2), 4); /* no parts */
    CHECK_EQ(sharers_in(&map, at(63), at(64)), 4);
    CHECK_EQ(sharers_in(&map, at(64), at(65)), 0);
    sharers_clear(&map, at(63), at(64)); /* no parts for that either: the mark stays */
    CHECK_EQ(sharers_in(&map, at(1), at(2)), 4);
    begin();
    heap_left = 3; /* the tables of 16, 32 and 64 places */
    for (uint64_t block = 0; block < 48; block++)
        sharers_mark(&map, block * SHARERS_BLOCK, (block + 1) * SHARERS_BLOCK, 1);
    CHECK_EQ(sharers_in(&map, FAR, FAR + 1), 0);
    sharers_mark(&map, 48 * SHARERS_BLOCK, 49 * SHARERS_BLOCK, 3);
    CHECK_EQ(sharers_in(&map, FAR, FAR + 1), 3);
}

TEST(directory_reuse, "blocks without marks make room: a directory that is marked and cleared without end stays small")
{
    begin();
    for (uint64_t block = 0; block < 100000; block++) {
        uint64_t start = block * 3 * SHARERS_BLOCK;

        sharers_mark(&map, start, start + SHARERS_BLOCK + 1, 1ull << block % 64);
        sharers_clear(&map, start, start + 2 * SHARERS_BLOCK);
    }
    CHECK_EQ(sharers_in(&map, 0, ALL), 0);
    CHECK(map.size <= 32);
    CHECK_EQ(heap_objects, 1);
}

/* Compares what sharers_next reports, and every part. */
static void compare(void)
{
    kernel_set found[PARTS] = {0};
    struct sharers_range range;
    uint64_t cursor = 0;

    while (sharers_next(&map, &cursor, &range)) {
        for (uint64_t part = range.start / SHARERS_PART; part < range.end / SHARERS_PART; part++) {
            CHECK_EQ(found[part], 0);
            found[part] = range.sharers;
        }
    }
    for (uint32_t part = 0; part < PARTS; part++) {
        CHECK_EQ(found[part], parts[part]);
        CHECK_EQ(sharers_in(&map, at(part), at(part + 1)), parts[part]);
    }
}

TEST(directory_random, "marks, clears and questions agree with a word for each part")
{
    uint64_t state = 1;

    begin();
    for (int step = 0; step < 20000; step++) {
        uint64_t first = random_below(&state, PARTS), last = first + 1 + random_below(&state, PARTS - first);
        kernel_set kernels = 1ull << random_below(&state, 64) | 1ull << random_below(&state, 64), sharers = 0;

        if (random_below(&state, 4) == 0)
            last = first + 1;
        switch (random_below(&state, 8)) {
        case 0:
            sharers_clear(&map, at(first), at(last));
            memset(&parts[first], 0, (last - first) * sizeof(parts[0]));
            break;
        case 1:
            for (uint64_t part = first; part < last; part++)
                sharers |= parts[part];
            CHECK_EQ(sharers_in(&map, at(first), at(last)), sharers);
            break;
        case 2:
            sharers_forget(&map, kernels);
            for (uint32_t part = 0; part < PARTS; part++)
                parts[part] &= ~kernels;
            break;
        default:
            sharers_mark(&map, at(first), at(last), kernels);
            for (uint64_t part = first; part < last; part++)
                parts[part] |= kernels;
        }
        if (step % 100 == 0)
            compare();
    }
    compare();
    begin();
}

TEST(directory_owners,
     "whose memory a block has is noted for all of the block, until it is forgotten or for lack of memory")
{
    kernel_set blocks[BLOCKS];
    uint64_t state = 7;

    for (uint32_t round = 0; round < 300; round++) {
        begin();
        memset(blocks, 0, sizeof(blocks));
        CHECK(owners_none(&map));
        heap_left = round % 3 == 0 ? (int)random_below(&state, 3) : -1;
        for (uint32_t i = 0; i < 40; i++) {
            uint64_t page = random_below(&state, BLOCKS * SHARERS_BLOCK / SHARERS_PAGE) * SHARERS_PAGE;
            uint32_t kernel = (uint32_t)random_below(&state, 64);

            owners_note(&map, page, kernel);
            CHECK(!owners_none(&map));
            blocks[page / SHARERS_BLOCK] |= 1ull << kernel;
            if (i % 10 == 9) {
                owners_forget(&map, kernel);
                for (uint32_t block = 0; block < BLOCKS; block++)
                    blocks[block] &= ~(1ull << kernel);
            }
            page = random_below(&state, BLOCKS * SHARERS_BLOCK / SHARERS_PAGE) * SHARERS_PAGE;
            kernel = (uint32_t)random_below(&state, 64);
            CHECK_EQ(owners_has(&map, page, kernel),
                     ((blocks[page / SHARERS_BLOCK] | map.everywhere) >> kernel & 1) != 0);
            CHECK(map.everywhere == 0 || round % 3 == 0);
        }
    }
    heap_left = -1;
    begin();
    sharers_mark_all(&map, ALL);
    CHECK(owners_has(&map, 0, 63) && !owners_has(&map, 0, KERNELS_MAX));
    begin();
}
