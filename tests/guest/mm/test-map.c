/* test-map: where mmap puts a mapping and what its flags do, areas that grow, and the stack. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MAP_SHARED_VALIDATE
#define MAP_SHARED_VALIDATE 3
#endif

/* A range of PAGES that nobody has, with as much free around it. */
static char *free_range(long pages)
{
    char *area = mmap(NULL, (size_t)(3 * pages * PAGE), PROT_NONE, PRIVATE, -1, 0);

    if (!CHECK(area != MAP_FAILED, "%s", strerror(errno)))
        return NULL;
    munmap(area, (size_t)(3 * pages * PAGE));
    return area + pages * PAGE;
}

static char *map_at(void *address, long pages, int flags)
{
    return mmap(address, (size_t)(pages * PAGE), READ_WRITE, PRIVATE | flags, -1, 0);
}

static void test_hint(void)
{
    char *place = free_range(8), *area, *other;

    if (place == NULL)
        return;
    kernels_go(1);
    area = map_at(place + 100, 4, 0);
    CHECK(area == place, "a free hint gives %p for %p", (void *)area, (void *)place);
    other = map_at(place + 2 * PAGE, 4, 0);
    CHECK(other != MAP_FAILED && (other >= place + 4 * PAGE || other + 4 * PAGE <= place),
          "a hint half taken gives %p, beside %p", (void *)other, (void *)place);
    spread_memory_fill(area, 0, 4, 1);
    CHECK(spread_memory_holds(area, 0, 4, 1), "what was there has changed");
    munmap(area, 4 * PAGE);
    munmap(other, 4 * PAGE);
    area = map_at(TAP_KERNEL_ADDRESS, 1, 0);
    CHECK(area != MAP_FAILED, "a hint in the kernel's half: %s", strerror(errno));
    munmap(area, PAGE);
    area = map_at((void *)1, 1, 0);
    CHECK(area != MAP_FAILED && (uintptr_t)area >= 0x1000, "a hint below all: %p", (void *)area);
    munmap(area, PAGE);
}

static void test_no_replace(void)
{
    char *place = free_range(8), *area;

    if (place == NULL)
        return;
    kernels_go(1);
    area = map_at(place, 4, MAP_FIXED_NOREPLACE);
    CHECK(area == place, "%p: %s", (void *)area, strerror(errno));
    spread_memory_fill(place, 0, 4, 2);
    kernels_go(2);
    CHECK_ERROR((long)map_at(place, 4, MAP_FIXED_NOREPLACE), EEXIST);
    CHECK_ERROR((long)map_at(place - PAGE, 2, MAP_FIXED_NOREPLACE), EEXIST);
    CHECK_ERROR((long)map_at(place + 3 * PAGE, 2, MAP_FIXED_NOREPLACE | MAP_FIXED), EEXIST);
    CHECK_ERROR((long)map_at(place + 1, 1, MAP_FIXED_NOREPLACE), EINVAL);
    CHECK_ERROR((long)map_at(TAP_KERNEL_ADDRESS, 1, MAP_FIXED_NOREPLACE), ENOMEM);
    CHECK(spread_memory_holds(place, 0, 4, 2), "what was there has changed");
    area = map_at(place + 4 * PAGE, 1, MAP_FIXED_NOREPLACE);
    CHECK(area == place + 4 * PAGE, "%p: %s", (void *)area, strerror(errno));
    munmap(place, 5 * PAGE);
}

static void test_low(void)
{
    char *areas[20];

    for (int i = 0; i < 20; i++) {
        kernels_go(i);
        areas[i] = map_at(NULL, 300, MAP_32BIT);
        if (!CHECK(areas[i] != MAP_FAILED, "%s", strerror(errno)))
            continue;
        CHECK((uintptr_t)areas[i] + 300 * PAGE <= 1ul << 31, "%p", (void *)areas[i]);
        areas[i][5 * PAGE] = (char)(i + 1);
    }
    for (int i = 0; i < 20; i++) {
        CHECK(areas[i][5 * PAGE] == i + 1, "area %d", i);
        munmap(areas[i], 300 * PAGE);
    }
    CHECK_ERROR((long)map_at(NULL, 1 << 19, MAP_32BIT | MAP_NORESERVE), ENOMEM);
}

