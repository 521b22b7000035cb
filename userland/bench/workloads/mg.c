/* MG: Poisson's equation by multigrid V-cycles, after the NAS Parallel Benchmarks (RNR-94-007, section 2.3.5). A grid
 * has a border of one cell on each side that repeats the other side. Members share the planes of each grid. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "userland/bench/workloads/random.h"
#include "userland/bench/workloads/team.h"
#include "userland/bench/workloads/workload.h"

#define LEVELS_MAX 9
#define CHARGES 10
#define TOLERANCE 1e-8

/* Weights of a 27-point stencil: of the cell, and of its neighbours by face, edge and corner. */
struct stencil {
    double cell;
    double face;
    double edge;
    double corner;
};

static const struct size {
    int levels; /* the finest grid has 2^levels cells on each side */
    int iterations;
    struct stencil smooth;
    double norm; /* the official result */
} sizes[] = {
    {5, 4, {-3.0 / 8, 1.0 / 32, -1.0 / 64, 0}, 0.5307707005734e-04},
    {7, 4, {-3.0 / 8, 1.0 / 32, -1.0 / 64, 0}, 0.6467329375339e-05},
    {8, 4, {-3.0 / 8, 1.0 / 32, -1.0 / 64, 0}, 0.2433365309069e-05},
    {8, 20, {-3.0 / 17, 1.0 / 33, -1.0 / 61, 0}, 0.1800564401355e-05},
};

static const struct stencil laplace = {-8.0 / 3, 0, 1.0 / 6, 1.0 / 12};
static const struct stencil project = {1.0 / 2, 1.0 / 4, 1.0 / 8, 1.0 / 16};

static const struct size *size;
static double *u[LEVELS_MAX]; /* by level, 1 is the coarsest with two cells on a side */
static double *r[LEVELS_MAX];
static double *v;
static double norm;

static long side(int level) /* with the border */
{
    return (1L << level) + 2;
}

static size_t place(int level, long x, long y, long z)
{
    long wide = side(level);

    return (size_t)((z * wide + y) * wide + x);
}

static bool setup(char name)
{
    int row = workload_class(name);

    if (row < 0)
        return false;
    size = &sizes[row];
    for (int level = 1; level <= size->levels; level++) {
        size_t bytes = place(level, 0, 0, side(level)) * sizeof(double);

        u[level] = workload_memory(bytes);
        r[level] = workload_memory(bytes);
    }
    v = workload_memory(place(size->levels, 0, 0, side(size->levels)) * sizeof(double));
    return true;
}

/* The planes inside the border that are the member's. */
static void planes(int me, int level, long *first, long *end)
{
    team_range(me, 1L << level, first, end);
    ++*first;
    ++*end;
}

/* Repeats the opposite sides in the border of the member's planes. Those above and below follow a barrier. */
static void border_planes(int me, int level, double *grid)
{
    long last = 1L << level;
    long first;
    long end;

    planes(me, level, &first, &end);
    for (long z = first; z < end; z++) {
        for (long y = 1; y <= last; y++) {
            grid[place(level, 0, y, z)] = grid[place(level, last, y, z)];
            grid[place(level, last + 1, y, z)] = grid[place(level, 1, y, z)];
        }
        for (long x = 0; x <= last + 1; x++) {
            grid[place(level, x, 0, z)] = grid[place(level, x, last, z)];
            grid[place(level, x, last + 1, z)] = grid[place(level, x, 1, z)];
        }
    }
    team_barrier();
    team_range(me, side(level), &first, &end);
    for (long y = first; y < end; y++) {
        for (long x = 0; x <= last + 1; x++) {
            grid[place(level, x, y, 0)] = grid[place(level, x, y, last)];
            grid[place(level, x, y, last + 1)] = grid[place(level, x, y, 1)];
        }
    }
    team_barrier();
}

/* The weighted sum around the cell at AT of a grid with rows of WIDE and planes of PLANE. */
static double around(const double *at, long wide, long plane, const struct stencil *weight)
{
    double face = at[-1] + at[1] + at[-wide] + at[wide] + at[-plane] + at[plane];
    double edge = at[-wide - 1] + at[-wide + 1] + at[wide - 1] + at[wide + 1] + at[-plane - 1] + at[-plane + 1] +
                  at[plane - 1] + at[plane + 1] + at[-plane - wide] + at[-plane + wide] + at[plane - wide] +
                  at[plane + wide];
    double sum = weight->cell * at[0] + weight->face * face + weight->edge * edge;

    if (weight->corner != 0.0)
        sum += weight->corner *
               (at[-plane - wide - 1] + at[-plane - wide + 1] + at[-plane + wide - 1] + at[-plane + wide + 1] +
                at[plane - wide - 1] + at[plane - wide + 1] + at[plane + wide - 1] + at[plane + wide + 1]);
    return sum;
}

/* TO = FROM - laplace U. TO may be FROM. */
static void residual(int me, int level, double *to, const double *from)
{
    long wide = side(level);
    long first;
    long end;

    planes(me, level, &first, &end);
    for (long z = first; z < end; z++) {
        for (long y = 1; y < wide - 1; y++) {
            size_t row = place(level, 0, y, z);

            for (long x = 1; x < wide - 1; x++)
                to[row + (size_t)x] = from[row + (size_t)x] -
                                      around(&u[level][row + (size_t)x], wide, wide * wide, &laplace);
        }
    }
    team_barrier();
    border_planes(me, level, to);
}

