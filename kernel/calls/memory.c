/* System calls on memory: anonymous mappings and the break. */
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "mm/space.h"
#include "tasks/group.h"
#include "tasks/thread.h"

#define MAP_SHARED 0x01u
#define MAP_PRIVATE 0x02u
#define MAP_TYPE 0x0fu
#define MAP_FIXED 0x10u
#define MAP_ANONYMOUS 0x20u
#define PROT_ALL 7u
#define MADV_NORMAL 0u
#define MADV_RANDOM 1u
#define MADV_SEQUENTIAL 2u
#define MADV_WILLNEED 3u
#define MADV_DONTNEED 4u

static struct space *own_space(void)
{
    return group_space(thread_current()->group);
}

int64_t call_mmap(struct call *c)
{
    uint32_t type = (uint32_t)c->a[3] & MAP_TYPE;

    if ((c->a[2] & ~(uint64_t)PROT_ALL) != 0 || (type != MAP_PRIVATE && type != MAP_SHARED))
        return -EINVAL;
    if ((c->a[5] & (PAGE_SIZE - 1)) != 0)
        return -EINVAL;
    if ((c->a[3] & MAP_ANONYMOUS) == 0)
        return (int32_t)c->a[4] < 0 ? -EBADF : -ENODEV;
    return space_map(own_space(), c->a[0], c->a[1], (uint32_t)c->a[2] | (type == MAP_SHARED ? AREA_SHARED : 0),
                     (c->a[3] & MAP_FIXED) != 0);
}

int64_t call_munmap(struct call *c)
{
    return space_unmap(own_space(), c->a[0], c->a[1]);
}

int64_t call_mprotect(struct call *c)
{
    if ((c->a[2] & ~(uint64_t)PROT_ALL) != 0)
        return -EINVAL;
    return space_protect(own_space(), c->a[0], c->a[1], (uint32_t)c->a[2]);
}

int64_t call_madvise(struct call *c)
{
    if ((c->a[0] & (PAGE_SIZE - 1)) != 0)
        return -EINVAL;
    switch (c->a[2]) {
    case MADV_DONTNEED:
        return space_discard(own_space(), c->a[0], c->a[1]);
    case MADV_NORMAL:
    case MADV_RANDOM:
    case MADV_SEQUENTIAL:
    case MADV_WILLNEED:
        return 0; /* hints about what is done anyway or not at all */
    default:
        return -EINVAL;
    }
}

int64_t call_brk(struct call *c)
{
    return (int64_t)space_break(own_space(), c->a[0]);
}
