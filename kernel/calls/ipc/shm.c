/* System calls on System V shared memory (kernel/ipc/sysv/shm.h). Kernel 0 has the segments; the calling process maps a
 * segment as it maps a file. */
#include "kernel/ipc/sysv/shm.h"

#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/ipc/ipc.h"
#include "kernel/calls/memory/lock_limit.h"
#include "kernel/file/permission.h"
#include "mm/area/backing.h"
#include "mm/change/change.h"
#include "mm/file/hold.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "mm/user/user_copy.h"
#include "tasks/process/group.h"
#include "tasks/thread/thread.h"

#define SECOND 1000000000ull

struct linux_shmid {
    struct linux_perm perm;
    uint64_t size;
    int64_t attached, detached, changed;
    int32_t creator, last;
    uint64_t attaches, unused[2];
};

struct linux_shminfo { /* IPC_INFO */
    uint64_t size_max, size_min, segments_max, attached_max, pages_max, unused[4];
};

struct linux_shm_info { /* SHM_INFO */
    int32_t used;
    uint64_t pages, resident, swapped, attempts, successes;
};

_Static_assert(sizeof(struct linux_shmid) == 112 && sizeof(struct linux_shminfo) == 72 &&
                   sizeof(struct linux_shm_info) == 48,
               "Linux ABI");

static struct space *own_space(void)
{
    return group_space(thread_current()->group);
}

int64_t call_shmget(struct call *c)
{
    struct ipc_call call = ipc_begin(IPC_SHM_GET, 0);
    struct shm_answer answer;

    call.key = (int32_t)c->a[0];
    call.a = (int64_t)c->a[1];
    call.flags = (uint32_t)c->a[2] & ~IPC_AGAIN;
    return shm_ask(&call, NULL, &answer);
}

/* Computes where shmat maps a segment, and how (enum space_map_how). -EINVAL. */
static int64_t find_place(uint64_t *address, uint32_t flags, uint32_t *how)
{
    *how = 0;
    if (*address == 0)
        return (flags & SHM_REMAP) != 0 ? -EINVAL : 0;
    if ((*address & (PAGE_SIZE - 1)) != 0 && (flags & SHM_ROUND) == 0)
        return -EINVAL;
    *address &= ~(PAGE_SIZE - 1);
    if (*address == 0 && (flags & SHM_REMAP) != 0)
        return -EINVAL;
    *how = (flags & SHM_REMAP) != 0 ? SPACE_MAP_FIXED : SPACE_MAP_KEEP;
    return 0;
}

int64_t call_shmat(struct call *c)
{
    struct ipc_call call = ipc_begin(IPC_SHM_ATTACH, (int32_t)c->a[0]);
    struct space *space = own_space();
    uint32_t flags = (uint32_t)c->a[2], prot = AREA_READ | AREA_SHARED, how;
    uint64_t address = c->a[1];
    struct shm_answer answer;
    int64_t result;

    if (call.id < 0)
        return -EINVAL;
    result = find_place(&address, flags, &how);
    if (result != 0)
        return result;
    call.flags = flags & (SHM_READ_ONLY | SHM_EXECUTE);
    call.a = space->home;
    result = shm_ask(&call, NULL, &answer);
    if (result != 0)
        return result;
    if (how == SPACE_MAP_KEEP && address + answer.size < address) {
        file_hold_return(answer.backing, (uint32_t)call.a);
        return -EINVAL;
    }
    prot |= ((flags & SHM_READ_ONLY) != 0 ? 0 : AREA_WRITE) | ((flags & SHM_EXECUTE) != 0 ? AREA_EXEC : 0);
    result = space_map(space, address, answer.size, prot, how | SPACE_MAP_GRANTED, answer.backing);
    if (result < 0)
        file_hold_return(answer.backing, (uint32_t)call.a);
    return result == -EEXIST ? -EINVAL : result == -ENOLCK ? -EAGAIN : result;
}

int64_t call_shmdt(struct call *c)
{
    return space_detach(own_space(), c->a[0]);
}

static int64_t give_stat(const struct shm_answer *answer, uint64_t address, int64_t value)
{
    const struct ipc_facts *facts = &answer->facts;
    struct linux_shmid user = {.size = answer->size,
                               .attached = (int64_t)(facts->done_in / SECOND),
                               .detached = (int64_t)(facts->done_out / SECOND),
                               .changed = (int64_t)(facts->changed / SECOND),
                               .creator = (int32_t)facts->pid_in,
                               .last = (int32_t)facts->pid_out,
                               .attaches = facts->count};

    ipc_fill_perm(facts, &user.perm);
    return user_write(address, &user, sizeof(user)) != 0 ? -EFAULT : value;
}

static int64_t give_limits(uint64_t address, int64_t value)
{
    const struct linux_shminfo limits = {.size_max = SHM_MAX,
                                         .size_min = 1,
                                         .segments_max = IPC_OBJECTS_MAX,
                                         .attached_max = IPC_OBJECTS_MAX,
                                         .pages_max = SHM_MAX};

    return user_write(address, &limits, sizeof(limits)) != 0 ? -EFAULT : value;
}

static int64_t give_totals(const struct shm_answer *answer, uint64_t address, int64_t value)
{
    const struct linux_shm_info info = {
        .used = (int32_t)answer->used, .pages = answer->pages, .resident = answer->resident};

    return user_write(address, &info, sizeof(info)) != 0 ? -EFAULT : value;
}

static int64_t change_owner(struct ipc_call *call, uint64_t address)
{
    struct ipc_facts facts = {.key = 0};
    struct linux_shmid user;
    struct shm_answer answer;

    if (user_read(&user, address, sizeof(user)) != 0)
        return -EFAULT;
    facts.uid = user.perm.uid;
    facts.gid = user.perm.gid;
    facts.mode = user.perm.mode;
    return shm_ask(call, &facts, &answer);
}

int64_t call_shmctl(struct call *c)
{
    struct ipc_call call = ipc_begin(IPC_SHM_CONTROL, (int32_t)c->a[0]);
    int32_t command = (int32_t)((uint32_t)c->a[1] & ~IPC_COMMAND_64);
    struct shm_answer answer;
    int64_t value = 0;

    if (call.id < 0 || command < 0)
        return -EINVAL;
    call.flags = (uint32_t)command;
    switch (call.flags) {
    case IPC_SET:
        return change_owner(&call, c->a[2]);
    case IPC_INFO:
    case SHM_INFO:
        value = shm_settle();
        break;
    case IPC_REMOVE:
    case IPC_STAT:
    case SHM_STAT:
    case SHM_STAT_ANY:
    case SHM_UNLOCK:
        break;
    case SHM_LOCK:
        value = lock_limit((uint64_t *)&call.a);
        break;
    default:
        return -EINVAL;
    }
    if (value != 0)
        return value;
    value = shm_ask(&call, NULL, &answer);
    if (value < 0)
        return value;
    switch (call.flags) {
    case IPC_INFO:
        return give_limits(c->a[2], value);
    case SHM_INFO:
        return give_totals(&answer, c->a[2], value);
    case IPC_STAT:
    case SHM_STAT:
    case SHM_STAT_ANY:
        return give_stat(&answer, c->a[2], value);
    default:
        return value;
    }
}
