/* Where a workload's pages are to be. userland/bench/workloads/mempolicy.h is the contract.
 *
 * A policy that is bound to nodes takes only those that there are: get_mempolicy tells which. */
#include "userland/bench/workloads/mempolicy.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NODES_MAX 1024 /* of Linux: it refuses a smaller mask */
#define WORD_BITS (8 * sizeof(unsigned long))

static const struct policy {
    const char *name;
    int mode;
    bool all;   /* nodes */
    bool first; /* node alone */
} policies[] = {
    {"default", MPOL_DEFAULT, false, false},
    {"local", MPOL_LOCAL, false, false},
    {"interleave", MPOL_INTERLEAVE, true, false},
    {"bind", MPOL_BIND, false, true},
};

static const struct policy *policy_find(const char *name)
{
    for (size_t i = 0; i < sizeof(policies) / sizeof(*policies); i++) {
        if (strcmp(policies[i].name, name) == 0)
            return &policies[i];
    }
    return NULL;
}

bool mempolicy_known(const char *name)
{
    return policy_find(name) != NULL;
}

bool mempolicy_set(const char *name)
{
    const struct policy *policy = policy_find(name);
    unsigned long nodes[NODES_MAX / WORD_BITS] = {0};
    const bool has_nodes = policy->all || policy->first;
    int mode;

    if (policy->first)
        nodes[0] = 1;
    if ((policy->all &&
         syscall(SYS_get_mempolicy, &mode, nodes, (long)NODES_MAX, NULL, (long)MPOL_F_MEMS_ALLOWED) != 0) ||
        syscall(SYS_set_mempolicy, (long)policy->mode, has_nodes ? nodes : NULL, has_nodes ? (long)NODES_MAX : 0L) !=
            0) {
        fprintf(stderr, "workload: --mempolicy %s: %s\n", name, strerror(errno));
        return false;
    }
    return true;
}
