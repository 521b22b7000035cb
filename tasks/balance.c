/* Placement. See the header. */
#include "tasks/balance.h"

#include "boot/instance.h"
#include "tasks/cpu_mask.h"

uint32_t balance_place(const struct thread *parent, const uint64_t affinity[CPUS_MAX / 64], enum balance_event event)
{
    int64_t kernel = cpu_mask_allows(affinity, instance.kernel) ? instance.kernel : cpu_mask_nearest(affinity);

    (void)parent;
    (void)event;
    return kernel < 0 ? instance.kernel : (uint32_t)kernel;
}
