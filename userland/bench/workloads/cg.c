/* CG: the smallest eigenvalue of a sparse matrix by inverse iteration with conjugate gradients, after the NAS Parallel
 * Benchmarks (RNR-94-007, section 2.3.4). Members share the rows. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "userland/bench/workloads/random.h"
#include "userland/bench/workloads/team.h"
#include "userland/bench/workloads/workload.h"

#define INNER 25 /* iterations of a conjugate gradient */
#define CONDITION 0.1
#define NONZERO_MAX 16
#define TOLERANCE 1e-10

static const struct size {
    int rows;
    int nonzero; /* of each generating vector */
    int iterations;
    double shift;
    double zeta; /* the official result */
} sizes[] = {
    {1400, 7, 15, 10.0, 8.5971775078648},
    {7000, 8, 15, 12.0, 10.362595087124},
    {14000, 11, 15, 20.0, 17.130235054029},
    {75000, 13, 75, 60.0, 22.712745482631},
};

/* A generating vector: the matrix is the weighted sum of the outer products of all. */
struct sparse {
    int count;
    int at[NONZERO_MAX];
    double value[NONZERO_MAX];
};

static const struct size *size;
static int rows;
static long *row_begin; /* of row r in the next two; row_begin[rows] is their length */
static int *column;
static double *value;
static double *x, *z, *p, *q, *r;
static double zeta;

static int sparse_find(const struct sparse *vector, int at)
{
    for (int i = 0; i < vector->count; i++) {
        if (vector->at[i] == at)
            return i;
    }
    return -1;
}

/* Vector number OWN, the next of the random sequence in *STATE. */
static void sparse_make(struct sparse *vector, int own, uint64_t *state)
{
    int power = 1;
    int at;

    while (power < rows)
        power *= 2;
    vector->count = 0;
    while (vector->count < size->nonzero) {
        double element = random_next(state);

        at = (int)(power * random_next(state));
        if (at >= rows || sparse_find(vector, at) >= 0)
            continue;
        vector->at[vector->count] = at;
        vector->value[vector->count++] = element;
    }
    at = sparse_find(vector, own);
    if (at < 0) {
        at = vector->count++;
        vector->at[at] = own;
    }
    vector->value[at] = 0.5;
}

/* Adds to element (ROW, AT): columns of a row are in order, and USED of its places are taken. */
static void element_add(long row, int *used, int at, double add)
{
    long begin = row_begin[row];
    long place = begin;
    long end = begin + *used;

    while (place < end && column[place] < at)
        place++;
    if (place == end || column[place] != at) {
        memmove(&column[place + 1], &column[place], (size_t)(end - place) * sizeof(*column));
        memmove(&value[place + 1], &value[place], (size_t)(end - place) * sizeof(*value));
        column[place] = at;
        value[place] = 0.0;
        ++*used;
    }
    value[place] += add;
}

static void outer_add(const struct sparse *vector, int own, double weight, int *used)
{
    for (int i = 0; i < vector->count; i++) {
        for (int k = 0; k < vector->count; k++) {
            double add = vector->value[k] * (weight * vector->value[i]);

            if (vector->at[i] == own && vector->at[k] == own)
                add += CONDITION - size->shift;
            element_add(vector->at[i], &used[vector->at[i]], vector->at[k], add);
        }
    }
}

/* Closes the gaps that equal elements have left. */
static void rows_pack(const int *used)
{
    long to = 0;

    for (int row = 0; row < rows; row++) {
        long from = row_begin[row];

        memmove(&column[to], &column[from], (size_t)used[row] * sizeof(*column));
        memmove(&value[to], &value[from], (size_t)used[row] * sizeof(*value));
        row_begin[row] = to;
        to += used[row];
    }
    row_begin[rows] = to;
}

