/* The equations of LU, BT and SP. userland/bench/workloads/cfd.h is the contract.
 *
 * The forcing is what makes the exact solution a solution: the operator applied to it, with the sign turned. So one
 * function, residual_at, serves both. */
#include "userland/bench/workloads/cfd.h"

#include <math.h>
#include <string.h>

#include "userland/bench/workloads/team.h"
#include "userland/bench/workloads/workload.h"

#define TERMS 13

const double cfd_diffusion[CFD_DIRECTIONS] = {0.75, 0.75, 1.0};

int cfd_side;
cfd_vector *cfd_u;
cfd_vector *cfd_rhs;
struct cfd_derived *cfd_derived;
static cfd_vector *forcing;

/* Of the exact solution: 1, then x, y, z, then their squares, cubes and fourth powers. */
static const double exact_terms[CFD_VARIABLES][TERMS] = {
    {2.0, 0.0, 0.0, 4.0, 5.0, 3.0, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3},
    {1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5},
    {2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4},
    {2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3},
    {5.0, 4.0, 3.0, 2.0, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2},
};

void cfd_setup(int side)
{
    size_t points = (size_t)side * (size_t)side * (size_t)side;

    cfd_side = side;
    cfd_u = workload_memory(points * sizeof(*cfd_u));
    cfd_rhs = workload_memory(points * sizeof(*cfd_rhs));
    forcing = workload_memory(points * sizeof(*forcing));
    cfd_derived = workload_memory(points * sizeof(*cfd_derived));
}

void cfd_part(int me, long *first, long *end)
{
    team_range(me, cfd_side - 2, first, end);
    ++*first;
    ++*end;
}

/* The exact solution at a place of the unit cube. */
static void exact(double x, double y, double z, cfd_vector u)
{
    const double at[CFD_DIRECTIONS] = {x, y, z};

    for (int m = 0; m < CFD_VARIABLES; m++) {
        const double *term = exact_terms[m];

        u[m] = term[0];
        for (int d = 0; d < CFD_DIRECTIONS; d++)
            u[m] += at[d] * (term[1 + d] + at[d] * (term[4 + d] + at[d] * (term[7 + d] + at[d] * term[10 + d])));
    }
}

static double place(long index)
{
    return (double)index / (cfd_side - 1);
}

/* Between the exact values on the six faces: the transfinite interpolation of the specification. */
static void start_at(long x, long y, long z, cfd_vector u)
{
    const double at[CFD_DIRECTIONS] = {place(x), place(y), place(z)};
    cfd_vector between[CFD_DIRECTIONS];

    for (int d = 0; d < CFD_DIRECTIONS; d++) {
        double low[CFD_DIRECTIONS];
        double high[CFD_DIRECTIONS];
        cfd_vector low_u;
        cfd_vector high_u;

        memcpy(low, at, sizeof(low));
        memcpy(high, at, sizeof(high));
        low[d] = 0.0;
        high[d] = 1.0;
        exact(low[0], low[1], low[2], low_u);
        exact(high[0], high[1], high[2], high_u);
        for (int m = 0; m < CFD_VARIABLES; m++)
            between[d][m] = at[d] * high_u[m] + (1.0 - at[d]) * low_u[m];
    }
    for (int m = 0; m < CFD_VARIABLES; m++) {
        double a = between[0][m];
        double b = between[1][m];
        double c = between[2][m];

        u[m] = a + b + c - a * b - a * c - b * c + a * b * c;
    }
}

static bool inside(long index)
{
    return index > 0 && index < cfd_side - 1;
}

/* All points of the planes FIRST to END get start values, or the exact ones: on the boundary they are always these. */
static void planes_fill(long first, long end, bool all_exact)
{
    for (long z = first; z < end; z++) {
        for (long y = 0; y < cfd_side; y++) {
            for (long x = 0; x < cfd_side; x++) {
                if (all_exact || !inside(x) || !inside(y) || !inside(z))
                    exact(place(x), place(y), place(z), cfd_u[cfd_point(x, y, z)]);
                else
                    start_at(x, y, z, cfd_u[cfd_point(x, y, z)]);
            }
        }
    }
}

static void derive(long first, long end)
{
    for (long p = cfd_point(0, 0, first); p < cfd_point(0, 0, end); p++) {
        const double *u = cfd_u[p];
        struct cfd_derived *to = &cfd_derived[p];

        to->inverse = 1.0 / u[0];
        for (int d = 0; d < CFD_DIRECTIONS; d++)
            to->velocity[d] = u[1 + d] * to->inverse;
        to->square = 0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) * to->inverse;
        to->qs = to->square * to->inverse;
    }
}

