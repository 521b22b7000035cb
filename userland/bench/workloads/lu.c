/* LU: a fluid's equations by symmetric successive over-relaxation, after the NAS Parallel Benchmarks (RNR-94-007,
 * section 4). A point of the lower sweep needs its neighbours before it in all directions, so members, which share the
 * rows of y, follow each other plane by plane: each waits until the one before it has done the plane, and tells the
 * next; in the upper sweep the other way round. They tell by semaphores, so that who waits does not keep a CPU. */
#include <semaphore.h>
#include <string.h>

#include "userland/bench/workloads/cfd.h"
#include "userland/bench/workloads/cfd_solver.h"
#include "userland/bench/workloads/team.h"
#include "userland/bench/workloads/workload.h"

#define RELAXATION 1.2
#define TOLERANCE 1e-8
#define LINE 64

static const struct cfd_class classes[] = {
    {12,
     50,
     0.5,
     {1.6196343210976702e-02, 2.1976745164821318e-03, 1.5179927653399185e-03, 1.5029584435994323e-03,
      3.4264073155896461e-02},
     {6.4223319957960924e-04, 8.4144342047347926e-05, 5.8588269616485186e-05, 5.8474222595157350e-05,
      1.3103347914111294e-03}},
    {33,
     300,
     1.5e-3,
     {0.1236511638192e+02, 0.1317228477799e+01, 0.2550120713095e+01, 0.2326187750252e+01, 0.2826799444189e+02},
     {0.4867877144216e+00, 0.5064652880982e-01, 0.9281818101960e-01, 0.8570126542733e-01, 0.1084277417792e+01}},
    {64,
     250,
     2.0,
     {7.7902107606689367e+02, 6.3402765259692870e+01, 1.9499249727292479e+02, 1.7845301160418537e+02,
      1.8384760349464247e+03},
     {2.9964085685471943e+01, 2.8194576365003349e+00, 7.3473412698774742e+00, 6.7139225687777051e+00,
      7.0715315688392578e+01}},
    {102,
     250,
     2.0,
     {3.5532672969982736e+03, 2.6214750795310692e+02, 8.8333721850952190e+02, 7.7812774739425265e+02,
      7.3087969592545314e+03},
     {1.1401176380212709e+02, 8.1098963655421574e+00, 2.8480597317698308e+01, 2.5905394567832939e+01,
      2.6054907504857413e+02}},
};

/* The official integral over the surface, of each class. */
static const double surfaces[] = {7.8418928865937083e+00, 0.1161399311023e+02, 2.6030925604886277e+01,
                                  4.7887162703308227e+01};

/* Of each member: planes that the neighbour it follows has done, and it has not. In a cache line each. */
static struct {
    _Alignas(LINE) sem_t planes;
} ready[TEAM_MAX];

static bool setup(char name)
{
    if (!cfd_choose(classes, name))
        return false;
    for (int me = 0; me < TEAM_MAX; me++) {
        if (sem_init(&ready[me].planes, 0, 0) != 0)
            return false;
    }
    return true;
}

/* Adds the matrix of the neighbour at P in DIRECTION times its right-hand side. SIGN: -1 of the one before, 1 of the
 * one after. */
static void neighbour_add(int direction, double sign, long p, cfd_vector to)
{
    const double width = cfd_side - 1;
    const double once = cfd_class->time_step * width / 2.0;
    const double twice = cfd_class->time_step * width * width;
    const double *rhs = cfd_rhs[p];
    cfd_matrix flux;
    cfd_matrix viscous;

    cfd_jacobians(direction, cfd_u[p], flux, viscous);
    for (int row = 0; row < CFD_VARIABLES; row++) {
        for (int column = 0; column < CFD_VARIABLES; column++)
            to[row] += (sign * once * flux[row][column] - twice * viscous[row][column]) * rhs[column];
        to[row] -= twice * cfd_diffusion[direction] * rhs[row];
    }
}

static void diagonal_make(long p, cfd_matrix own)
{
    const double width = cfd_side - 1;
    const double twice = 2.0 * cfd_class->time_step * width * width;
    cfd_matrix flux;
    cfd_matrix viscous;

    memset(own, 0, sizeof(cfd_matrix));
    for (int direction = 0; direction < CFD_DIRECTIONS; direction++) {
        cfd_jacobians(direction, cfd_u[p], flux, viscous);
        for (int row = 0; row < CFD_VARIABLES; row++) {
            for (int column = 0; column < CFD_VARIABLES; column++)
                own[row][column] += twice * viscous[row][column];
            own[row][row] += twice * cfd_diffusion[direction];
        }
    }
    for (int row = 0; row < CFD_VARIABLES; row++)
        own[row][row] += 1.0;
}

