/* vmbench: the lock of a page over kernels, taken and given back, and nothing else: free, by one thread or each of a
 * team its own; or wanted by a whole team at once. */
#include <errno.h>
#include <sys/mman.h>

#include "kernel/abi/kettle.h"
#include "userland/bench/vm/vmbench.h"
#include "userland/x86.h"

#define WARM_UP 4

static char *page_make(void)
{
    void *page = mmap(NULL, BENCH_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return page == MAP_FAILED ? NULL : page;
}

static int lock(const char *page)
{
    long result = x86_syscall3(KETTLE_CALL_LOCK, (long)page, BENCH_PAGE, 0);

    return result == 0 ? 0 : bench_failed("lock of a page", (int)-result);
}

int vmbench_run_lock(const struct vmbench_case *bench, uint32_t count)
{
    char *page = page_make();
    int error = page == NULL ? bench_failed("mmap", errno) : vmbench_go(bench);

    for (uint32_t i = 0; i < count + WARM_UP && error == 0; i++) {
        if (i == WARM_UP)
            error = vmbench_messages_begin();
        if (i >= WARM_UP)
            bench_begin();
        error = error != 0 ? error : lock(page);
        if (i >= WARM_UP)
            bench_end();
    }
    return error != 0 ? error : vmbench_messages_end();
}

/* --- a team --- */

/* An address of its own is enough: what is locked need not be mapped. */
static int own_prepare(struct vmbench_member *member)
{
    member->range = (char *)(uintptr_t)(0x100000000000ul +
                                        (uint64_t)member->index * BENCH_PAGE); // NOLINT(performance-no-int-to-ptr)
    return 0;
}

static int same_prepare(struct vmbench_member *member)
{
    member->range = (char *)0x100000000000ul; // NOLINT(performance-no-int-to-ptr)
    return 0;
}

static int team_lock(struct vmbench_member *member, uint32_t round)
{
    (void)round;
    return lock(member->range);
}

int vmbench_run_lock_team(const struct vmbench_case *bench, uint32_t count)
{
    static const struct vmbench_work own = {.prepare = own_prepare, .operate = team_lock};
    static const struct vmbench_work same = {.prepare = same_prepare, .operate = team_lock};

    return vmbench_team_run(bench, bench->shape == SHAPE_TOGETHER ? &same : &own, count);
}