/* The convection and diffusion of the point P in DIRECTION, whose neighbours are STEP apart, added to RHS. */
static void flux_add(long p, int direction, long step, cfd_vector rhs)
{
    const double width = cfd_side - 1;
    const double once = width / 2.0;    /* of a first difference */
    const double twice = width * width; /* of a second one */
    const double viscous = CFD_C3C4 * twice;
    const double *u = cfd_u[p];
    const double *before = cfd_u[p - step];
    const double *after = cfd_u[p + step];
    const struct cfd_derived *d = &cfd_derived[p];
    const struct cfd_derived *b = &cfd_derived[p - step];
    const struct cfd_derived *a = &cfd_derived[p + step];
    const double v = d->velocity[direction];
    const double vb = b->velocity[direction];
    const double va = a->velocity[direction];

    for (int m = 0; m < CFD_VARIABLES; m++)
        rhs[m] += cfd_diffusion[direction] * twice * (after[m] - 2.0 * u[m] + before[m]);
    rhs[0] -= once * (after[1 + direction] - before[1 + direction]);
    for (int k = 0; k < CFD_DIRECTIONS; k++) {
        rhs[1 + k] += viscous * (k == direction ? CFD_CON43 : 1.0) *
                          (a->velocity[k] - 2.0 * d->velocity[k] + b->velocity[k]) -
                      once * (after[1 + k] * va - before[1 + k] * vb);
    }
    rhs[1 + direction] -= once * CFD_C2 * (after[4] - a->square - before[4] + b->square);
    rhs[4] += viscous * (1.0 - CFD_C1345 / CFD_C3C4) * (a->qs - 2.0 * d->qs + b->qs) +
              viscous / 6.0 * (va * va - 2.0 * v * v + vb * vb) +
              CFD_C1345 * twice * (after[4] * a->inverse - 2.0 * u[4] * d->inverse + before[4] * b->inverse) -
              once * ((CFD_C1 * after[4] - CFD_C2 * a->square) * va - (CFD_C1 * before[4] - CFD_C2 * b->square) * vb);
}

/* The fourth difference at point P, number INDEX of its line: one-sided beside the boundary. */
static void dissipation_add(long p, long index, long step, cfd_vector rhs)
{
    const long last = cfd_side - 2;
    const double centre = index == 1 || index == last ? 5.0 : 6.0;

    for (int m = 0; m < CFD_VARIABLES; m++) {
        double sum = centre * cfd_u[p][m];

        if (index > 1)
            sum -= 4.0 * cfd_u[p - step][m];
        if (index > 2)
            sum += cfd_u[p - 2 * step][m];
        if (index < last)
            sum -= 4.0 * cfd_u[p + step][m];
        if (index < last - 1)
            sum += cfd_u[p + 2 * step][m];
        rhs[m] -= CFD_DISSIPATION * sum;
    }
}

static void residual_at(long x, long y, long z, cfd_vector rhs)
{
    const long index[CFD_DIRECTIONS] = {x, y, z};
    long p = cfd_point(x, y, z);

    for (int d = 0; d < CFD_DIRECTIONS; d++) {
        flux_add(p, d, cfd_stride(d), rhs);
        dissipation_add(p, index[d], cfd_stride(d), rhs);
    }
}

/* derived of all points: their planes are shared, the boundary's included. */
static void derive_all(int me)
{
    long first;
    long end;

    team_range(me, cfd_side, &first, &end);
    derive(first, end);
    team_barrier();
}

void cfd_residual(int me, double factor)
{
    long first;
    long end;

    derive_all(me);
    cfd_part(me, &first, &end);
    for (long z = first; z < end; z++) {
        for (long y = 1; y < cfd_side - 1; y++) {
            for (long x = 1; x < cfd_side - 1; x++) {
                double *rhs = cfd_rhs[cfd_point(x, y, z)];

                memcpy(rhs, forcing[cfd_point(x, y, z)], sizeof(cfd_vector));
                residual_at(x, y, z, rhs);
                for (int m = 0; m < CFD_VARIABLES; m++)
                    rhs[m] *= factor;
            }
        }
    }
    team_barrier();
}

void cfd_start(int me)
{
    long first;
    long end;

    team_range(me, cfd_side, &first, &end);
    planes_fill(first, end, true);
    memset(forcing[cfd_point(0, 0, first)], 0,
           (size_t)(cfd_point(0, 0, end) - cfd_point(0, 0, first)) * sizeof(*forcing));
    memset(cfd_rhs[cfd_point(0, 0, first)], 0,
           (size_t)(cfd_point(0, 0, end) - cfd_point(0, 0, first)) * sizeof(*cfd_rhs));
    team_barrier();
    cfd_residual(me, -1.0);
    cfd_part(me, &first, &end);
    for (long p = cfd_point(0, 0, first); p < cfd_point(0, 0, end); p++)
        memcpy(forcing[p], cfd_rhs[p], sizeof(*forcing));
    team_barrier();
    team_range(me, cfd_side, &first, &end);
    planes_fill(first, end, false);
    team_barrier();
}

