/* CPU masks and kernels. See the header. These functions walk over all CPUs of the plan, so they are for calls that
 * change a mask, not for switches. */
#include "tasks/sched/cpu_mask.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "msg/channel.h"

static bool has(const uint64_t mask[CPUS_MAX / 64], uint32_t cpu)
{
    return (mask[cpu / 64] >> cpu % 64 & 1) != 0;
}

void cpu_mask_known(uint64_t mask[CPUS_MAX / 64], const uint64_t wanted[CPUS_MAX / 64])
{
    for (uint32_t i = 0; i < CPUS_MAX / 64; i++)
        mask[i] = 0;
    for (uint32_t cpu = 0; cpu < instance.plan.cpu_count; cpu++) {
        if (has(wanted, cpu) && instance.plan.cpus[cpu].kernel >= 0)
            mask[cpu / 64] |= 1ull << cpu % 64;
    }
}

void cpu_mask_all(uint64_t mask[CPUS_MAX / 64])
{
    uint64_t all[CPUS_MAX / 64];

    for (uint32_t i = 0; i < CPUS_MAX / 64; i++)
        all[i] = ~0ull;
    cpu_mask_known(mask, all);
}

bool cpu_mask_allows(const uint64_t mask[CPUS_MAX / 64], uint32_t kernel)
{
    for (uint32_t cpu = 0; cpu < instance.plan.cpu_count; cpu++) {
        if (has(mask, cpu) && instance.plan.cpus[cpu].kernel == (int32_t)kernel)
            return true;
    }
    return false;
}

static uint32_t distance(uint32_t kernel)
{
    uint32_t node = instance.plan.kernels[instance.kernel].node;

    return kernel == instance.kernel ? 0 : instance.plan.distance[node][instance.plan.kernels[kernel].node];
}

/* The nearest kernel with a CPU of MASK. HERE: this kernel is a candidate too. */
static int64_t nearest(const uint64_t mask[CPUS_MAX / 64], bool here)
{
    int64_t best = -EINVAL;

    for (uint32_t cpu = 0; cpu < instance.plan.cpu_count; cpu++) {
        int32_t kernel = instance.plan.cpus[cpu].kernel;

        if (!has(mask, cpu) || kernel < 0 ||
            (kernel == (int32_t)instance.kernel ? !here : !msg_peer_started((uint32_t)kernel)))
            continue;
        if (best < 0 || distance((uint32_t)kernel) < distance((uint32_t)best))
            best = kernel;
    }
    return best;
}

int64_t cpu_mask_nearest(const uint64_t mask[CPUS_MAX / 64])
{
    return nearest(mask, true);
}

int64_t cpu_mask_nearest_other(const uint64_t mask[CPUS_MAX / 64])
{
    return nearest(mask, false);
}