static void test_populate(void)
{
    static const int flags[] = {MAP_POPULATE, MAP_LOCKED, MAP_POPULATE | MAP_NONBLOCK, MAP_STACK, MAP_NORESERVE};

    for (size_t i = 0; i < TAP_COUNT(flags); i++) {
        char *area;

        kernels_go((long)i);
        area = map_at(NULL, 40, flags[i]);
        if (!CHECK(area != MAP_FAILED, "flags %x: %s", flags[i], strerror(errno)))
            continue;
        CHECK(spread_memory_holds(area, 0, 40, 0), "flags %x: not zero", flags[i]);
        spread_memory_fill(area, 0, 40, 3);
        CHECK(spread_memory_holds(area, 0, 40, 3), "flags %x: not kept", flags[i]);
        munmap(area, 40 * PAGE);
    }
    kernels_go(0);
    CHECK(mmap(NULL, PAGE, PROT_NONE, PRIVATE | MAP_POPULATE, -1, 0) != MAP_FAILED, "%s", strerror(errno));
    CHECK(mmap(NULL, PAGE, PROT_READ, SHARED | MAP_POPULATE, -1, 0) != MAP_FAILED, "%s", strerror(errno));
}

static void test_flags(void)
{
    char *area;

    CHECK_ERROR((long)mmap(NULL, PAGE, READ_WRITE, MAP_SHARED_VALIDATE | MAP_ANONYMOUS, -1, 0), EINVAL);
    CHECK_ERROR((long)mmap(NULL, PAGE, READ_WRITE, SHARED | MAP_GROWSDOWN, -1, 0), EINVAL);
    CHECK_ERROR((long)mmap(NULL, 1 << 21, READ_WRITE, PRIVATE | MAP_HUGETLB, -1, 0), ENOMEM);
    CHECK_ERROR((long)mmap(NULL, 1 << 21, READ_WRITE, PRIVATE | MAP_HUGETLB | 13 << 26, -1, 0), EINVAL);
    CHECK_ERROR((long)mmap(NULL, 0, READ_WRITE, PRIVATE | MAP_HUGETLB, -1, 0), EINVAL);
    CHECK_ERROR(syscall(SYS_mmap, NULL, 1ul << 46, READ_WRITE, PRIVATE, -1, 0), ENOMEM);
    area = (char *)syscall(SYS_mmap, NULL, PAGE, READ_WRITE | 0x40, PRIVATE | 0x80000000l, -1, 0);
    CHECK(area != MAP_FAILED, "bits nobody knows: %s", strerror(errno));
    munmap(area, PAGE);
}

static void test_promise(void)
{
    const size_t huge = 1ul << 44; /* more than any machine here has */
    char *area = mmap(NULL, huge, PROT_NONE, PRIVATE, -1, 0);

    CHECK(area != MAP_FAILED, "no access: %s", strerror(errno));
    CHECK_ERROR(mprotect(area, huge, READ_WRITE), ENOMEM);
    CHECK(mprotect(area + PAGE, PAGE, READ_WRITE) == 0, "a part: %s", strerror(errno));
    area[PAGE] = 1;
    munmap(area, huge);
    CHECK_ERROR((long)mmap(NULL, huge, READ_WRITE, PRIVATE, -1, 0), ENOMEM);
    CHECK_ERROR((long)mmap(NULL, huge, READ_WRITE, SHARED, -1, 0), ENOMEM);
    area = mmap(NULL, huge, READ_WRITE, PRIVATE | MAP_NORESERVE, -1, 0);
    CHECK(area != MAP_FAILED, "without a promise: %s", strerror(errno));
    kernels_go(1);
    area[huge / 2] = 1;
    kernels_go(2);
    CHECK(area[huge / 2] == 1, "a page in the middle");
    munmap(area, huge);
}

/* --- areas that grow --- */

static sigjmp_buf escape;

static void on_fault(int signal)
{
    siglongjmp(escape, signal);
}

/* The signal that a write to ADDRESS brings, or 0. */
static int write_fault(char *address)
{
    int signal = sigsetjmp(escape, 1);

    if (signal == 0)
        *(volatile char *)address = 7;
    return signal;
}

static void catch_faults(void)
{
    struct sigaction action = {.sa_handler = on_fault};

    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}

static void test_grow(void)
{
    char *place = free_range(4096) + 2048 * PAGE, *area;

    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        area = map_at(place, 4, MAP_FIXED | MAP_GROWSDOWN);
        if (!CHECK(area == place, "%s", strerror(errno)))
            return;
        spread_memory_fill(area, 0, 4, 4);
        kernels_go(k + 1);
        CHECK(write_fault(area - 1) == 0, "the page below, kernel %d", k);
        kernels_go(k + 2);
        CHECK(write_fault(area - 300 * PAGE) == 0, "300 pages below, kernel %d", k);
        CHECK(area[-1] == 7 && area[-150 * PAGE] == 0 && area[-300 * PAGE] == 7, "what is between");
        CHECK(memory_readable(area - 300 * PAGE), "the kernel does not see it");
        CHECK(!memory_readable(area - 2044 * PAGE - 1) && write_fault(area - 2044 * PAGE - 1) == SIGSEGV,
              "more than 8 MiB, kernel %d", k);
        CHECK(write_fault(area - 2044 * PAGE) == 0, "8 MiB exactly, kernel %d", k);
        CHECK(spread_memory_holds(area, 0, 4, 4), "what was there has changed");
        munmap(area - 2044 * PAGE, 2048 * PAGE);
        CHECK(write_fault(area) == SIGSEGV, "it is still there");
    }
    kernels_go(0);
}