static void matrix_make(void)
{
    struct sparse *vectors = workload_memory((size_t)rows * sizeof(*vectors));
    int *used = workload_memory((size_t)rows * sizeof(*used));
    uint64_t state = RANDOM_SEED;
    double ratio = pow(CONDITION, 1.0 / rows);
    double weight = 1.0;

    random_next(&state); /* the specification's program takes one number before */
    row_begin = workload_memory((size_t)(rows + 1) * sizeof(*row_begin));
    for (int i = 0; i < rows; i++)
        sparse_make(&vectors[i], i, &state);
    for (int i = 0; i < rows; i++) {
        for (int k = 0; k < vectors[i].count; k++)
            row_begin[vectors[i].at[k] + 1] += vectors[i].count;
    }
    for (int row = 0; row < rows; row++)
        row_begin[row + 1] += row_begin[row];
    column = workload_memory((size_t)row_begin[rows] * sizeof(*column));
    value = workload_memory((size_t)row_begin[rows] * sizeof(*value));
    for (int i = 0; i < rows; i++) {
        outer_add(&vectors[i], i, weight, used);
        weight *= ratio;
    }
    rows_pack(used);
}

static bool setup(char name)
{
    int number = workload_class(name);
    double **vectors[] = {&x, &z, &p, &q, &r};

    if (number < 0)
        return false;
    size = &sizes[number];
    rows = size->rows;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++)
        *vectors[i] = workload_memory((size_t)rows * sizeof(double));
    matrix_make();
    return true;
}

/* TO = matrix FROM, of rows FIRST to END. */
static void multiply(double *to, const double *from, long first, long end)
{
    for (long row = first; row < end; row++) {
        double sum = 0.0;

        for (long i = row_begin[row]; i < row_begin[row + 1]; i++)
            sum += value[i] * from[column[i]];
        to[row] = sum;
    }
}

static double product(int me, const double *a, const double *b, long first, long end)
{
    double sum = 0.0;

    for (long i = first; i < end; i++)
        sum += a[i] * b[i];
    return team_sum(me, sum);
}

/* z = matrix^-1 x, nearly. */
static void solve(int me, long first, long end)
{
    double rho;

    for (long i = first; i < end; i++) {
        q[i] = z[i] = 0.0;
        r[i] = p[i] = x[i];
    }
    rho = product(me, r, r, first, end);
    for (int inner = 0; inner < INNER; inner++) {
        double before = rho;
        double alpha;

        multiply(q, p, first, end);
        alpha = rho / product(me, p, q, first, end);
        for (long i = first; i < end; i++) {
            z[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        rho = product(me, r, r, first, end);
        for (long i = first; i < end; i++)
            p[i] = r[i] + rho / before * p[i];
        team_barrier();
    }
}

static void iterate(int me, long first, long end)
{
    double with_x;
    double norm;

    solve(me, first, end);
    with_x = product(me, x, z, first, end);
    norm = 1.0 / sqrt(product(me, z, z, first, end));
    if (me == 0)
        zeta = size->shift + 1.0 / with_x;
    for (long i = first; i < end; i++)
        x[i] = norm * z[i];
}

/* In three stages: the thesis's program moves its threads there and back twice, and there. */
static void run(int me)
{
    int third = size->iterations / 3;
    long first;
    long end;

    team_range(me, rows, &first, &end);
    for (long i = first; i < end; i++)
        x[i] = 1.0;
    team_barrier();
    iterate(me, first, end);
    for (long i = first; i < end; i++)
        x[i] = 1.0;
    team_clock_begin();
    for (int i = 0; i < size->iterations; i++) {
        if (i % third == 0)
            team_stage_begin(me);
        iterate(me, first, end);
        if (i % third == third - 1 && i + 1 < size->iterations)
            team_stage_end(me);
    }
    team_clock_end();
}

static bool verify(void)
{
    return workload_near("cg: zeta", zeta, size->zeta, TOLERANCE);
}

static double operations(void)
{
    double terms = (double)size->nonzero * (size->nonzero + 1);

    return 2.0 * size->iterations * rows * (3.0 + terms + INNER * (5.0 + terms) + 3.0);
}

const struct workload workload_cg = {"cg", "conjugate gradient", "flops", setup, run, verify, operations};
