/* The frame of LU, BT and SP. userland/bench/workloads/cfd_solver.h is the contract. */
#include "userland/bench/workloads/cfd_solver.h"

#include <stdio.h>

#include "userland/bench/workloads/team.h"
#include "userland/bench/workloads/workload.h"

#define TOLERANCE 1e-8

const struct cfd_class *cfd_class;

bool cfd_choose(const struct cfd_class *classes, char name)
{
    int row = workload_class(name);

    if (row < 0)
        return false;
    cfd_class = &classes[row];
    cfd_setup(cfd_class->side);
    return true;
}

void cfd_run(int me, void (*start)(int me), void (*step)(int me))
{
    start(me);
    step(me); /* brings the memory to where it is used, as the official programs do */
    start(me);
    team_clock_begin();
    team_stage_begin(me);
    for (int i = 0; i < cfd_class->steps; i++)
        step(me);
    team_stage_end(me);
    team_clock_end();
}

bool cfd_verify(const char *name, double scale)
{
    char what[64];
    cfd_vector rhs;
    cfd_vector difference;
    bool right = true;

    cfd_rhs_norm(rhs);
    cfd_error_norm(difference);
    for (int m = 0; m < CFD_VARIABLES; m++) {
        snprintf(what, sizeof(what), "%s: norm %d of the residual", name, m);
        right = workload_near(what, rhs[m] * scale, cfd_class->residual[m], TOLERANCE) && right;
        snprintf(what, sizeof(what), "%s: norm %d of the error", name, m);
        right = workload_near(what, difference[m], cfd_class->error[m], TOLERANCE) && right;
    }
    return right;
}
