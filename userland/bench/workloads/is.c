/* IS: ranks of integer keys, after the NAS Parallel Benchmarks (RNR-94-007, section 2.3.7). Each member counts its own
 * keys; all counts are then added by ranges of key values. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "userland/bench/workloads/random.h"
#include "userland/bench/workloads/team.h"
#include "userland/bench/workloads/workload.h"

#define ITERATIONS 10
#define TESTS 5

/* The official test of a class: the rank of the key at INDEX is RANK, plus the iteration where it RISES (else minus),
 * shifted by OFFSET. */
struct test {
    int index[TESTS];
    int rank[TESTS];
    bool rises[TESTS];
    int offset_up;
    int offset_down;
};

static const struct size {
    int key_bits;   /* number of keys */
    int value_bits; /* their values */
    struct test test;
} sizes[] = {
    {16, 11, {{48427, 17148, 23627, 62548, 4431}, {0, 18, 346, 64917, 65463}, {1, 1, 1, 0, 0}, 0, 0}},
    {20,
     16,
     {{357773, 934767, 875723, 898999, 404505}, {1249, 11698, 1039987, 1043896, 1048018}, {1, 1, 0, 0, 0}, -2, 0}},
    {23,
     19,
     {{2112377, 662041, 5336171, 3642833, 4250760}, {104, 17523, 123928, 8288932, 8388264}, {1, 1, 1, 0, 0}, -1, -1}},
    {25,
     21,
     {{41869, 812306, 5102857, 18232239, 26860214}, {33422937, 10244, 59149, 33135281, 99}, {0, 1, 1, 0, 1}, 0, 0}},
};

static const struct size *size;
static long keys;
static long values;
static int *key;
static int *count[TEAM_MAX]; /* of each member: how many keys have this value or a lower one */
static int *below;           /* the sum of all */
static int failures;

static bool setup(char name)
{
    int row = workload_class(name);

    if (row < 0)
        return false;
    size = &sizes[row];
    keys = 1L << size->key_bits;
    values = 1L << size->value_bits;
    key = workload_memory((size_t)keys * sizeof(*key));
    below = workload_memory((size_t)values * sizeof(*below));
    return true;
}

static void keys_make(long first, long end)
{
    uint64_t x = random_skip(RANDOM_SEED, 4 * (uint64_t)first);

    for (long i = first; i < end; i++) {
        double sum = random_next(&x);

        for (int k = 0; k < 3; k++)
            sum += random_next(&x);
        key[i] = (int)((double)(values / 4) * sum);
    }
}

/* Ranks of the test keys in ITERATION, as the class tells them. */
static void ranks_check(int iteration, const int *tested)
{
    const struct test *test = &size->test;

    for (int i = 0; i < TESTS; i++) {
        int right = test->rises[i] ? test->rank[i] + iteration + test->offset_up
                                   : test->rank[i] - (iteration + test->offset_down);

        if (tested[i] <= 0 || below[tested[i] - 1] != right)
            failures++;
    }
}

static void rank(int me, int iteration)
{
    int *own = count[me];
    int tested[TESTS];
    long first;
    long end;

    if (me == 0) {
        key[iteration] = iteration;
        key[iteration + ITERATIONS] = (int)values - iteration;
        for (int i = 0; i < TESTS; i++)
            tested[i] = key[size->test.index[i]];
    }
    team_barrier();
    memset(own, 0, (size_t)values * sizeof(*own));
    team_range(me, keys, &first, &end);
    for (long i = first; i < end; i++)
        own[key[i]]++;
    for (long value = 1; value < values; value++)
        own[value] += own[value - 1];
    team_barrier();
    team_range(me, values, &first, &end);
    memcpy(&below[first], &count[0][first], (size_t)(end - first) * sizeof(*below));
    for (int other = 1; other < team_members(); other++) {
        for (long value = first; value < end; value++)
            below[value] += count[other][value];
    }
    team_barrier();
    if (me == 0)
        ranks_check(iteration, tested);
}

static void run(int me)
{
    long first;
    long end;

    count[me] = workload_memory((size_t)values * sizeof(*count[me]));
    team_range(me, keys, &first, &end);
    keys_make(first, end);
    team_barrier();
    rank(me, 1); /* brings the memory to where it is used, as the specification allows */
    team_clock_begin();
    team_stage_begin(me);
    for (int iteration = 1; iteration <= ITERATIONS; iteration++)
        rank(me, iteration);
    team_stage_end(me);
    team_clock_end();
}

/* The official ranks, and whether the ranks of the last iteration sort all keys. */
static bool verify(void)
{
    int *sorted = workload_memory((size_t)keys * sizeof(*sorted));
    int *place = workload_memory((size_t)values * sizeof(*place));

    memcpy(place, below, (size_t)values * sizeof(*place));
    for (long i = 0; i < keys; i++) {
        int to = --place[key[i]];

        if (to < 0 || to >= keys)
            return false;
        sorted[to] = key[i] + 1; /* a place that no key has is 0 */
    }
    for (long i = 0; i < keys; i++) {
        if (sorted[i] == 0 || (i > 0 && sorted[i - 1] > sorted[i])) {
            fprintf(stderr, "workload: is: the ranks do not sort the keys at %ld\n", i);
            return false;
        }
    }
    if (failures > 0)
        fprintf(stderr, "workload: is: %d of the official ranks are wrong\n", failures);
    return failures == 0;
}

static double operations(void)
{
    return (double)keys * ITERATIONS;
}

const struct workload workload_is = {"is", "ranks of integer keys", "keys ranked", setup, run, verify, operations};