static void test_grow_gap(void)
{
    char *place = free_range(2048), *area = place + 1024 * PAGE, *low;

    kernels_go(1);
    low = map_at(place, 4, MAP_FIXED);
    area = map_at(area, 4, MAP_FIXED | MAP_GROWSDOWN);
    CHECK(low == place && area == place + 1024 * PAGE, "%s", strerror(errno));
    kernels_go(0);
    CHECK(write_fault(low + 4 * PAGE + 256 * PAGE - 1) == SIGSEGV, "into the gap");
    CHECK(write_fault(low + 4 * PAGE + 256 * PAGE) == 0, "down to the gap");
    CHECK(mprotect(low, 4 * PAGE, PROT_NONE) == 0, "%s", strerror(errno));
    kernels_go(2);
    CHECK(write_fault(low + 4 * PAGE) == 0, "an area that allows nothing is no neighbour");
    kernels_go(1);
    munmap(area - PAGE, 5 * PAGE);
    CHECK(write_fault(area - PAGE) == SIGSEGV, "what lies above");
    munmap(low, 1028 * PAGE);
    CHECK(write_fault(low + 8 * PAGE) == SIGSEGV, "all is gone");
    area = map_at(place + 1024 * PAGE, 4, MAP_FIXED | MAP_GROWSDOWN);
    low = map_at(area - 100 * PAGE, 4, 0);
    CHECK(low != MAP_FAILED && (low + 4 * PAGE + 256 * PAGE <= area || low >= area + 4 * PAGE),
          "a hint in the gap below %p gives %p", (void *)area, (void *)low);
    munmap(low, 4 * PAGE);
    low = map_at(area - 300 * PAGE, 4, 0);
    CHECK(low == area - 300 * PAGE, "a hint below the gap of %p gives %p", (void *)area, (void *)low);
    munmap(low, 4 * PAGE);
    munmap(area, 4 * PAGE);
    kernels_go(0);
}

static void test_protect_grows(void)
{
    char *area = map_at(free_range(512) + 300 * PAGE, 8, MAP_FIXED | MAP_GROWSDOWN),
         *plain = spread_memory_map(4, PRIVATE);

    kernels_go(1);
    CHECK(write_fault(area - 4 * PAGE) == 0, "it does not grow");
    CHECK(mprotect(area, PAGE, PROT_READ | PROT_GROWSDOWN) == 0, "%s", strerror(errno));
    CHECK(write_fault(area - 4 * PAGE) == SIGSEGV && write_fault(area) == SIGSEGV, "down to its start");
    CHECK(write_fault(area + PAGE) == 0, "and no further");
    CHECK_ERROR(mprotect(plain, PAGE, PROT_READ | PROT_GROWSDOWN), EINVAL);
    CHECK_ERROR(mprotect(plain, PAGE, PROT_READ | PROT_GROWSUP), EINVAL);
    CHECK_ERROR(mprotect(plain, PAGE, PROT_READ | PROT_GROWSUP | PROT_GROWSDOWN), EINVAL);
    CHECK_ERROR(mprotect(TAP_UNMAPPED, PAGE, PROT_READ | PROT_GROWSDOWN), ENOMEM);
    CHECK(syscall(SYS_mprotect, plain, 0, PROT_READ | 0x40) == 0, "%s", strerror(errno));
    munmap(area - 4 * PAGE, 12 * PAGE);
    munmap(plain, 4 * PAGE);
    kernels_go(0);
}

/* --- the stack --- */

static int deep(void *context)
{
    volatile char frame[64 << 10];
    long left = *(const long *)context - 1;

    kernels_go(left);
    frame[0] = (char)left;
    if (left > 0 && deep(&left) != 0)
        return 1;
    return frame[0] == (char)left ? 0 : 1;
}

