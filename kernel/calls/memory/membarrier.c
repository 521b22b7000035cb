/* membarrier(2). A fence for the threads of one process, or for all: see mm/change/fence.c. A program registers for
 * what is meant to be quick, as under Linux; its home keeps that, and other kernels that it runs on remember it. */
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "mm/change/change.h"
#include "tasks/process/attribute.h"
#include "tasks/process/group.h"
#include "tasks/thread/thread.h"

#define GLOBAL 1u
#define GLOBAL_EXPEDITED 2u
#define REGISTER_GLOBAL_EXPEDITED 4u
#define PRIVATE_EXPEDITED 8u
#define REGISTER_PRIVATE_EXPEDITED 16u
#define PRIVATE_EXPEDITED_SYNC_CORE 32u
#define REGISTER_PRIVATE_EXPEDITED_SYNC_CORE 64u
#define ALL 127u

static int64_t register_for(uint32_t bit)
{
    int64_t old = process_attribute_set(ATTRIBUTE_BARRIERS, bit);

    return old < 0 ? old : 0;
}

/* 0, or -EPERM. */
static int64_t check(uint32_t bit)
{
    struct group *group = thread_current()->group;
    int64_t bits;

    if ((__atomic_load_n(&group->barriers, __ATOMIC_RELAXED) & bit) != 0)
        return 0;
    bits = process_attribute(ATTRIBUTE_BARRIERS);
    if (bits < 0)
        return bits;
    if (((uint32_t)bits & bit) == 0)
        return -EPERM;
    if (group->process == NULL) /* at home exec would have to end it */
        __atomic_fetch_or(&group->barriers, bit, __ATOMIC_RELAXED);
    return 0;
}

/* A flush of the TLB, which this is, also makes a CPU see changed code. */
static int64_t fence_private(uint32_t registered)
{
    int64_t error = check(registered);

    return error != 0 ? error : space_fence(group_space(thread_current()->group));
}

int64_t call_membarrier(struct call *c)
{
    if ((uint32_t)c->a[1] != 0)
        return -EINVAL;
    switch ((uint32_t)c->a[0]) {
    case 0:
        return ALL;
    case GLOBAL:
    case GLOBAL_EXPEDITED: /* also for those that have not registered */
        return space_fence_all();
    case REGISTER_GLOBAL_EXPEDITED:
    case REGISTER_PRIVATE_EXPEDITED:
    case REGISTER_PRIVATE_EXPEDITED_SYNC_CORE:
        return register_for((uint32_t)c->a[0]);
    case PRIVATE_EXPEDITED:
        return fence_private(REGISTER_PRIVATE_EXPEDITED);
    case PRIVATE_EXPEDITED_SYNC_CORE:
        return fence_private(REGISTER_PRIVATE_EXPEDITED_SYNC_CORE);
    default:
        return -EINVAL;
    }
}
