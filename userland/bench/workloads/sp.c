/* SP: a fluid's equations by steps that solve scalar pentadiagonal systems in each direction in turn, after the NAS
 * Parallel Benchmarks (RNR-94-007, section 4). Members share the planes: in z direction those of y.
 *
 * Before the systems of a direction the right-hand side is brought to the variables in which its flux is diagonal:
 * three of these move with the fluid, one with and one against the sound. */
#include <math.h>
#include <string.h>

#include "userland/bench/workloads/cfd.h"
#include "userland/bench/workloads/cfd_solver.h"
#include "userland/bench/workloads/team.h"
#include "userland/bench/workloads/workload.h"

#define BANDS 5

static const struct cfd_class classes[] = {
    {12,
     100,
     0.015,
     {2.7470315451339479e-02, 1.0360746705285417e-02, 1.6235745065095532e-02, 1.5840557224455615e-02,
      3.4849040609362460e-02},
     {2.7289258557377227e-05, 1.0364446640837285e-05, 1.6154798287166471e-05, 1.5750704994480102e-05,
      3.4177666183390531e-05}},
    {36,
     400,
     0.0015,
     {0.1893253733584e-02, 0.1717075447775e-03, 0.2778153350936e-03, 0.2887475409984e-03, 0.3143611161242e-02},
     {0.7542088599534e-04, 0.6512852253086e-05, 0.1049092285688e-04, 0.1128838671535e-04, 0.1212845639773e-03}},
    {64,
     400,
     0.0015,
     {2.4799822399300195, 1.1276337964368832, 1.5028977888770491, 1.4217816211695179, 2.1292113035138280},
     {1.0900140297820550e-04, 3.7343951769282091e-05, 5.0092785406541633e-05, 4.7671093939528255e-05,
      1.3621613399213001e-04}},
    {102,
     400,
     0.001,
     {0.6903293579998e+02, 0.3095134488084e+02, 0.4103336647017e+02, 0.3864769009604e+02, 0.5643482272596e+02},
     {0.9810006190188e-02, 0.1022827905670e-02, 0.1720597911692e-02, 0.1694479428231e-02, 0.1847456263981e-01}},
};

static bool setup(char name)
{
    return cfd_choose(classes, name);
}

static double speed_of_sound(long p)
{
    return sqrt(CFD_C1 * CFD_C2 * cfd_derived[p].inverse * (cfd_u[p][4] - cfd_derived[p].square));
}

/* From the equations' variables to those of the x direction. */
static void to_x(long p)
{
    const struct cfd_derived *d = &cfd_derived[p];
    const double *v = d->velocity;
    double *r = cfd_rhs[p];
    double sound = speed_of_sound(p);
    double pressure = CFD_C2 / (sound * sound) * (d->qs * r[0] - v[0] * r[1] - v[1] * r[2] - v[2] * r[3] + r[4]);
    double along = M_SQRT1_2 * d->inverse * (v[0] * r[0] - r[1]);
    double around = M_SQRT1_2 * d->inverse * sound * pressure;
    cfd_vector to = {r[0] - pressure, -d->inverse * (v[2] * r[0] - r[3]), d->inverse * (v[1] * r[0] - r[2]),
                     around - along, around + along};

    memcpy(r, to, sizeof(to));
}

static void x_to_y(cfd_vector r)
{
    double half = 0.5 * (r[3] + r[4]);
    cfd_vector to = {-r[1], r[0], M_SQRT1_2 * (r[3] - r[4]), half - M_SQRT1_2 * r[2], half + M_SQRT1_2 * r[2]};

    memcpy(r, to, sizeof(to));
}

static void y_to_z(cfd_vector r)
{
    double half = 0.5 * (r[3] + r[4]);
    cfd_vector to = {M_SQRT1_2 * (r[3] - r[4]), -r[2], r[1], half - M_SQRT1_2 * r[0], half + M_SQRT1_2 * r[0]};

    memcpy(r, to, sizeof(to));
}

/* From the variables of the z direction back. */
static void from_z(long p)
{
    const struct cfd_derived *d = &cfd_derived[p];
    const double *v = d->velocity;
    double *r = cfd_rhs[p];
    double density = cfd_u[p][0];
    double sound = speed_of_sound(p);
    double around = M_SQRT1_2 * density / sound * (r[3] + r[4]);
    double mass = r[2] + around;
    double along = M_SQRT1_2 * density * (r[3] - r[4]);
    cfd_vector to = {mass, v[0] * mass - density * r[1], v[1] * mass + density * r[0], v[2] * mass + along,
                     density * (v[1] * r[0] - v[0] * r[1]) + d->qs * mass + sound * sound / CFD_C2 * around +
                         v[2] * along};

    memcpy(r, to, sizeof(to));
}

/* How fast what moves with the fluid diffuses: the greatest of all variables'. */
static double spread_of(int direction, long p)
{
    double viscous = CFD_C3C4 * cfd_derived[p].inverse;

    return cfd_diffusion[direction] + fmax(CFD_CON43 * viscous, CFD_C1345 / CFD_C3C4 * viscous);
}

