/* System calls on memory: mappings and the break. kernel/calls/memory/advice.c has madvise, mlock and related calls. */
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/files.h"
#include "kernel/calls/memory/lock_limit.h"
#include "kernel/file/remote.h"
#include "kernel/file/wire.h"
#include "mm/area/backing.h"
#include "mm/change/change.h"
#include "mm/file/hold.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "tasks/process/group.h"
#include "tasks/role/role.h"
#include "tasks/thread/thread.h"

#define MAP_SHARED 0x01u
#define MAP_PRIVATE 0x02u
#define MAP_SHARED_VALIDATE 0x03u
#define MAP_TYPE 0x0fu
#define MAP_FIXED 0x10u
#define MAP_ANONYMOUS 0x20u
#define MAP_32BIT 0x40u
#define MAP_GROWSDOWN 0x100u
#define MAP_LOCKED 0x2000u
#define MAP_NORESERVE 0x4000u
#define MAP_POPULATE 0x8000u
#define MAP_NONBLOCK 0x10000u
#define MAP_STACK 0x20000u
#define MAP_HUGETLB 0x40000u
#define MAP_FIXED_NOREPLACE 0x100000u
#define MAP_HUGE_SHIFT 26u
/* The flags that MAP_SHARED_VALIDATE accepts: Linux's LEGACY_MAP_MASK. */
#define MAP_KNOWN                                                                                                      \
    (MAP_TYPE | MAP_FIXED | MAP_ANONYMOUS | 0x800u /* DENYWRITE */ | 0x1000u /* EXECUTABLE */ | MAP_GROWSDOWN |        \
     MAP_LOCKED | MAP_NORESERVE | MAP_POPULATE | MAP_NONBLOCK | MAP_STACK | MAP_HUGETLB | MAP_32BIT |                  \
     0x4000000u /* UNINITIALIZED */)
#define HUGE_2M 21u /* binary logarithm of the only size of large pages */
#define PROT_ALL 7u
#define PROT_SEM 8u
#define PROT_GROWSDOWN 0x01000000u
#define PROT_GROWSUP 0x02000000u

static struct space *own_space(void)
{
    return group_space(thread_current()->group);
}

static uint32_t map_how(uint32_t flags)
{
    if ((flags & MAP_FIXED_NOREPLACE) != 0)
        return SPACE_MAP_KEEP;
    if ((flags & MAP_FIXED) != 0)
        return SPACE_MAP_FIXED;
    return (flags & MAP_32BIT) != 0 ? SPACE_MAP_LOW : 0;
}

/* Finds the *BACKING of a mapping of the file FD; BACKING_NONE for a file of zeros. -ENODEV: it cannot be mapped. */
static int64_t find_backing(int64_t fd, bool shared, bool write, uint64_t offset, uint64_t *backing)
{
    struct file_request request = {.operation = MSG_FILE_MAP,
                                   .fd = (int32_t)fd,
                                   .map = {.home = own_space()->home, .shared = shared, .writes = shared && write}};
    struct file_answer answer;
    int64_t object = file_call(thread_current()->group, &request, NULL, 0, NULL, 0, &answer);

    *backing = BACKING_NONE;
    if (object < 0)
        return object;
    if (object >= BACKING_OBJECTS)
        return -ENODEV;
    if (object != 0)
        *backing = backing_make(answer.kernel, (uint32_t)object, offset / PAGE_SIZE) |
                   ((answer.flags & FILE_MAP_WRITES) != 0 ? 0 : BACKING_READ_ONLY);
    return 0;
}

/* The checks of a mapping of a file that come before the checks of the file itself. */
static int64_t check_file(const struct call *c, uint32_t *type)
{
    uint64_t length = (c->a[1] + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1);
    uint32_t flags = (uint32_t)c->a[3];

    if (c->a[1] == 0 || (flags & MAP_HUGETLB) != 0)
        return -EINVAL;
    if (length == 0 || length > USER_END)
        return -ENOMEM;
    if (c->a[5] / PAGE_SIZE >= BACKING_PAGES / 2)
        return -EOVERFLOW;
    if (*type == MAP_SHARED_VALIDATE) {
        if ((flags & ~MAP_KNOWN) != 0)
            return -EOPNOTSUPP;
        *type = MAP_SHARED;
    }
    return *type == MAP_PRIVATE || *type == MAP_SHARED ? 0 : -EINVAL;
}

