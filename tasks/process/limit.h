/* Resource limits of a process (getrlimit(2)), at its home; children inherit them and exec keeps them. CPU, FSIZE,
 * STACK, DATA, AS, NPROC, NOFILE, SIGPENDING, MSGQUEUE, NICE and RTPRIO are enforced; the others are only stored. */
#ifndef TASKS_PROCESS_LIMIT_H
#define TASKS_PROCESS_LIMIT_H

#include <stdint.h>

#include "tasks/process/operation.h"

#define PROCESS_LIMITS 16u
#define LIMIT_CPU 0u
#define LIMIT_FSIZE 1u
#define LIMIT_DATA 2u
#define LIMIT_STACK 3u
#define LIMIT_CORE 4u
#define LIMIT_NPROC 6u
#define LIMIT_NOFILE 7u
#define LIMIT_MEMLOCK 8u
#define LIMIT_AS 9u
#define LIMIT_SIGPENDING 11u
#define LIMIT_MSGQUEUE 12u
#define LIMIT_NICE 13u
#define LIMIT_RTPRIO 14u
#define LIMIT_NONE UINT64_MAX

struct process_limit { /* struct rlimit64 */
    uint64_t soft, hard;
};

/* The limits of the first process. */
void process_limits_init(struct process_limit limits[PROCESS_LIMITS]);
/* PROCESS_LIMIT: reads or sets a limit of GROUP, whose home this kernel is: -EINVAL, -EPERM. */
process_operation process_limit_operate;
/* Applies the limits of GROUP, whose home this kernel is, to its new memory, files and CPU time. No locks. */
void process_limits_apply(struct group *group);
/* The same without the CPU time, whose timer goes on. Its lock is held. */
void process_limits_copy_locked(struct group *group);

#endif
