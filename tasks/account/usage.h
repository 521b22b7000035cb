/* What a process has used of the machine, on all kernels together: CPU time, and what tasks/thread/account.h counts.
 */
#ifndef TASKS_ACCOUNT_USAGE_H
#define TASKS_ACCOUNT_USAGE_H

#include <stdint.h>

#include "tasks/thread/account.h"

struct usage {
    uint64_t user_ns, system_ns;                   /* of all its threads, those that have ended too */
    uint64_t children_user_ns, children_system_ns; /* of children that were waited for, and theirs */
    struct account_use use;                        /* of all its threads */
};

void usage_init(void);
/* Usage of the process ID. -ESRCH. Tasks only; asks the home and every kernel that has threads of it. */
int usage_of(uint32_t id, struct usage *out);
/* What it has moved through descriptors, its children that were waited for too; *PEAK: the most pages it has had, as
 * the sum of each kernel's most. As there. */
int usage_of_files(uint32_t id, struct account_io *io, uint64_t *peak);
/* Of children that were waited for. -ESRCH. Tasks only; asks the home. */
int usage_of_children(uint32_t id, struct account_used *out);

#endif