static void norm_finish(cfd_vector norm)
{
    for (int m = 0; m < CFD_VARIABLES; m++)
        norm[m] = sqrt(norm[m] / pow(cfd_side - 2, CFD_DIRECTIONS));
}

static void norm_of(cfd_vector norm, bool of_error)
{
    memset(norm, 0, sizeof(cfd_vector));
    for (long z = 1; z < cfd_side - 1; z++) {
        for (long y = 1; y < cfd_side - 1; y++) {
            for (long x = 1; x < cfd_side - 1; x++) {
                cfd_vector right = {0};
                long p = cfd_point(x, y, z);

                if (of_error)
                    exact(place(x), place(y), place(z), right);
                for (int m = 0; m < CFD_VARIABLES; m++) {
                    double difference = (of_error ? cfd_u[p][m] : cfd_rhs[p][m]) - right[m];

                    norm[m] += difference * difference;
                }
            }
        }
    }
    norm_finish(norm);
}

void cfd_error_norm(cfd_vector norm)
{
    norm_of(norm, true);
}

void cfd_rhs_norm(cfd_vector norm)
{
    norm_of(norm, false);
}

static void jacobian_of_flux(int direction, const cfd_vector u, cfd_matrix flux)
{
    const int own = 1 + direction;
    const double inverse = 1.0 / u[0];
    const double v = u[own] * inverse;
    const double qs = 0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) * inverse * inverse;

    memset(flux, 0, sizeof(cfd_matrix));
    flux[0][own] = 1.0;
    for (int row = 1; row <= CFD_DIRECTIONS; row++) {
        flux[row][0] = -u[row] * inverse * v;
        flux[row][row] += v;
        flux[row][own] += u[row] * inverse;
    }
    flux[own][0] += CFD_C2 * qs;
    for (int column = 1; column <= CFD_DIRECTIONS; column++) {
        flux[own][column] -= CFD_C2 * u[column] * inverse;
        flux[4][column] = -CFD_C2 * u[column] * inverse * v;
    }
    flux[own][4] = CFD_C2;
    flux[4][0] = (CFD_C2 * 2.0 * qs - CFD_C1 * u[4] * inverse) * v;
    flux[4][own] += CFD_C1 * u[4] * inverse - CFD_C2 * qs;
    flux[4][4] = CFD_C1 * v;
}

static void jacobian_of_viscous(int direction, const cfd_vector u, cfd_matrix viscous)
{
    const double inverse = 1.0 / u[0];

    memset(viscous, 0, sizeof(cfd_matrix));
    for (int row = 1; row <= CFD_DIRECTIONS; row++) {
        double weight = CFD_C3C4 * (row == 1 + direction ? CFD_CON43 : 1.0);

        viscous[row][0] = -weight * u[row] * inverse * inverse;
        viscous[row][row] = weight * inverse;
        viscous[4][0] -= (weight - CFD_C1345) * u[row] * u[row] * inverse * inverse * inverse;
        viscous[4][row] = (weight - CFD_C1345) * u[row] * inverse * inverse;
    }
    viscous[4][0] -= CFD_C1345 * u[4] * inverse * inverse;
    viscous[4][4] = CFD_C1345 * inverse;
}

void cfd_jacobians(int direction, const cfd_vector u, cfd_matrix flux, cfd_matrix viscous)
{
    jacobian_of_flux(direction, u, flux);
    jacobian_of_viscous(direction, u, viscous);
}

void cfd_solve(cfd_matrix matrix, cfd_matrix block, cfd_vector vector)
{
    for (int k = 0; k < CFD_VARIABLES; k++) {
        double pivot = 1.0 / matrix[k][k];

        for (int column = k + 1; column < CFD_VARIABLES; column++)
            matrix[k][column] *= pivot;
        for (int column = 0; column < CFD_VARIABLES && block != NULL; column++)
            block[k][column] *= pivot;
        vector[k] *= pivot;
        for (int row = 0; row < CFD_VARIABLES; row++) {
            double factor = matrix[row][k];

            if (row == k)
                continue;
            for (int column = k + 1; column < CFD_VARIABLES; column++)
                matrix[row][column] -= factor * matrix[k][column];
            for (int column = 0; column < CFD_VARIABLES && block != NULL; column++)
                block[row][column] -= factor * block[k][column];
            vector[row] -= factor * vector[k];
        }
    }
}