/* U += smoother of R. */
static void smoothen(int me, int level)
{
    long wide = side(level);
    long first;
    long end;

    planes(me, level, &first, &end);
    for (long z = first; z < end; z++) {
        for (long y = 1; y < wide - 1; y++) {
            size_t row = place(level, 0, y, z);

            for (long x = 1; x < wide - 1; x++)
                u[level][row + (size_t)x] += around(&r[level][row + (size_t)x], wide, wide * wide, &size->smooth);
        }
    }
    team_barrier();
    border_planes(me, level, u[level]);
}

/* The residual of LEVEL onto the next coarser grid. */
static void restrict_down(int me, int level)
{
    long wide = side(level);
    long first;
    long end;

    planes(me, level - 1, &first, &end);
    for (long z = first; z < end; z++) {
        for (long y = 1; y < side(level - 1) - 1; y++) {
            for (long x = 1; x < side(level - 1) - 1; x++)
                r[level - 1][place(level - 1, x, y, z)] = around(&r[level][place(level, 2 * x, 2 * y, 2 * z)], wide,
                                                                 wide * wide, &project);
        }
    }
    team_barrier();
    border_planes(me, level - 1, r[level - 1]);
}

/* Adds the coarser grid's U, trilinearly, to LEVEL's. Coarse cell c is fine cell 2 c: an odd one lies between two. */
static void interpolate_up(int me, int level)
{
    const double *coarse = u[level - 1];
    long first;
    long end;

    planes(me, level, &first, &end);
    for (long z = first; z < end; z++) {
        for (long y = 1; y < side(level) - 1; y++) {
            for (long x = 1; x < side(level) - 1; x++) {
                double sum = 0.0;
                long odd_x = x & 1;
                long odd_y = y & 1;
                long odd_z = z & 1;

                for (long c = 0; c <= odd_z; c++) {
                    for (long b = 0; b <= odd_y; b++) {
                        for (long a = 0; a <= odd_x; a++)
                            sum += coarse[place(level - 1, x / 2 + a, y / 2 + b, z / 2 + c)];
                    }
                }
                u[level][place(level, x, y, z)] += sum / (double)(1L << (odd_x + odd_y + odd_z));
            }
        }
    }
    team_barrier();
    border_planes(me, level, u[level]);
}

static void grid_zero(int me, int level, double *grid)
{
    long first;
    long end;

    team_range(me, side(level), &first, &end);
    for (size_t i = place(level, 0, 0, first); i < place(level, 0, 0, end); i++)
        grid[i] = 0.0;
}

/* U += V-cycle of R, at the finest level. */
static void cycle(int me)
{
    int top = size->levels;

    for (int level = top; level > 1; level--)
        restrict_down(me, level);
    for (int level = 1; level < top; level++)
        grid_zero(me, level, u[level]);
    team_barrier();
    smoothen(me, 1);
    for (int level = 2; level <= top; level++) {
        interpolate_up(me, level);
        residual(me, level, r[level], level == top ? v : r[level]);
        smoothen(me, level);
    }
}

/* --- the charges: where the ten greatest and the ten least of a random field are --- */

struct extreme {
    double value;
    size_t at;
};

/* Keeps VALUE among LIST, the greatest first, if it is one of the ten greatest. */
static void extreme_keep(struct extreme *list, double value, size_t at)
{
    int i = CHARGES - 1;

    if (value <= list[i].value)
        return;
    for (; i > 0 && list[i - 1].value < value; i--)
        list[i] = list[i - 1];
    list[i] = (struct extreme){value, at};
}

static void charges_make(void)
{
    struct extreme greatest[CHARGES] = {{0.0, 0}};
    struct extreme least[CHARGES];
    uint64_t state = RANDOM_SEED;
    long last = 1L << size->levels;

    for (int i = 0; i < CHARGES; i++) {
        greatest[i].value = -1.0;
        least[i].value = -1.0;
    }
    for (long z = 1; z <= last; z++) {
        for (long y = 1; y <= last; y++) {
            for (long x = 1; x <= last; x++) {
                double value = random_next(&state);

                extreme_keep(greatest, value, place(size->levels, x, y, z));
                extreme_keep(least, 1.0 - value, place(size->levels, x, y, z));
            }
        }
    }
    for (int i = 0; i < CHARGES; i++) {
        v[least[i].at] = -1.0;
        v[greatest[i].at] = 1.0;
    }
}

static void problem_make(int me)
{
    int top = size->levels;

    grid_zero(me, top, u[top]);
    grid_zero(me, top, v);
    team_barrier();
    if (me == 0)
        charges_make();
    team_barrier();
    border_planes(me, top, v);
    residual(me, top, r[top], v);
}

static double norm_of_residual(int me)
{
    int top = size->levels;
    double sum = 0.0;
    long first;
    long end;

    planes(me, top, &first, &end);
    for (long z = first; z < end; z++) {
        for (long y = 1; y < side(top) - 1; y++) {
            for (long x = 1; x < side(top) - 1; x++) {
                double value = r[top][place(top, x, y, z)];

                sum += value * value;
            }
        }
    }
    return sqrt(team_sum(me, sum) / (double)(1L << 3 * top));
}

static void run(int me)
{
    int top = size->levels;
    double result;

    problem_make(me);
    cycle(me); /* brings the memory to where it is used, as the official program does */
    problem_make(me);
    team_clock_begin();
    team_stage_begin(me);
    for (int i = 0; i < size->iterations; i++) {
        cycle(me);
        residual(me, top, r[top], v);
    }
    result = norm_of_residual(me);
    team_stage_end(me);
    team_clock_end();
    if (me == 0)
        norm = result;
}

static bool verify(void)
{
    return workload_near("mg: norm", norm, size->norm, TOLERANCE);
}

/* The official estimate. */
static double operations(void)
{
    return 58.0 * size->iterations * (double)(1L << 3 * size->levels);
}

const struct workload workload_mg = {"mg", "multigrid", "flops", setup, run, verify, operations};