/* The rows of the line from P on: of a variable that moves with the fluid and SOUND times the speed of sound. */
static void rows_make(int direction, long p, double sound, double (*row)[BANDS])
{
    const long step = cfd_stride(direction);
    const long last = cfd_side - 2;
    const double width = cfd_side - 1;
    const double once = cfd_class->time_step * width / 2.0;
    const double twice = cfd_class->time_step * width * width;
    const double dissipation = cfd_class->time_step * CFD_DISSIPATION;

    for (long i = 1; i <= last; i++) {
        long before = p + (i - 1) * step;
        long after = p + (i + 1) * step;
        double *to = row[i];

        to[0] = i > 2 ? dissipation : 0.0;
        to[1] = -once * (cfd_derived[before].velocity[direction] + sound * speed_of_sound(before)) -
                twice * spread_of(direction, before) - (i > 1 ? 4.0 * dissipation : 0.0);
        to[2] = 1.0 + 2.0 * twice * spread_of(direction, p + i * step) +
                (i == 1 || i == last ? 5.0 : 6.0) * dissipation;
        to[3] = once * (cfd_derived[after].velocity[direction] + sound * speed_of_sound(after)) -
                twice * spread_of(direction, after) - (i < last ? 4.0 * dissipation : 0.0);
        to[4] = i < last - 1 ? dissipation : 0.0;
    }
}

/* Eliminates and substitutes back, for COUNT variables from number VARIABLE on. The ends of the line are 0. */
static void line_solve(int direction, long p, double (*row)[BANDS], int variable, int count)
{
    const long step = cfd_stride(direction);
    const long last = cfd_side - 2;

    for (long i = 1; i <= last; i++) {
        double *own = row[i];
        double inverse = 1.0 / own[2];

        own[3] *= inverse;
        own[4] *= inverse;
        for (int m = variable; m < variable + count; m++)
            cfd_rhs[p + i * step][m] *= inverse;
        for (long next = i + 1; next <= last && next <= i + 2; next++) {
            int from = next == i + 1 ? 1 : 0;
            double factor = row[next][from];

            row[next][from + 1] -= factor * own[3];
            row[next][from + 2] -= factor * own[4];
            for (int m = variable; m < variable + count; m++)
                cfd_rhs[p + next * step][m] -= factor * cfd_rhs[p + i * step][m];
        }
    }
    for (long i = last; i >= 1; i--) {
        for (int m = variable; m < variable + count; m++) {
            double *to = &cfd_rhs[p + i * step][m];

            if (i < last)
                *to -= row[i][3] * cfd_rhs[p + (i + 1) * step][m];
            if (i < last - 1)
                *to -= row[i][4] * cfd_rhs[p + (i + 2) * step][m];
        }
    }
}

static void line(int direction, long p)
{
    double row[CFD_SIDE_MAX][BANDS];

    rows_make(direction, p, 0.0, row);
    line_solve(direction, p, row, 0, 3);
    rows_make(direction, p, 1.0, row);
    line_solve(direction, p, row, 3, 1);
    rows_make(direction, p, -1.0, row);
    line_solve(direction, p, row, 4, 1);
}

/* Of the plane Z: x, then y. */
static void plane_solve(long z)
{
    for (long y = 1; y < cfd_side - 1; y++) {
        for (long x = 1; x < cfd_side - 1; x++)
            to_x(cfd_point(x, y, z));
        line(0, cfd_point(0, y, z));
        for (long x = 1; x < cfd_side - 1; x++)
            x_to_y(cfd_rhs[cfd_point(x, y, z)]);
    }
    for (long x = 1; x < cfd_side - 1; x++) {
        line(1, cfd_point(x, 0, z));
        for (long y = 1; y < cfd_side - 1; y++)
            y_to_z(cfd_rhs[cfd_point(x, y, z)]);
    }
}

static void step_make(int me)
{
    long first;
    long end;

    cfd_residual(me, cfd_class->time_step);
    cfd_part(me, &first, &end);
    for (long z = first; z < end; z++)
        plane_solve(z);
    team_barrier();
    for (long y = first; y < end; y++) {
        for (long x = 1; x < cfd_side - 1; x++)
            line(2, cfd_point(x, y, 0));
    }
    team_barrier();
    for (long z = first; z < end; z++) {
        for (long y = 1; y < cfd_side - 1; y++) {
            for (long x = 1; x < cfd_side - 1; x++) {
                long p = cfd_point(x, y, z);

                from_z(p);
                for (int m = 0; m < CFD_VARIABLES; m++)
                    cfd_u[p][m] += cfd_rhs[p][m];
            }
        }
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
    return cfd_verify("sp", 1.0 / cfd_class->time_step);
}

/* The official estimate. */
static double operations(void)
{
    double n = cfd_class->side;

    return cfd_class->steps * (881.174 * n * n * n - 4683.91 * n * n + 11484.5 * n - 19272.4);
}

const struct workload workload_sp = {"sp",      "a fluid by scalar pentadiagonal systems", "flops", setup, run, verify,
                                     operations};
