/* vmbench: ranges that are mapped, touched, unmapped, and protected, by one thread or by a team; pages that two places
 * share.
 *
 * An operation is a whole circle, so that ranges are after it what they were before. The calls are made without the C
 * library's functions: members of a team have none. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "userland/bench/vm/vmbench.h"
#include "userland/x86.h"

#define WARM_UP 4
#define OPEN (PROT_READ | PROT_WRITE)

static size_t bytes(uint32_t pages)
{
    return (size_t)pages * BENCH_PAGE;
}

static char *map(uint32_t pages)
{
    long result = x86_syscall(SYS_mmap, 0, (long)bytes(pages), OPEN, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (result < 0 && result > -BENCH_PAGE) {
        bench_failed("mmap", (int)-result);
        return NULL;
    }
    return (char *)result; // NOLINT(performance-no-int-to-ptr)
}

static void touch(volatile char *range, uint32_t pages)
{
    for (uint32_t i = 0; i < pages; i++)
        range[bytes(i)] = 1;
}

static int unmap(char *range, uint32_t pages)
{
    long result = x86_syscall3(SYS_munmap, (long)range, (long)bytes(pages), 0);

    return result == 0 ? 0 : bench_failed("munmap", (int)-result);
}

/* To read-only and back. */
static int protect(char *range, uint32_t pages)
{
    long result = x86_syscall3(SYS_mprotect, (long)range, (long)bytes(pages), PROT_READ);

    if (result == 0)
        result = x86_syscall3(SYS_mprotect, (long)range, (long)bytes(pages), OPEN);
    return result == 0 ? 0 : bench_failed("mprotect", (int)-result);
}

/* --- what a member does to ranges of its own --- */

static int own_touch(struct vmbench_member *member, uint32_t round)
{
    char *range = map(member->pages);

    (void)round;
    if (range == NULL)
        return ENOMEM;
    touch(range, member->pages);
    return unmap(range, member->pages);
}

/* As own_touch, of memory that large pages are wanted for: of twice as much, what is aligned. PAGES are 2 MiB. */
static int own_touch_huge(struct vmbench_member *member, uint32_t round)
{
    size_t size = bytes(member->pages);
    char *range = map(2 * member->pages), *aligned;
    long result;

    (void)round;
    if (range == NULL)
        return ENOMEM;
    aligned = range + (size - (size_t)range % size) % size;
    result = x86_syscall3(SYS_madvise, (long)aligned, (long)size, MADV_HUGEPAGE);
    if (result != 0)
        return bench_failed("madvise MADV_HUGEPAGE", result == -EINVAL ? ENOSYS : (int)-result);
    touch(aligned, member->pages);
    return unmap(range, 2 * member->pages);
}

static int own_map(struct vmbench_member *member, uint32_t round)
{
    char *range = map(member->pages);

    (void)round;
    return range == NULL ? ENOMEM : unmap(range, member->pages);
}

static int own_make(struct vmbench_member *member)
{
    member->range = map(member->pages);
    return member->range == NULL ? ENOMEM : 0;
}

static int own_prepare(struct vmbench_member *member)
{
    int error = own_make(member);

    if (error == 0)
        touch(member->range, member->pages);
    return error;
}

/* Of a longer range, so that its area is cut in three, and made one again. */
static int part_prepare(struct vmbench_member *member)
{
    char *range = map(member->pages + 2);

    if (range == NULL)
        return ENOMEM;
    touch(range, member->pages + 2);
    member->range = range + BENCH_PAGE;
    return 0;
}

static int own_protect(struct vmbench_member *member, uint32_t round)
{
    (void)round;
    return member->range == NULL ? ENOMEM : protect(member->range, member->pages);
}

/* --- what a team does to one range --- */

/* The leader maps and unmaps, all touch. */
static int shared_touch(struct vmbench_member *member, uint32_t round)
{
    int error = 0;

    (void)round;
    if (member->index == 0)
        vmbench_range_set(map(member->pages));
    vmbench_meet(member);
    if (vmbench_range() != NULL)
        touch(vmbench_range(), member->pages);
    else
        error = ENOMEM;
    vmbench_meet(member);
    if (member->index == 0 && error == 0)
        error = unmap(vmbench_range(), member->pages);
    return error;
}

static int leader_map(struct vmbench_member *member, uint32_t round)
{
    return member->index == 0 ? own_map(member, round) : 0;
}

static int shared_make(struct vmbench_member *member)
{
    if (member->index == 0)
        vmbench_range_set(map(member->pages));
    vmbench_meet(member);
    member->range = vmbench_range();
    return member->range == NULL ? ENOMEM : 0;
}

static int shared_prepare(struct vmbench_member *member)
{
    int error = shared_make(member);

    if (error == 0)
        touch(member->range, member->pages);
    return error;
}

static int apart_prepare(struct vmbench_member *member)
{
    int error = shared_make(member);

    if (error == 0 && member->index == 0)
        touch(member->range, member->pages);
    return error;
}

static int leader_protect(struct vmbench_member *member, uint32_t round)
{
    return member->index == 0 ? own_protect(member, round) : 0;
}

/* The leader touches a page that nobody has touched, or all touch it at once. A range has a page for each round. */
static int leader_fault(struct vmbench_member *member, uint32_t round)
{
    if (member->range == NULL)
        return ENOMEM;
    if (member->index == 0)
        touch(member->range + bytes(round), 1);
    return 0;
}

static int team_fault(struct vmbench_member *member, uint32_t round)
{
    vmbench_meet(member);
    if (member->range == NULL)
        return ENOMEM;
    touch(member->range + bytes(round), 1);
    return 0;
}

/* --- one thread --- */

