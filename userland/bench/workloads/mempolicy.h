/* Where a workload's pages are to be: --mempolicy, by set_mempolicy(2). */
#ifndef USERLAND_WORKLOADS_MEMPOLICY_H
#define USERLAND_WORKLOADS_MEMPOLICY_H

#include <stdbool.h>

#define MEMPOLICY_NAMES "default|local|interleave|bind"

/* Whether NAME is one of MEMPOLICY_NAMES. */
bool mempolicy_known(const char *name);

/* Gives the calling thread, and those that it makes from now on, the policy NAME: interleave over all nodes, bind to
 * the first. False, with a message on standard error, when the system refuses it. */
bool mempolicy_set(const char *name);

#endif