/* Maps memory after BACKING has been found. */
static int64_t map(const struct call *c, uint32_t type, uint64_t backing)
{
    uint32_t flags = (uint32_t)c->a[3], prot = (uint32_t)c->a[2] & PROT_ALL;
    int64_t address;

    if (backing_is_file(backing) && (flags & MAP_GROWSDOWN) != 0)
        return -EINVAL;
    if ((flags & MAP_HUGETLB) != 0 && flags >> MAP_HUGE_SHIFT != 0 && flags >> MAP_HUGE_SHIFT != HUGE_2M)
        return -EINVAL;
    if (c->a[1] == 0 || (type != MAP_PRIVATE && type != MAP_SHARED))
        return -EINVAL;
    if ((flags & MAP_HUGETLB) != 0)
        return -ENOMEM; /* there is no pool of large pages */
    if (type == MAP_SHARED && (flags & MAP_GROWSDOWN) != 0)
        return -EINVAL;
    prot |= (type == MAP_SHARED ? AREA_SHARED : 0) | ((flags & MAP_GROWSDOWN) != 0 ? AREA_GROWS : 0) |
            ((flags & MAP_NORESERVE) != 0 ? AREA_NORESERVE : 0) | ((flags & MAP_LOCKED) != 0 ? AREA_LOCKED : 0) |
            ((flags & MAP_STACK) != 0 ? AREA_NO_HUGE : 0); /* as Linux since 6.7: a stack uses little of its memory */
    if (type == MAP_SHARED && backing == BACKING_NONE && c->a[1] <= USER_END)
        backing = backing_anonymous(role_own(), (c->a[1] + PAGE_SIZE - 1) / PAGE_SIZE);
    address = space_map(own_space(), c->a[0], c->a[1], prot,
                        map_how(flags) | (backing_is_file(backing) ? SPACE_MAP_GRANTED : 0), backing);
    if (address == -ENOLCK)
        return (flags & MAP_LOCKED) != 0 ? lock_limit_said(-EAGAIN) : -EAGAIN;
    if (address > 0 && ((flags & (MAP_POPULATE | MAP_NONBLOCK)) == MAP_POPULATE || (flags & MAP_LOCKED) != 0))
        space_map_fill(own_space(), (uint64_t)address, c->a[1], prot);
    return address;
}

int64_t call_mmap(struct call *c)
{
    uint32_t type = (uint32_t)c->a[3] & MAP_TYPE;
    uint64_t backing = BACKING_NONE;
    int64_t result = 0;

    if ((c->a[5] & (PAGE_SIZE - 1)) != 0)
        return -EINVAL;
    if (((uint32_t)c->a[3] & MAP_ANONYMOUS) == 0) {
        result = check_file(c, &type);
        if (result != 0)
            result = files_error((int32_t)c->a[4], result); /* a bad descriptor takes precedence */
        if (result == 0)
            result = find_backing((int32_t)c->a[4], type == MAP_SHARED, (c->a[2] & AREA_WRITE) != 0, c->a[5], &backing);
        if (result != 0)
            return result;
    }
    result = map(c, type, backing);
    if (result < 0 && backing != BACKING_NONE)
        file_hold_return(backing, own_space()->home);
    return result;
}

int64_t call_mremap(struct call *c)
{
    int64_t result = space_remap(own_space(), c->a[0], c->a[1], c->a[2], c->a[3], c->a[4]);

    return result == -ENOLCK ? -EAGAIN : result;
}

int64_t call_munmap(struct call *c)
{
    return space_unmap(own_space(), c->a[0], c->a[1]);
}

int64_t call_mprotect(struct call *c)
{
    uint64_t start = c->a[0], length = (c->a[1] + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1);
    uint32_t grows = (uint32_t)c->a[2] & (PROT_GROWSDOWN | PROT_GROWSUP);
    uint64_t prot = c->a[2] & ~(uint64_t)(PROT_GROWSDOWN | PROT_GROWSUP);

    if (grows == (PROT_GROWSDOWN | PROT_GROWSUP) || (start & (PAGE_SIZE - 1)) != 0)
        return -EINVAL;
    if (c->a[1] == 0)
        return 0;
    if (start + length <= start)
        return -ENOMEM;
    if ((prot & ~(uint64_t)(PROT_ALL | PROT_SEM)) != 0)
        return -EINVAL;
    if (grows != 0) {
        int64_t area = space_look(own_space(), start, SPACE_LOOK_START);

        if (area < 0 || (uint64_t)area >= (grows == PROT_GROWSDOWN ? start + length : start + PAGE_SIZE))
            return -ENOMEM;
        if (grows == PROT_GROWSUP || ((uint64_t)area & AREA_GROWS) == 0)
            return -EINVAL;
        length += start - ((uint64_t)area & ~(PAGE_SIZE - 1));
        start = (uint64_t)area & ~(PAGE_SIZE - 1);
    }
    return space_protect(own_space(), start, length, (uint32_t)prot & PROT_ALL);
}

int64_t call_brk(struct call *c)
{
    return (int64_t)space_break(own_space(), c->a[0]);
}
