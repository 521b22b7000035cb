/* membarrier(2): a fence for the threads of one process, or of all (mm/change/fence.c). A program registers for the
 * expedited commands, as under Linux. Its home stores the registrations; the other kernels that host it cache them. */
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

/* Returns 0 if the process has registered for BIT, else -EPERM. */
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
    if (group->process == NULL) /* not cached at home, where exec would have to clear it */
        __atomic_fetch_or(&group->barriers, bit, __ATOMIC_RELAXED);
    return 0;
}

/* Also serves SYNC_CORE: the fence flushes TLBs, and after that a CPU sees changed code. */
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
    case GLOBAL_EXPEDITED: /* reaches processes that have not registered, too */
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
