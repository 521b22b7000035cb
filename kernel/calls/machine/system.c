/* System calls on the machine as a whole, and on limits. */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/calls/calls.h"
#include "kernel/fs/device/device.h"
#include "kernel/fs/proc/report.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "mm/retrieve/areas.h"
#include "mm/retrieve/wire.h"
#include "mm/space/space.h"
#include "mm/user/user_copy.h"
#include "tasks/process/call.h"
#include "tasks/process/group.h"
#include "tasks/process/permission.h"

#define RANDOM_FLAGS 7u /* NONBLOCK 1, RANDOM 2, INSECURE 4 */
#define RANDOM_MOST 5u  /* RANDOM and INSECURE exclude each other */

#define SECOND 1000000000ull
#define LOADS_SHIFT 16u /* SI_LOAD_SHIFT: load averages are fixed-point numbers */

struct linux_sysinfo { /* sysinfo(2) */
    int64_t uptime;
    uint64_t loads[3];
    uint64_t total_ram, free_ram, shared_ram, buffer_ram, total_swap, free_swap;
    uint16_t processes, pad;
    uint64_t total_high, free_high;
    uint32_t unit;
    uint32_t end;
};

_Static_assert(sizeof(struct linux_sysinfo) == 112, "Linux ABI");

int64_t call_sysinfo(struct call *c)
{
    struct linux_sysinfo info = {.unit = 1};
    struct report_machine machine;
    struct report_load load;
    int64_t error = report_load(&load);

    if (error != 0)
        return error;
    report_machine(&machine);
    for (uint32_t i = 0; i < LOAD_AVERAGES; i++)
        info.loads[i] = load.average[i] >> (LOAD_UNIT_SHIFT - LOADS_SHIFT);
    info.uptime = (int64_t)(clock_now() / SECOND);
    info.total_ram = machine.frames * PAGE_SIZE;
    info.free_ram = machine.free * PAGE_SIZE;
    info.processes = (uint16_t)(machine.threads < UINT16_MAX ? machine.threads : UINT16_MAX);
    return user_write(c->a[0], &info, sizeof(info));
}

/* Makes the home of process ID know all areas: the leases (mm/lease/lease.md) of its address space are recalled, and
 * none is granted again while its memory is limited. Waits for the kernels that hold leases. -ENOMEM. */
static int64_t know_areas(uint32_t id)
{
    const struct group *own = thread_current()->group;
    const struct space *space = id == own->id ? group_space(thread_current()->group) : NULL;
    struct msg_space_areas *areas = heap_alloc(MSG_MAX);
    int length = -ENOMEM;

    if (areas != NULL)
        length = space != NULL ? space_areas_recall(space->id, space->home, areas)
                               : space_areas_recall(id, process_home(id), areas);
    heap_free(areas, MSG_MAX);
    return length == -ENOMEM ? -ENOMEM : 0;
}

/* Sets limit WHICH of process ID to *NEW, unless NEW is NULL, and returns its old value in *OLD. */
static int64_t limit_call(uint32_t id, uint64_t which, const struct process_limit *new, struct process_limit *old)
{
    struct msg_process_call call = {.id = id, .type = MSG_PROCESS_LIMIT, .limit.which = (uint32_t)which};
    struct msg_process_result result;
    int64_t error;

    if (new != NULL) {
        call.limit.sets = credentials_need_root() == 0 ? PROCESS_LIMIT_SET : PROCESS_LIMIT_LOWER;
        call.limit.is = *new;
    }
    error = process_call(&call, &result);
    *old = result.limit;
    if (error == 0 && new != NULL &&new->soft != LIMIT_NONE && (which == LIMIT_AS || which == LIMIT_DATA))
        error = know_areas(id);
    return error;
}

int64_t call_getrlimit(struct call *c)
{
    struct process_limit is;
    int64_t error = limit_call(thread_current()->group->id, c->a[0], NULL, &is);

    return error != 0 ? error : user_write(c->a[1], &is, sizeof(is));
}

int64_t call_setrlimit(struct call *c)
{
    struct process_limit new, old;

    if (user_read(&new, c->a[1], sizeof(new)) != 0)
        return -EFAULT;
    return limit_call(thread_current()->group->id, c->a[0], &new, &old);
}

int64_t call_prlimit64(struct call *c)
{
    uint32_t id = c->a[0] != 0 ? (uint32_t)c->a[0] : thread_current()->group->id;
    struct process_limit new, old;
    int64_t error;

    if (c->a[2] != 0 && user_read(&new, c->a[2], sizeof(new)) != 0)
        return -EFAULT;
    error = (int32_t)id < 0 ? -ESRCH : credentials_may_reach(id, false);
    if (error == 0)
        error = limit_call(id, c->a[1], c->a[2] != 0 ? &new : NULL, &old);
    return error == 0 && c->a[3] != 0 ? user_write(c->a[3], &old, sizeof(old)) : error;
}

int64_t call_umask(struct call *c)
{
    struct msg_process_call call = {
        .id = thread_current()->group->id, .type = MSG_PROCESS_UMASK, .umask = c->a[0] & 0777};
    struct msg_process_result result;

    return process_call_surely(&call, &result); /* the call has no errors */
}

int64_t call_getrandom(struct call *c)
{
    uint64_t size = c->a[1] > 256 ? 256 : c->a[1];
    uint8_t bytes[256];

    if ((c->a[2] & ~(uint64_t)RANDOM_FLAGS) != 0 || (c->a[2] & RANDOM_FLAGS) > RANDOM_MOST)
        return -EINVAL;
    device_random(bytes, size);
    return user_write(c->a[0], bytes, size) != 0 ? -EFAULT : (int64_t)size;
}
