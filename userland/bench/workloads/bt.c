/* BT: a fluid's equations by steps that solve block-tridiagonal systems in each direction in turn, after the NAS
 * Parallel Benchmarks (RNR-94-007, section 4). Members share the planes: in z direction those of y. */
#include <string.h>

#include "userland/bench/workloads/cfd.h"
#include "userland/bench/workloads/cfd_solver.h"
#include "userland/bench/workloads/team.h"
#include "userland/bench/workloads/workload.h"

static const struct cfd_class classes[] = {
    {12,
     60,
     0.010,
     {1.7034283709541311e-01, 1.2975252070034097e-02, 3.2527926989486055e-02, 2.6436421275166801e-02,
      1.9211784131744430e-01},
     {4.9976913345811579e-04, 4.5195666782961927e-05, 7.3973765172921357e-05, 7.3821238632439731e-05,
      8.9269630987491446e-04}},
    {24,
     200,
     0.0008,
     {0.1125590409344e+03, 0.1180007595731e+02, 0.2710329767846e+02, 0.2469174937669e+02, 0.2638427874317e+03},
     {0.4419655736008e+01, 0.4638531260002e+00, 0.1011551749967e+01, 0.9235878729944e+00, 0.1018045837718e+02}},
    {64,
     200,
     0.0008,
     {1.0806346714637264e+02, 1.1319730901220813e+01, 2.5974354511582465e+01, 2.3665622544678910e+01,
      2.5278963211748344e+02},
     {4.2348416040525025e+00, 4.4390282496995698e-01, 9.6692480136345650e-01, 8.8302063039765474e-01,
      9.7379901770829278e+00}},
    {102,
     200,
     0.0003,
     {1.4233597229287254e+03, 9.9330522590150238e+01, 3.5646025644535285e+02, 3.2485447959084092e+02,
      3.2707541254659363e+03},
     {5.2969847140936856e+01, 4.4632896115670668e+00, 1.3122573342210174e+01, 1.2006925323559144e+01,
      1.2459576151035986e+02}},
};

static bool setup(char name)
{
    return cfd_choose(classes, name);
}

/* The three blocks of a point's row, from the Jacobians of its neighbours and its own. */
static void blocks_make(int direction, const cfd_matrix *flux, const cfd_matrix *viscous, cfd_matrix left,
                        cfd_matrix own, cfd_matrix right)
{
    const double width = cfd_side - 1;
    const double once = cfd_class->time_step * width / 2.0;
    const double twice = cfd_class->time_step * width * width;

    for (int row = 0; row < CFD_VARIABLES; row++) {
        for (int column = 0; column < CFD_VARIABLES; column++) {
            double diagonal = row == column ? cfd_diffusion[direction] * twice : 0.0;

            left[row][column] = -once * flux[0][row][column] - twice * viscous[0][row][column] - diagonal;
            own[row][column] = (row == column ? 1.0 : 0.0) + 2.0 * twice * viscous[1][row][column] + 2.0 * diagonal;
            right[row][column] = once * flux[2][row][column] - twice * viscous[2][row][column] - diagonal;
        }
    }
}

static void vector_less(cfd_vector to, cfd_matrix matrix, const cfd_vector vector)
{
    for (int row = 0; row < CFD_VARIABLES; row++) {
        for (int column = 0; column < CFD_VARIABLES; column++)
            to[row] -= matrix[row][column] * vector[column];
    }
}

static void matrix_less(cfd_matrix to, cfd_matrix a, cfd_matrix b)
{
    for (int row = 0; row < CFD_VARIABLES; row++) {
        for (int k = 0; k < CFD_VARIABLES; k++) {
            for (int column = 0; column < CFD_VARIABLES; column++)
                to[row][column] -= a[row][k] * b[k][column];
        }
    }
}

/* Solves the line from the boundary point P on; its ends are 0 and stay so. */
static void line_solve(int direction, long p)
{
    const long step = cfd_stride(direction);
    cfd_matrix flux[CFD_SIDE_MAX];
    cfd_matrix viscous[CFD_SIDE_MAX];
    cfd_matrix right[CFD_SIDE_MAX];
    cfd_matrix left;
    cfd_matrix own;

    for (int i = 0; i < cfd_side; i++)
        cfd_jacobians(direction, cfd_u[p + i * step], flux[i], viscous[i]);
    for (int i = 1; i < cfd_side - 1; i++) {
        double *rhs = cfd_rhs[p + i * step];

        blocks_make(direction, &flux[i - 1], &viscous[i - 1], left, own, right[i]);
        if (i > 1) {
            vector_less(rhs, left, cfd_rhs[p + (i - 1) * step]);
            matrix_less(own, left, right[i - 1]);
        }
        cfd_solve(own, right[i], rhs);
    }
    for (int i = cfd_side - 3; i >= 1; i--)
        vector_less(cfd_rhs[p + i * step], right[i], cfd_rhs[p + (i + 1) * step]);
}

static void step_make(int me)
{
    long first;
    long end;

    cfd_residual(me, cfd_class->time_step);
    cfd_part(me, &first, &end);
    for (long z = first; z < end; z++) {
        for (long y = 1; y < cfd_side - 1; y++)
            line_solve(0, cfd_point(0, y, z));
        for (long x = 1; x < cfd_side - 1; x++)
            line_solve(1, cfd_point(x, 0, z));
    }
    team_barrier();
    for (long y = first; y < end; y++) {
        for (long x = 1; x < cfd_side - 1; x++)
            line_solve(2, cfd_point(x, y, 0));
    }
    team_barrier();
    for (long p = cfd_point(0, 0, first); p < cfd_point(0, 0, end); p++) {
        for (int m = 0; m < CFD_VARIABLES; m++)
            cfd_u[p][m] += cfd_rhs[p][m];
    }
    team_barrier();
}

static void run(int me)
{
    cfd_run(me, cfd_start, step_make);
    cfd_residual(me, cfd_class->time_step);
}

static bool verify(void)
{
    return cfd_verify("bt", 1.0 / cfd_class->time_step);
}

/* The official estimate. */
static double operations(void)
{
    double n = cfd_class->side;

    return cfd_class->steps * (3478.8 * n * n * n - 17655.7 * n * n + 28023.7 * n);
}

const struct workload workload_bt = {"bt",      "a fluid by block-tridiagonal systems", "flops", setup, run, verify,
                                     operations};
