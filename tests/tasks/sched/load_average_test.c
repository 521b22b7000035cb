/* Load averages, compared with the exponential function.
 * sources: tasks/sched/load_average.c */
#include "tasks/sched/load_average.h"

#include <stdbool.h>

#include "tests/test.h"

#define SECOND 1000000000ull

/* e to the power of -X, X not negative. */
static double decay(double x)
{
    double sum = 1, term = 1;

    if (x > 1)
        return decay(x / 2) * decay(x / 2);
    for (int i = 1; i < 30; i++)
        sum += term *= -x / i;
    return sum;
}

static bool near(double a, double b, double by)
{
    return a - b < by && b - a < by;
}

static double value(const struct load_average *a, uint32_t i)
{
    return (double)a->average[i] / (double)(1ull << LOAD_UNIT_SHIFT);
}

/* Of a load that was 0 and is N for SECONDS. */
static bool rises(const struct load_average *a, double n, double seconds)
{
    static const double spans[LOAD_AVERAGES] = {60, 300, 900};

    for (uint32_t i = 0; i < LOAD_AVERAGES; i++) {
        double right = n * (1 - decay(seconds / spans[i]));

        if (!near(value(a, i), right, 1e-6 * (1 + n)))
            return false;
    }
    return true;
}

TEST(load_average_rises, "a constant load is approached as the exponential function has it")
{
    struct load_average a = {.until = 7 * SECOND};
    uint64_t left = 0;

    for (uint64_t s = 0; s < 120; s++)
        left = load_average_fold(&a, (8 + s) * SECOND, left + 3 * SECOND);
    CHECK_EQ(left, 0);
    CHECK_EQ(a.until, 127 * SECOND);
    CHECK(rises(&a, 3, 120));
}

TEST(load_average_once, "looking seldom gives the same as looking often")
{
    struct load_average a = {.until = 0};

    CHECK_EQ(load_average_fold(&a, 3600 * SECOND, 3600 * SECOND * 64), 0);
    CHECK(rises(&a, 64, 3600));
}

TEST(load_average_rest, "what is not a whole period waits for the next look")
{
    struct load_average a = {.until = 0};
    uint64_t left = load_average_fold(&a, 4 * SECOND, 4 * SECOND);

    CHECK_EQ(left, 4 * SECOND);
    CHECK_EQ(a.average[0], 0);
    left = load_average_fold(&a, 8 * SECOND, 8 * SECOND);
    CHECK_EQ(left, 3 * SECOND);
    CHECK_EQ(a.until, 5 * SECOND);
    CHECK(rises(&a, 1, 5));
}

TEST(load_average_falls, "without load it falls to nothing, after years too")
{
    struct load_average a = {.average = {5ull << 32, 5ull << 32, 5ull << 32}};

    load_average_fold(&a, 60 * SECOND, 0);
    CHECK(near(value(&a, 0), 5 * decay(1), 1e-6));
    CHECK(near(value(&a, 2), 5 * decay(1.0 / 15), 1e-6));
    load_average_fold(&a, 3 * 365 * 86400 * SECOND, 0);
    for (uint32_t i = 0; i < LOAD_AVERAGES; i++)
        CHECK_EQ(a.average[i], 0);
}

TEST(load_average_back, "a clock that is behind changes nothing")
{
    struct load_average a = {.average = {1, 2, 3}, .until = 10 * SECOND};

    CHECK_EQ(load_average_fold(&a, 9 * SECOND, 5), 5);
    CHECK_EQ(a.average[2], 3);
}
