/* LUD: a dense matrix into a lower and an upper triangle, in place and without pivoting, by blocks, as the thesis's LUD
 * (Rodinia's): the diagonal block by one member, then its row and column, then all blocks right and below. The members
 * have equal parts of the rows and columns of blocks, not of blocks. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "userland/bench/workloads/random.h"
#include "userland/bench/workloads/team.h"
#include "userland/bench/workloads/workload.h"

#define BLOCK 16
#define TOLERANCE 1e-10

static const int orders[] = {256, 512, 1024, 2048}; /* of the classes */

static long order;
static double *matrix;

static double *row_of(long row)
{
    return &matrix[row * order];
}

static bool setup(char name)
{
    int row = workload_class(name);

    if (row < 0)
        return false;
    order = orders[row];
    matrix = workload_memory((size_t)(order * order) * sizeof(*matrix));
    return true;
}

/* Rows FIRST to END of the matrix into TO. The diagonal is heavy, so that no pivots are needed. */
static void rows_make(double *to, long first, long end)
{
    uint64_t state = random_skip(RANDOM_SEED, (uint64_t)(first * order));

    for (long row = first; row < end; row++) {
        for (long column = 0; column < order; column++)
            *to++ = random_next(&state) + (row == column ? (double)order : 0.0);
    }
}

static void diagonal(long at)
{
    for (long k = at; k < at + BLOCK; k++) {
        for (long row = k + 1; row < at + BLOCK; row++) {
            double factor = row_of(row)[k] /= row_of(k)[k];

            for (long column = k + 1; column < at + BLOCK; column++)
                row_of(row)[column] -= factor * row_of(k)[column];
        }
    }
}

/* Columns LEFT to RIGHT of the blocks right of the diagonal one. */
static void right_of(long at, long left, long right)
{
    for (long k = at; k < at + BLOCK; k++) {
        for (long row = k + 1; row < at + BLOCK; row++) {
            for (long column = left; column < right; column++)
                row_of(row)[column] -= row_of(row)[k] * row_of(k)[column];
        }
    }
}

/* Rows TOP to BOTTOM of the blocks below the diagonal one. */
static void below(long at, long top, long bottom)
{
    for (long row = top; row < bottom; row++) {
        for (long k = at; k < at + BLOCK; k++) {
            double factor = row_of(row)[k] /= row_of(k)[k];

            for (long column = k + 1; column < at + BLOCK; column++)
                row_of(row)[column] -= factor * row_of(k)[column];
        }
    }
}

/* Rows TOP to BOTTOM of a block that begins at column LEFT. */
static void inner(long at, long top, long bottom, long left)
{
    for (long row = top; row < bottom; row++) {
        double *to = &row_of(row)[left];

        for (long k = at; k < at + BLOCK; k++) {
            double factor = row_of(row)[k];
            const double *from = &row_of(k)[left];

            for (long column = 0; column < BLOCK; column++)
                to[column] -= factor * from[column];
        }
    }
}

/* The member's part of the LENGTH columns right of the diagonal block and of as many rows below it. */
static void edges(int me, long at, long length)
{
    long corner = at + BLOCK;
    long first;
    long end;

    team_range(me, 2 * length, &first, &end);
    if (first < length)
        right_of(at, corner + first, corner + (end < length ? end : length));
    if (end > length)
        below(at, corner + (first > length ? first - length : 0), corner + end - length);
}

/* The member's part of the REST x REST blocks right and below: of their rows, block by block, as whole blocks cannot be
 * divided evenly (25 blocks for 16 members take as long as 32). */
static void inner_blocks(int me, long at, long rest)
{
    long first;
    long end;

    team_range(me, rest * rest * BLOCK, &first, &end);
    while (first < end) {
        long block = first / BLOCK;
        long row = first % BLOCK;
        long stop = end - first < BLOCK - row ? row + end - first : BLOCK;
        long top = at + (1 + block / rest) * BLOCK;

        inner(at, top + row, top + stop, at + (1 + block % rest) * BLOCK);
        first += stop - row;
    }
}

static void run(int me)
{
    long first;
    long end;

    team_range(me, order, &first, &end);
    rows_make(row_of(first), first, end);
    team_clock_begin();
    team_stage_begin(me); /* and no end: the thesis's threads stay where they are */
    for (long at = 0; at < order; at += BLOCK) {
        long rest = (order - at) / BLOCK - 1;

        if (me == 0) {
            team_alone_begin();
            diagonal(at);
            team_alone_end();
        }
        team_barrier();
        edges(me, at, rest * BLOCK);
        team_barrier();
        inner_blocks(me, at, rest);
        team_barrier();
    }
    team_clock_end();
}

/* The matrix, made again, times a random vector must be the lower triangle times the upper one times it. */
static bool verify(void)
{
    double *vector = workload_memory((size_t)order * sizeof(double));
    double *upper = workload_memory((size_t)order * sizeof(double));
    double *row = workload_memory((size_t)order * sizeof(double));
    uint64_t state = RANDOM_SEED + 2;

    for (long i = 0; i < order; i++)
        vector[i] = random_next(&state);
    for (long i = 0; i < order; i++) {
        for (long k = i; k < order; k++)
            upper[i] += row_of(i)[k] * vector[k];
    }
    for (long i = 0; i < order; i++) {
        double right = 0.0;
        double value = upper[i];

        rows_make(row, i, i + 1);
        for (long k = 0; k < order; k++)
            right += row[k] * vector[k];
        for (long k = 0; k < i; k++)
            value += row_of(i)[k] * upper[k];
        if (!workload_near("lud: row of the product", value, right, TOLERANCE))
            return false;
    }
    return true;
}

static double operations(void)
{
    return 2.0 / 3.0 * (double)order * (double)order * (double)order;
}

const struct workload workload_lud = {"lud",     "LU decomposition of a dense matrix", "flops", setup, run, verify,
                                      operations};
