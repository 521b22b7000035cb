/* The resources that a process has used on all kernels together: CPU time, and the counters of
 * tasks/thread/account.h. */
#ifndef TASKS_ACCOUNT_USAGE_H
#define TASKS_ACCOUNT_USAGE_H

#include <stdint.h>

#include "tasks/thread/account.h"

struct usage {
    uint64_t user_ns, system_ns; /* of all its threads, including those that have ended */
    uint64_t children_user_ns,
        children_system_ns; /* of children that were waited for, and of their waited-for children */
    struct account_use use; /* of all its threads */
};

void usage_init(void);
/* Usage of process ID. -ESRCH, -ENOMEM. Tasks only; waits for the home and every kernel that hosts it. */
int usage_of(uint32_t id, struct usage *out);
/* Bytes that process ID and its waited-for children have transferred through descriptors; *PEAK: the sum of the
 * kernels' maxima of its pages. Errors and waiting as above. */
int usage_of_files(uint32_t id, struct account_io *io, uint64_t *peak);
/* Usage of the children of process ID that were waited for. -ESRCH, -ENOMEM. Tasks only; waits for the home. */
int usage_of_children(uint32_t id, struct account_used *out);

#endif
