/* The frame of LU, BT and SP, which differ in what a step is: their classes, the timed part, the check. */
#ifndef USERLAND_WORKLOADS_CFD_SOLVER_H
#define USERLAND_WORKLOADS_CFD_SOLVER_H

#include <stdbool.h>

#include "userland/bench/workloads/cfd.h"

struct cfd_class {
    int side; /* points in each direction */
    int steps;
    double time_step;
    cfd_vector residual; /* the official norms after the last step */
    cfd_vector error;
};

extern const struct cfd_class *cfd_class; /* of this run: set by cfd_choose */

/* Chooses the class NAME of CLASSES, which are in the order of workload_class, and gets the memory; false if there is
 * none of this name. */
bool cfd_choose(const struct cfd_class *classes, char name);

/* All steps, timed, after one that is not. Called by every member; START sets the variables, STEP makes a step, and
 * both end with a barrier. */
void cfd_run(int me, void (*start)(int me), void (*step)(int me));

/* Whether both norms are the official ones; cfd_rhs times SCALE. */
bool cfd_verify(const char *name, double scale);

#endif