static int alone(const struct vmbench_case *bench, const struct vmbench_work *work, uint32_t count)
{
    struct vmbench_member member = {.pages = bench->pages};
    int error = work->prepare == NULL ? 0 : work->prepare(&member);

    for (uint32_t i = 0; i < count + WARM_UP && error == 0; i++) {
        if (i == WARM_UP)
            error = vmbench_messages_begin();
        if (i >= WARM_UP)
            bench_begin();
        error = error != 0 ? error : work->operate(&member, i);
        if (i >= WARM_UP)
            bench_end();
    }
    return error != 0 ? error : vmbench_messages_end();
}

static int run(const struct vmbench_case *bench, const struct vmbench_work *own, const struct vmbench_work *shared,
               uint32_t count)
{
    if (bench->shape == SHAPE_ONE)
        return alone(bench, own, count);
    return vmbench_team_run(bench, bench->shape <= SHAPE_PROCESSES ? own : shared, count);
}

int vmbench_run_touch(const struct vmbench_case *bench, uint32_t count)
{
    static const struct vmbench_work own = {.operate = own_touch};
    static const struct vmbench_work shared = {.operate = shared_touch, .leads = true};

    return run(bench, &own, &shared, count);
}

/* A Linux may have large pages and not give them. */
static bool huge_off(void)
{
    char mode[64];
    int file = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY);
    ssize_t length = file >= 0 ? read(file, mode, sizeof(mode) - 1) : 0;

    if (file >= 0)
        close(file);
    mode[length > 0 ? length : 0] = '\0';
    return strstr(mode, "[never]") != NULL;
}

int vmbench_run_touch_huge(const struct vmbench_case *bench, uint32_t count)
{
    static const struct vmbench_work work = {.operate = own_touch_huge};

    if (huge_off())
        return bench_failed("large pages", ENOSYS);
    return run(bench, &work, &work, count);
}

int vmbench_run_map(const struct vmbench_case *bench, uint32_t count)
{
    static const struct vmbench_work own = {.operate = own_map};
    static const struct vmbench_work shared = {.operate = leader_map, .leads = true};

    return run(bench, &own, &shared, count);
}

int vmbench_run_protect(const struct vmbench_case *bench, uint32_t count)
{
    static const struct vmbench_work own = {.prepare = own_prepare, .operate = own_protect};
    static const struct vmbench_work shared = {.prepare = shared_prepare, .operate = leader_protect, .leads = true};
    static const struct vmbench_work apart = {.prepare = apart_prepare, .operate = leader_protect, .leads = true};
    static const struct vmbench_work together = {.prepare = shared_prepare, .operate = own_protect};

    return run(bench, &own,
               bench->shape == SHAPE_SHARED  ? &shared
               : bench->shape == SHAPE_APART ? &apart
                                             : &together,
               count);
}

int vmbench_run_protect_part(const struct vmbench_case *bench, uint32_t count)
{
    static const struct vmbench_work own = {.prepare = part_prepare, .operate = own_protect};

    return run(bench, &own, &own, count);
}

/* Of a range that nobody has touched. */
int vmbench_run_protect_whole(const struct vmbench_case *bench, uint32_t count)
{
    static const struct vmbench_work own = {.prepare = own_make, .operate = own_protect};

    return run(bench, &own, &own, count);
}

/* New pages of one range. */
int vmbench_run_fault_race(const struct vmbench_case *bench, uint32_t count)
{
    static const struct vmbench_work apart = {.prepare = shared_make, .operate = leader_fault, .leads = true};
    static const struct vmbench_work together = {.prepare = shared_make, .operate = team_fault};
    struct vmbench_case sized = *bench;

    sized.pages = vmbench_team_rounds(count);
    return vmbench_team_run(&sized, bench->shape == SHAPE_APART ? &apart : &together, count);
}

/* --- one page that two places have touched, of a process that is at all --- */

#define PAIR_STRIDE 16u /* pages */

static int pair_unmap(char *page)
{
    return unmap(page, 1);
}

static int pair_protect(char *page)
{
    return mprotect(page, BENCH_PAGE, PROT_READ) == 0 ? 0 : bench_failed("mprotect", errno);
}

static int pair(const struct vmbench_case *bench, uint32_t count, int (*change)(char *page))
{
    int other = bench_place_of(bench_where_refusal(WHERE_OTHER) == NULL ? WHERE_OTHER : WHERE_SAME);
    uint32_t pages = count + WARM_UP;
    char *range = map(pages * PAIR_STRIDE);
    int error = range == NULL ? ENOMEM : bench_unbind();

    if (error == 0)
        error = bench_visit_all();
    if (error == 0)
        error = bench_go_home();
    for (uint32_t i = 0; i < pages && error == 0; i++)
        touch(range + bytes(i * PAIR_STRIDE), 1);
    if (error == 0)
        error = bench_go(other);
    for (uint32_t i = 0; i < pages && error == 0; i++)
        touch(range + bytes(i * PAIR_STRIDE), 1);
    if (error == 0 && bench->where == WHERE_LOCAL)
        error = bench_go_home();
    for (uint32_t i = 0; i < pages && error == 0; i++) {
        if (i == WARM_UP)
            error = vmbench_messages_begin();
        if (i >= WARM_UP)
            bench_begin();
        error = error != 0 ? error : change(range + bytes(i * PAIR_STRIDE));
        if (i >= WARM_UP)
            bench_end();
    }
    return error != 0 ? error : vmbench_messages_end();
}

int vmbench_run_unmap_pair(const struct vmbench_case *bench, uint32_t count)
{
    return pair(bench, count, pair_unmap);
}

int vmbench_run_protect_pair(const struct vmbench_case *bench, uint32_t count)
{
    return pair(bench, count, pair_protect);
}