static void test_stack(void)
{
    struct rlimit limit;
    long depth = 100; /* of 64 KiB: less than 8 MiB */
    volatile char here;
    const char *low;

    CHECK(getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur == 8 << 20, "%s", strerror(errno));
    CHECK(tap_fork(deep, &depth) == 0, "6.4 MiB of stack");
    low = (const char *)(((uintptr_t)&here & -(uintptr_t)PAGE) - 4096 * PAGE);
    CHECK(!memory_readable(low), "16 MiB below");
    kernels_go(0);
}

/* --- threads at once --- */

#define GROWERS 4
static char *growing;
static atomic_int ready;

static void grower(struct thread *thread)
{
    kernels_go(thread->index);
    atomic_fetch_add(&ready, 1);
    thread_wait(&ready, GROWERS);
    for (int i = 1; i <= 64; i++)
        growing[-i * PAGE + thread->index] = (char)i;
}

static void test_grow_together(void)
{
    static struct thread threads[GROWERS];
    char *place = free_range(4096) + 2048 * PAGE;

    signal(SIGSEGV, SIG_DFL); /* the others have no place to go on from */
    for (int round = 0; round < 10; round++) {
        atomic_store(&ready, 0);
        growing = map_at(place, 1, MAP_FIXED | MAP_GROWSDOWN);
        for (int i = 0; i < GROWERS; i++) {
            threads[i].index = i;
            CHECK(thread_start(&threads[i], grower), "%s", strerror(errno));
        }
        for (int i = 0; i < GROWERS; i++)
            CHECK(thread_join(&threads[i]), "thread %d does not end", i);
        for (int i = 1; i <= 64; i++) {
            for (int k = 0; k < GROWERS; k++)
                CHECK(growing[-i * PAGE + k] == i, "page %d, thread %d", i, k);
        }
        munmap(growing - 64 * PAGE, 65 * PAGE);
    }
}

/* Changes nothing, for there is a hole at its start; but that is not known before all of it is locked. */
#define ALL_START 0x10000l
#define ALL_LENGTH 0x7fff80000000l
static atomic_int over;

static void locker(struct thread *thread)
{
    kernels_go(thread->index);
    while (atomic_load(&over) == 0 && thread->result == 0) {
        if (x86_syscall3(SYS_mprotect, ALL_START, ALL_LENGTH, PROT_READ) != -ENOMEM)
            thread->result = 1;
    }
}

static void test_room_is_locked(void)
{
    static struct thread threads[GROWERS];
    int failed = 0;

    atomic_store(&over, 0);
    for (int i = 0; i < GROWERS; i++) {
        threads[i].index = i;
        CHECK(thread_start(&threads[i], locker), "%s", strerror(errno));
    }
    for (int i = 0; i < 60; i++) {
        char *area, *moved;

        kernels_go(i);
        area = map_at(NULL, 2, 0);
        if (area == MAP_FAILED) {
            failed++;
            continue;
        }
        moved = mremap(area, PAGE, 3 * PAGE, MREMAP_MAYMOVE);
        failed += moved == MAP_FAILED;
        munmap(area, 2 * PAGE);
        if (moved != MAP_FAILED)
            munmap(moved, 3 * PAGE);
    }
    atomic_store(&over, 1);
    for (int i = 0; i < GROWERS; i++)
        CHECK(thread_join(&threads[i]) && threads[i].result == 0, "thread %d: mprotect of a hole", i);
    CHECK(failed == 0, "%d calls of 120: %s", failed, strerror(errno));
    kernels_go(0);
}

static const struct tap_test tests[] = {
    {"hint", "mmap takes a hint that is free, and never replaces a mapping for it", test_hint},
    {"no-replace", "MAP_FIXED_NOREPLACE fails where something is mapped", test_no_replace},
    {"low", "MAP_32BIT gives addresses below 2 GiB", test_low},
    {"populate", "mappings that are filled, locked or not reserved are zero and keep what is written", test_populate},
    {"flags", "flags of mmap are refused and ignored as on Linux", test_flags},
    {"promise", "writable memory larger than the machine's is refused, and mapped without a reservation", test_promise},
    {"grow", "an area grows down to 8 MiB when a page below it is touched", test_grow},
    {"grow-gap", "an area that grows keeps a gap of 256 pages, and mmap leaves it free", test_grow_gap},
    {"protect-grows", "mprotect with PROT_GROWSDOWN reaches down to the start of an area that grows",
     test_protect_grows},
    {"stack", "the stack grows, on every kernel", test_stack},
    {"grow-together", "four threads make one area grow at once", test_grow_together},
    {"room-is-locked", "mmap finds room while all of the space is about to change", test_room_is_locked},
};

int main(int argc, char **argv)
{
    kernels_find();
    catch_faults();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
