/* What LU, BT and SP share: the equations of a compressible fluid on a cube, as the specification of the NAS Parallel
 * Benchmarks (RNR-94-007, section 3) has them, with the exact solution that all three converge to. They differ in how
 * they solve for a step.
 *
 * Points are numbered x fastest, then y, then z. A point has five variables: density, three momenta, energy. Functions
 * that get ME are called by every member. */
#ifndef USERLAND_WORKLOADS_CFD_H
#define USERLAND_WORKLOADS_CFD_H

#define CFD_VARIABLES 5
#define CFD_DIRECTIONS 3
#define CFD_SIDE_MAX 102

/* Constants of the gas, as the specification numbers them. */
#define CFD_C1 1.4
#define CFD_C2 0.4
#define CFD_C3C4 0.1
#define CFD_C1345 0.196 /* c1 c3 c4 c5 */
#define CFD_CON43 (4.0 / 3.0)
#define CFD_DISSIPATION 0.25

typedef double cfd_vector[CFD_VARIABLES];
typedef double cfd_matrix[CFD_VARIABLES][CFD_VARIABLES];

/* Of the diffusion in each direction. */
extern const double cfd_diffusion[CFD_DIRECTIONS];

/* What follows from the variables of a point. */
struct cfd_derived {
    double inverse; /* 1 / density */
    double velocity[CFD_DIRECTIONS];
    double square; /* half the square of the momentum, over the density */
    double qs;     /* that over the density */
};

extern int cfd_side; /* points in each direction */
extern cfd_vector *cfd_u;
extern cfd_vector *cfd_rhs;
extern struct cfd_derived *cfd_derived;

/* Gets the memory for cubes of SIDE points. */
void cfd_setup(int side);

/* The start values and the forcing. With barriers; ends with one. */
void cfd_start(int me);

/* cfd_derived of all points, and cfd_rhs of all inside: (operator(u) + forcing) * FACTOR. With barriers; ends with one.
 */
void cfd_residual(int me, double factor);

/* The inner points of a direction: the member's part of 1 to side - 2. */
void cfd_part(int me, long *first, long *end);

/* Root mean squares over the inner points, of the difference to the exact solution and of cfd_rhs. By one thread. */
void cfd_error_norm(cfd_vector norm);
void cfd_rhs_norm(cfd_vector norm);

/* The Jacobians, at variables U, of the flux in DIRECTION and of its viscous part. */
void cfd_jacobians(int direction, const cfd_vector u, cfd_matrix flux, cfd_matrix viscous);

/* Solves MATRIX x = VECTOR and MATRIX X = BLOCK (which may be NULL) into these; MATRIX is destroyed. */
void cfd_solve(cfd_matrix matrix, cfd_matrix block, cfd_vector vector);

static inline long cfd_point(long x, long y, long z)
{
    return (z * cfd_side + y) * cfd_side + x;
}

/* The distance of neighbours in DIRECTION. */
static inline long cfd_stride(int direction)
{
    return direction == 0 ? 1 : direction == 1 ? cfd_side : (long)cfd_side * cfd_side;
}

#endif
