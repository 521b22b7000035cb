/* The channel's clock and histograms.
 * sources: msg/stats.c */
#include "msg/stats.h"

#include <stdlib.h>

#include "tests/test.h"

#define VALUES 5000u

struct instance instance;
bool cpu_several;
static uint64_t counts;

uint64_t rdtsc_unordered(void)
{
    return counts;
}

uint64_t clock_counts_to_ns(uint64_t value)
{
    return value / 2;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* What each quantile of the values is by sorting them; the histogram may be off by an eighth and one. */
static void check_quantiles(uint64_t *values, uint32_t count)
{
    static const uint32_t parts[] = {1, 10, 250, 500, 900, 990, 999, 1000};
    struct msg_histogram histogram = {0};

    for (uint32_t i = 0; i < count; i++)
        msg_histogram_add(&histogram, values[i]);
    qsort(values, count, sizeof(values[0]), compare);
    CHECK_EQ(histogram.most, values[count - 1]);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        uint64_t right = values[((uint64_t)count * parts[i] + 999) / 1000 - 1];
        uint64_t said = msg_histogram_quantile(&histogram, parts[i]);

        CHECK(said <= right + right / 8 + 1 && right <= said + right / 8 + 1 && said <= histogram.most);
    }
}

TEST(histogram_each, "each value alone is found again, off by an eighth and one at most, up to 2^48 ticks")
{
    for (uint64_t value = 0; value < 1ull << 48; value += 1 + value / 37) {
        uint64_t one = value;

        check_quantiles(&one, 1);
    }
    check_quantiles(&(uint64_t){(1ull << 48) - 5}, 1);
}

TEST(histogram_buckets, "every value has one bucket, buckets ascend, and the greatest value has the last")
{
    uint64_t last = 0;

    for (uint64_t value = 0; value < 1ull << 47; value += value < 5000 ? 1 : value / 97) {
        struct msg_histogram histogram = {0};
        uint32_t bucket = 0;

        msg_histogram_add(&histogram, value);
        while (bucket < HISTOGRAM_BUCKETS && histogram.count[bucket] == 0)
            bucket++;
        CHECK(bucket < HISTOGRAM_BUCKETS && bucket >= last && bucket <= last + 1);
        last = bucket;
    }
}

TEST(histogram_random, "quantiles of random values of all sizes agree with the sorted values")
{
    static uint64_t values[VALUES];
    uint64_t state = 1;

    for (uint32_t bits = 1; bits < 48; bits++) {
        uint32_t count = 1 + (uint32_t)test_below(&state, VALUES);

        for (uint32_t i = 0; i < count; i++)
            values[i] = test_random(&state) >> (64 - 1 - test_below(&state, bits));
        check_quantiles(values, count);
    }
}

TEST(histogram_empty, "a histogram without values says 0")
{
    struct msg_histogram histogram = {0};

    CHECK_EQ(msg_histogram_quantile(&histogram, 500), 0);
    CHECK_EQ(msg_histogram_quantile(&histogram, 1000), 0);
}

TEST(clock_ticks, "times are ticks of 32 counts since boot, and always grow")
{
    instance.rates.tsc_base = 1000;
    counts = 1000 + 32 * 77;
    CHECK_EQ(msg_clock_tick(), 77);
    CHECK_EQ(msg_clock_tick(), 78);
    CHECK_EQ(msg_clock_tick(), 79);
    counts += 32 * 100;
    CHECK_EQ(msg_clock_tick(), 177);
    counts -= 32 * 50;
    CHECK_EQ(msg_clock_tick(), 178);
    CHECK_EQ(msg_ticks_to_ns(10), 160);
}

TEST(clock_several, "the same in an instance with several CPUs")
{
    cpu_several = true;
    counts = 1000 + 32 * 1000;
    CHECK_EQ(msg_clock_tick(), 1000);
    CHECK_EQ(msg_clock_tick(), 1001);
    counts += 32 * 100;
    CHECK_EQ(msg_clock_tick(), 1100);
    cpu_several = false;
    CHECK_EQ(msg_clock_tick(), 1101);
}

TEST(clock_behind, "the clock follows a time ahead of it, never goes back, and does not believe one hours ahead")
{
    msg_clock = 5000;
    msg_clock_behind(6000, 4000);
    CHECK_EQ(msg_clock, 6000);
    msg_clock_behind(5500, 4000);
    CHECK_EQ(msg_clock, 6000);
    CHECK_EQ(msg_stats.bad_time, 0);
    msg_clock_behind(4001 + (1ull << 40), 4000);
    CHECK_EQ(msg_clock, 6000);
    CHECK_EQ(msg_stats.bad_time, 1);
    msg_clock_behind(4000 + (1ull << 40), 4000);
    CHECK_EQ(msg_clock, 4000 + (1ull << 40));
}