/* The point P of the lower sweep (SIGN -1) or the upper one (1). Neighbours on the boundary are 0. */
static void point_relax(long p, double sign)
{
    double *rhs = cfd_rhs[p];
    cfd_vector sum = {0};
    cfd_matrix own;

    for (int direction = 0; direction < CFD_DIRECTIONS; direction++)
        neighbour_add(direction, sign, p + (sign < 0.0 ? -1 : 1) * cfd_stride(direction), sum);
    diagonal_make(p, own);
    if (sign < 0.0) {
        for (int m = 0; m < CFD_VARIABLES; m++)
            rhs[m] -= RELAXATION * sum[m];
        cfd_solve(own, NULL, rhs);
    } else {
        for (int m = 0; m < CFD_VARIABLES; m++)
            sum[m] *= RELAXATION;
        cfd_solve(own, NULL, sum);
        for (int m = 0; m < CFD_VARIABLES; m++)
            rhs[m] -= sum[m];
    }
}

static bool is_member(int me)
{
    return me >= 0 && me < team_members();
}

/* Waits until member BEFORE, if there is one, has done another plane. */
static void plane_wait(int me, int before)
{
    while (is_member(before) && sem_wait(&ready[me].planes) != 0)
        continue; /* interrupted */
}

static void plane_tell(int after)
{
    if (is_member(after))
        sem_post(&ready[after].planes);
}

static void lower_sweep(int me)
{
    const long last = cfd_side - 2;
    long first;
    long end;

    cfd_part(me, &first, &end);
    for (long z = 1; z <= last; z++) {
        plane_wait(me, me - 1);
        for (long y = first; y < end; y++) {
            for (long x = 1; x <= last; x++)
                point_relax(cfd_point(x, y, z), -1.0);
        }
        plane_tell(me + 1);
    }
}

static void upper_sweep(int me)
{
    const long last = cfd_side - 2;
    long first;
    long end;

    cfd_part(me, &first, &end);
    for (long z = last; z >= 1; z--) {
        plane_wait(me, me + 1);
        for (long y = end - 1; y >= first; y--) {
            for (long x = last; x >= 1; x--)
                point_relax(cfd_point(x, y, z), 1.0);
        }
        plane_tell(me - 1);
    }
}

static void step_make(int me)
{
    long first;
    long end;

    cfd_part(me, &first, &end);
    for (long p = cfd_point(0, 0, first); p < cfd_point(0, 0, end); p++) {
        for (int m = 0; m < CFD_VARIABLES; m++)
            cfd_rhs[p][m] *= cfd_class->time_step;
    }
    team_barrier();
    lower_sweep(me);
    team_barrier();
    upper_sweep(me);
    team_barrier();
    for (long p = cfd_point(0, 0, first); p < cfd_point(0, 0, end); p++) {
        for (int m = 0; m < CFD_VARIABLES; m++)
            cfd_u[p][m] += cfd_rhs[p][m] / (RELAXATION * (2.0 - RELAXATION));
    }
    team_barrier();
    cfd_residual(me, 1.0);
}

static void start(int me)
{
    cfd_start(me);
    cfd_residual(me, 1.0);
}

static void run(int me)
{
    cfd_run(me, start, step_make);
}

static double pressure(long p)
{
    const double *u = cfd_u[p];

    return CFD_C2 * (u[4] - 0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) / u[0]);
}

/* The pressure over the two faces of a box that cut direction AXIS, by the trapezoidal rule. The box is within LOW and
 * HIGH. */
static double faces(int axis, const long *low, const long *high)
{
    const int a = axis == 0 ? 1 : 0;
    const int b = axis == 2 ? 1 : 2;
    const double cell = 1.0 / ((cfd_side - 1) * (double)(cfd_side - 1));
    double sum = 0.0;

    for (int side = 0; side < 2; side++) {
        long base = (side == 0 ? low : high)[axis] * cfd_stride(axis);

        for (long j = low[b]; j < high[b]; j++) {
            for (long i = low[a]; i < high[a]; i++) {
                long p = base + i * cfd_stride(a) + j * cfd_stride(b);

                sum += pressure(p) + pressure(p + cfd_stride(a)) + pressure(p + cfd_stride(b)) +
                       pressure(p + cfd_stride(a) + cfd_stride(b));
            }
        }
    }
    return cell * sum;
}

static bool verify(void)
{
    const long low[CFD_DIRECTIONS] = {1, 1, 2};
    const long high[CFD_DIRECTIONS] = {cfd_side - 2, cfd_side - 3, cfd_side - 2};
    double surface = 0.25 * (faces(2, low, high) + faces(1, low, high) + faces(0, low, high));
    bool right = workload_near("lu: surface integral", surface, surfaces[cfd_class - classes], TOLERANCE);

    return cfd_verify("lu", 1.0) && right;
}

/* The official estimate. */
static double operations(void)
{
    double n = cfd_class->side;

    return cfd_class->steps * (1984.77 * n * n * n - 10923.3 * n * n + 27770.9 * n - 144010.0);
}

const struct workload workload_lu = {"lu",      "a fluid by successive over-relaxation", "flops", setup, run, verify,
                                     operations};
