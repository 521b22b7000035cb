/* How long a kernel waits between two looks. */
#include "tasks/numa/period.h"

#include "tests/test.h"

#define MS 1000000ull
#define SHORTEST (100 * MS)

static const struct period_found nothing, near = {.local = 1000, .remote = 1, .told = 1001, .shared = 100},
                                          shared = {.local = 1000, .told = 1000, .shared = 125};

TEST(period_grows, "the period grows up to ten seconds where no other node has a share, and up to one where one has")
{
    uint64_t period = SHORTEST;

    for (int look = 0; look < 5; look++)
        period = period_after(period, SHORTEST, false, &near);
    CHECK_EQ(period, 3200 * MS);
    for (int look = 0; look < 5; look++)
        period = period_after(period, SHORTEST, false, &near);
    CHECK_EQ(period, 10000 * MS);
    period = period_after(period, SHORTEST, false, &shared);
    CHECK_EQ(period, 1000 * MS);
    CHECK_EQ(period_after(period, SHORTEST, false, &shared), 1000 * MS);
    CHECK_EQ(period_after(period, SHORTEST, false, &nothing), 2000 * MS);
}

TEST(period_shrinks, "the period is halved, down to the shortest one, while the home is about to decide")
{
    uint64_t period = 1000 * MS;

    for (int look = 0; look < 3; look++)
        period = period_after(period, SHORTEST, true, &shared);
    CHECK_EQ(period, 125 * MS);
    CHECK_EQ(period_after(period, SHORTEST, true, &shared), SHORTEST);
    CHECK_EQ(period_after(10000 * MS, SHORTEST, true, &near), 5000 * MS);
}

TEST(period_watched, "a kernel that others wait for is not calm, whatever it has found")
{
    struct period_found watched = near;

    watched.watched = true;
    CHECK_EQ(period_after(3200 * MS, SHORTEST, false, &watched), 1000 * MS);
    watched.told = watched.shared = 0;
    CHECK_EQ(period_after(1000 * MS, SHORTEST, false, &watched), 1000 * MS);
}

TEST(period_bounds, "no period is longer than ten seconds, whatever the shortest one is, nor shorter than that")
{
    for (uint64_t shortest = MS; shortest <= PERIOD_LIMIT; shortest *= 10) {
        for (int calm = 0; calm < 2; calm++) {
            CHECK_EQ(period_within(0, shortest, calm), shortest);
            CHECK(period_within(UINT64_MAX, shortest, calm) <= PERIOD_LIMIT);
            CHECK(period_within(UINT64_MAX, shortest, calm) >= shortest);
        }
    }
}

TEST(period_eighth, "an eighth of the pages that are another node's is much, and less is not")
{
    struct period_found found = {.local = 7, .remote = 1};

    CHECK(period_remote(&found));
    found.local = 8;
    CHECK(!period_remote(&found));
    found.local = found.remote = 0;
    CHECK(!period_remote(&found));
    CHECK(period_calm(&found));
}
