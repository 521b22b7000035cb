/* Words packed with the zeros left out, also in more than one run, and damaged ones.
 * sources: tasks/migrate/pack.c */
#include "tasks/migrate/pack.h"

#include <stdlib.h>

#include "tests/test.h"

#define WORDS 600u
#define RUNS 5u

static uint64_t source[WORDS], copy[WORDS], packed[WORDS + WORDS / 64 + 1 + RUNS];

/* Cuts WORDS words at BASE into runs, some of them empty. */
static uint32_t cut(uint64_t *base, struct pack_run runs[RUNS], uint32_t words, uint64_t seed)
{
    uint32_t used = 0;

    for (uint32_t r = 0; r < RUNS - 1; r++) {
        uint32_t some = (uint32_t)test_below(&seed, words - used + 1);

        runs[r] = (struct pack_run){base + used, some};
        used += some;
    }
    runs[RUNS - 1] = (struct pack_run){base + used, words - used};
    return RUNS;
}

static void fill(uint32_t words, uint64_t seed)
{
    uint64_t density = test_below(&seed, 5);

    for (uint32_t i = 0; i < words; i++)
        source[i] = test_below(&seed, 4) < density ? test_random(&seed) : 0;
}

TEST(any_words, "what was packed comes out again, from runs of any size and with any zeros")
{
    for (uint64_t seed = 1; seed < 2000; seed++) {
        uint64_t state = seed;
        uint32_t words = (uint32_t)test_below(&state, WORDS + 1);
        struct pack_run from[RUNS], to[RUNS];
        uint32_t count = cut(source, from, words, seed), size;

        fill(words, seed);
        size = pack(from, count, packed);
        CHECK(size <= pack_bound(words, count));
        memset(copy, 0xee, sizeof(copy));
        cut(copy, to, words, seed);
        CHECK(unpack(to, count, packed, size));
        CHECK(memcmp(source, copy, words * sizeof(source[0])) == 0);
        for (uint32_t i = words; i < WORDS; i++)
            CHECK_EQ(copy[i], 0xeeeeeeeeeeeeeeeeull);
    }
}

TEST(length, "a map of one bit for eight words, then the blocks that are not all zero")
{
    struct pack_run run = {source, 8 * 65 + 2};

    memset(source, 0, sizeof(source));
    CHECK_EQ(pack(&run, 1, packed), 2);
    CHECK_EQ(packed[0] | packed[1], 0);
    source[8 * 63 + 3] = 7;
    source[8 * 65 + 1] = 9;
    CHECK_EQ(pack(&run, 1, packed), 2 + 8 + 2);
    CHECK_EQ(packed[0], 1ull << 63);
    CHECK_EQ(packed[1], 2);
    CHECK_EQ(packed[2 + 3], 7);
    CHECK_EQ(packed[2 + 8 + 1], 9);
}

TEST(no_words, "nothing takes no room")
{
    struct pack_run run = {source, 0};

    CHECK_EQ(pack(&run, 1, packed), 0);
    CHECK(unpack(&run, 1, packed, 0));
    CHECK(!unpack(&run, 1, packed, 1));
}

TEST(cut_short, "a message that is too short or too long is refused, and read within its bounds")
{
    struct pack_run run = {source, 200}, to = {copy, 200};
    uint32_t size;

    fill(200, 3);
    source[199] = 1;
    size = pack(&run, 1, packed);
    for (uint32_t wrong = 0; wrong <= size + 1; wrong++) {
        uint64_t *part = calloc(wrong, sizeof(*part)); /* the address sanitizer sees a read behind the end */

        memcpy(part, packed, (wrong < size ? wrong : size) * sizeof(*part));
        CHECK_EQ(unpack(&to, 1, part, wrong), wrong == size);
        free(part);
    }
}

TEST(bits_behind_the_end, "a map with bits for words that are not there is refused")
{
    struct pack_run run = {source, 10}, to = {copy, 10};
    uint32_t size;

    fill(10, 5);
    size = pack(&run, 1, packed);
    CHECK(unpack(&to, 1, packed, size));
    packed[0] |= 1ull << 2;
    packed[size] = 1;
    CHECK(!unpack(&to, 1, packed, size));
    CHECK(!unpack(&to, 1, packed, size + 1));
}
