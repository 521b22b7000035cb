/* The steps of plan_compute; private to boot/plan/. They return the same values as plan_compute. */
#ifndef BOOT_PLAN_INTERNAL_H
#define BOOT_PLAN_INTERNAL_H

#include <stddef.h>

#include "boot/plan/plan.h"

/* Numbers the CPUs, reads the option and gives each kernel its CPUs and its node. */
int plan_assign_cpus(const struct plan_input *input, struct plan *out, char *error, size_t error_size);

#define PLAN_UNOWNED UINT32_MAX /* plan_range.kernel while the plan is being made */

/* Fills out->ranges with all memory that may be assigned, each range on one node, without owners. */
int plan_collect_free(const struct plan_input *input, struct plan *out);

/* Gives each kernel its memory; CPUs, nodes and distances of *OUT are set. */
int plan_assign_memory(const struct plan_input *input, struct plan *out, char *error, size_t error_size);

#endif
