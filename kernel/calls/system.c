/* System calls on the machine as a whole, and on limits. */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/calls/calls.h"
#include "kernel/fs/report.h"
#include "kernel/fs/table.h"
#include "kernel/lib/string.h"
#include "mm/space.h"
#include "tasks/facts.h"
#include "tasks/group.h"
#include "tasks/program.h"
#include "tasks/wire.h"

#define SECOND 1000000000ull
#define LIMITS 16u
#define LIMIT_STACK 3u
#define LIMIT_CORE 4u
#define LIMIT_FILES 7u

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
    struct linux_sysinfo info = {.unit = PAGE_SIZE};
    struct report_machine machine;

    report_machine(&machine);
    info.uptime = (int64_t)(clock_now() / SECOND);
    info.total_ram = machine.frames;
    info.free_ram = machine.free;
    info.processes = (uint16_t)(machine.threads < UINT16_MAX ? machine.threads : UINT16_MAX);
    return user_write(c->a[0], &info, sizeof(info));
}

struct limit { /* struct rlimit64 */
    uint64_t soft, hard;
};

/* What holds for every process. */
static struct limit limit_of(uint32_t which)
{
    switch (which) {
    case LIMIT_STACK:
        return (struct limit){PROGRAM_STACK_SIZE, PROGRAM_STACK_SIZE};
    case LIMIT_CORE:
        return (struct limit){0, 0};
    case LIMIT_FILES:
        return (struct limit){TABLE_MAX, TABLE_MAX};
    default:
        return (struct limit){UINT64_MAX, UINT64_MAX};
    }
}

/* No limit can be changed: to ask for another is refused, as where one has not the right. */
static int64_t set_limit(uint32_t which, uint64_t address)
{
    struct limit is = limit_of(which), wanted;

    if (user_read(&wanted, address, sizeof(wanted)) != 0)
        return -EFAULT;
    if (wanted.soft > wanted.hard)
        return -EINVAL;
    return wanted.soft == is.soft && wanted.hard == is.hard ? 0 : -EPERM;
}

static int64_t limits(uint32_t which, uint64_t set, uint64_t get)
{
    struct limit is = limit_of(which);
    int64_t error = 0;

    if (which >= LIMITS)
        return -EINVAL;
    if (set != 0)
        error = set_limit(which, set);
    return error == 0 && get != 0 ? user_write(get, &is, sizeof(is)) : error;
}

int64_t call_getrlimit(struct call *c)
{
    return c->a[1] == 0 ? -EFAULT : limits((uint32_t)c->a[0], 0, c->a[1]);
}

int64_t call_setrlimit(struct call *c)
{
    return c->a[1] == 0 ? -EFAULT : limits((uint32_t)c->a[0], c->a[1], 0);
}

int64_t call_prlimit64(struct call *c)
{
    struct process_facts process;

    if ((int32_t)c->a[0] < 0)
        return -ESRCH;
    if (c->a[0] != 0 && c->a[0] != thread_current()->group->id) {
        int error = process_facts_of((uint32_t)c->a[0], &process);

        if (error != 0)
            return error;
    }
    return limits((uint32_t)c->a[1], c->a[2], c->a[3]);
}

int64_t call_umask(struct call *c)
{
    struct msg_process_call call = {.id = thread_current()->group->id, .operation = PROCESS_UMASK, .a = c->a[0]};
    struct msg_process_result result;

    return process_call(&call, &result);
}
