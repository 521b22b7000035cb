/* Resource limits. See the header. Each new limit is copied to the part that enforces it: the address space, the
 * descriptor table, or for CPU time a timer (tasks/timer/process). Only root raises hard limits. */
#include "tasks/process/limit.h"

#include "kernel/abi/errno.h"
#include "mm/space/limit.h"
#include "mm/space/space.h"
#include "tasks/process/call.h"
#include "tasks/process/process.h"
#include "tasks/quota/quota.h"

#define NOFILE_MOST (1u << 20) /* as Linux's nr_open */

void process_limits_init(struct process_limit limits[PROCESS_LIMITS])
{
    for (uint32_t i = 0; i < PROCESS_LIMITS; i++)
        limits[i] = (struct process_limit){LIMIT_NONE, LIMIT_NONE};
    limits[LIMIT_STACK].soft = SPACE_STACK_MAX;
    limits[LIMIT_CORE].soft = 0;
    limits[LIMIT_NPROC].soft = limits[LIMIT_NPROC].hard = quota_limit(QUOTA_TASKS);
    limits[LIMIT_SIGPENDING].soft = limits[LIMIT_SIGPENDING].hard = quota_limit(QUOTA_SIGNALS);
    limits[LIMIT_NOFILE] = (struct process_limit){1024, 4096};
    limits[LIMIT_MSGQUEUE] = (struct process_limit){819200, 819200};
    limits[LIMIT_NICE] = limits[LIMIT_RTPRIO] = (struct process_limit){0, 0};
}

void process_limits_copy_locked(struct group *group)
{
    const struct process_limit *limits = group->process->limits;
    struct space_limits space = {.stack = limits[LIMIT_STACK].soft,
                                 .data = limits[LIMIT_DATA].soft,
                                 .all = limits[LIMIT_AS].soft,
                                 .locked = limits[LIMIT_MEMLOCK].soft};

    if (group->space != NULL && group->pinned == NULL)
        space_set_limits(group->space, &space);
    if (group->files != NULL)
        group_hooks.limit_files(group->files, limits[LIMIT_NOFILE].soft, limits[LIMIT_FSIZE].soft);
}

void process_limits_apply(struct group *group)
{
    struct process_limit cpu;

    spin_lock(&group->lock);
    process_limits_copy_locked(group);
    cpu = group->process->limits[LIMIT_CPU];
    spin_unlock(&group->lock);
    group_hooks.limit_time(group, cpu.soft, cpu.hard);
}

int64_t process_limit_operate(struct group *group, const struct msg_process_call *call,
                              struct msg_process_result *result)
{
    struct process_limit *limit;
    uint32_t which = call->limit.which;
    bool sets = call->limit.sets != 0, lowers = call->limit.sets == PROCESS_LIMIT_LOWER;
    int64_t error = 0;

    if (which >= PROCESS_LIMITS || (sets && call->limit.is.soft > call->limit.is.hard))
        return -EINVAL;
    if (sets && which == LIMIT_NOFILE && call->limit.is.hard > NOFILE_MOST)
        return -EPERM;
    limit = &group->process->limits[which];
    spin_lock(&group->lock);
    result->limit = *limit;
    if (lowers && call->limit.is.hard > limit->hard)
        error = -EPERM;
    else if (sets)
        *limit = call->limit.is;
    spin_unlock(&group->lock);
    if (sets && error == 0)
        process_limits_apply(group);
    return error;
}
