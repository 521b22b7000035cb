/* What a process has used of the machine, on all kernels together. */
#ifndef TASKS_USAGE_H
#define TASKS_USAGE_H

#include <stdint.h>

struct usage {
    uint64_t user_ns, system_ns;                   /* of all its threads, those that have ended too */
    uint64_t children_user_ns, children_system_ns; /* of children that were waited for, and theirs */
};

void usage_init(void);
/* Usage of the process ID. -ESRCH. Tasks only; asks the home and every kernel that has threads of it. */
int usage_of(uint32_t id, struct usage *out);

#endif
