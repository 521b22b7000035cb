/* EP: pairs of Gaussian deviates, after the NAS Parallel Benchmarks (RNR-94-007, section 2.3.1). No member needs
 * anything of another. */
#include <math.h>
#include <stdint.h>

#include "userland/bench/workloads/random.h"
#include "userland/bench/workloads/team.h"
#include "userland/bench/workloads/workload.h"

#define EP_SEED 271828183u
#define BATCH_BITS 16 /* pairs of a batch: what members share the work by */
#define TOLERANCE 1e-8

static const struct size {
    int bits; /* pairs */
    double sum_x;
    double sum_y;
} sizes[] = {
    {24, -3.247834652034740e+3, -6.958407078382297e+3},
    {25, -2.863319731645753e+3, -6.320053679109499e+3},
    {28, -4.295875165629892e+3, -1.580732573678431e+4},
    {30, 4.033815542441498e+4, -2.660669192809235e+4},
};

static const struct size *size;
static double sum_x;
static double sum_y;

static bool setup(char name)
{
    int row = workload_class(name);

    if (row >= 0)
        size = &sizes[row];
    return row >= 0;
}

static void batch(long number, double *x_sum, double *y_sum)
{
    uint64_t state = random_skip(EP_SEED, (uint64_t)number << (BATCH_BITS + 1));

    for (long i = 0; i < 1L << BATCH_BITS; i++) {
        double x = 2.0 * random_next(&state) - 1.0;
        double y = 2.0 * random_next(&state) - 1.0;
        double square = x * x + y * y;

        if (square <= 1.0) {
            double factor = sqrt(-2.0 * log(square) / square);

            *x_sum += x * factor;
            *y_sum += y * factor;
        }
    }
}

static void run(int me)
{
    double x = 0.0;
    double y = 0.0;
    long first;
    long end;

    team_range(me, 1L << (size->bits - BATCH_BITS), &first, &end);
    team_clock_begin();
    team_stage_begin(me);
    for (long i = first; i < end; i++)
        batch(i, &x, &y);
    x = team_sum(me, x);
    y = team_sum(me, y);
    team_stage_end(me);
    team_clock_end();
    if (me == 0) {
        sum_x = x;
        sum_y = y;
    }
}

static bool verify(void)
{
    bool x = workload_near("ep: sum of x", sum_x, size->sum_x, TOLERANCE);

    return workload_near("ep: sum of y", sum_y, size->sum_y, TOLERANCE) && x;
}

static double operations(void)
{
    return (double)(2L << size->bits);
}

const struct workload workload_ep = {"ep", "Gaussian deviates", "random numbers", setup, run, verify, operations};
