/* test-registers: every register of a thread survives system calls, preemption, and moves between kernels.
 *
 * All registers are filled with random bits, within what the hardware lets them hold, and compared bit by bit
 * afterwards: general registers, flags, x87, SSE, AVX, AVX-512, protection keys, the bases of FS and GS, and
 * the red zone below the stack pointer. What a system call may change by the ABI, RAX, RCX and R11, is not
 * compared.
 *
 * The x87 instruction and data pointers are left out: processors differ in when they store them.
 *
 * A child of this program, started with `hold SEED`, keeps its registers filled for a while without a system
 * call and exits with 0 when nothing changed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernel/abi/kettle.h"
#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/tasks/registers.h"
#include "tests/guest/tasks/registers_random.h"
#include "userland/x86.h"

#define ROUNDS 100
#define HOLDERS 4
#define HOLD_ROUNDS 10
#define HOLD_NS 20000000

#define GET_FS 0x1003
#define SET_FS 0x1002
#define GET_GS 0x1004
#define SET_GS 0x1001

static uint64_t components; /* of XSAVE */
static struct registers before;
static struct registers after;
static uint64_t random_state;
static uint64_t gs_words[512];

static unsigned differences; /* counted where no test may be noted */

static uint16_t segments_first[4];

static void differ(bool differs, const char *text)
{
    differences += differs;
    CHECK(!differs, "%s", text);
}

/* Fills the registers, makes the call or waits, compares. Returns RAX. */
static long registers_try(long call, long argument, uint64_t wait)
{
    static size_t gs_index;
    char text[80];

    gs_index = (gs_index + 1 + tap_random(&random_state) % 100) % TAP_COUNT(gs_words);
    gs_words[gs_index] = tap_random(&random_state);
    CHECK(syscall(SYS_arch_prctl, SET_GS, &gs_words[gs_index]) == 0, "%s", strerror(errno));
    registers_fill(&before, &random_state);
    if (wait == 0) {
        before.rax = (uint64_t)call;
        before.rdi = (uint64_t)argument;
    }
    memset(&after, 0xdb, sizeof(after));
    registers_hold(&before, &after, components, wait);
    differ(registers_differ(&before, &after, wait != 0, gs_words[gs_index], text, sizeof(text)), text);
    if (segments_first[0] == 0)
        memcpy(segments_first, after.segments, sizeof(segments_first));
    differ(memcmp(after.segments, segments_first, sizeof(segments_first)) != 0, "CS, SS, DS or ES");
    return (long)after.rax;
}

/* --- tests --- */

static void test_start(void)
{
    CHECK(x86_x87_control() == 0x37f, "%#x", x86_x87_control());
    CHECK(x86_sse_control() == 0x1f80, "%#x", x86_sse_control());
}

static void test_call(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(registers_try(SYS_sched_yield, 0, 0) == 0, "sched_yield returns %ld", (long)after.rax);
        CHECK(registers_try(SYS_getpid, 0, 0) == getpid(), "getpid returns %ld", (long)after.rax);
    }
}

/* As on Linux. Kettle itself sets these bits when a call begins again that was refused memory. */
static void test_number(void)
{
    CHECK(registers_try(SYS_getppid + (3l << 48), 0, 0) == getppid(), "the bits above a number count");
    CHECK(registers_try(SYS_kill + (100l << 48), INT32_MAX, 0) == -ESRCH, "the bits above a number count");
}

static void test_call_fails(void)
{
    for (int i = 0; i < 20; i++) {
        long expected = tap_on_kettle() ? -EINVAL : -ENOSYS;

        CHECK(registers_try(KETTLE_CALL_MIGRATE, -1, 0) == expected, "returns %ld", (long)after.rax);
        CHECK(registers_try(0x3fff, 0, 0) == -ENOSYS, "returns %ld", (long)after.rax);
        CHECK(registers_try(SYS_close, -1, 0) == -EBADF, "returns %ld", (long)after.rax);
    }
}

static void test_call_sleeps(void)
{
    static const struct timespec time = {0, 2000000};

    for (int i = 0; i < 10; i++) {
        long result = x86_syscall3(SYS_nanosleep, (long)&time, 0, 0);

        CHECK(result == 0, "nanosleep returns %ld", result);
        /* RSI is random here: the time left goes nowhere or is refused, and all registers are kept. */
        result = registers_try(SYS_nanosleep, (long)&time, 0);
        CHECK(result == 0 || result == -EFAULT, "nanosleep returns %ld", result);
    }
}

static void test_bases(void)
{
    uint64_t fs = 0;
    uint64_t gs = 0;

    CHECK(syscall(SYS_arch_prctl, GET_FS, &fs) == 0 && fs == x86_thread_pointer(), "%s", strerror(errno));
    CHECK(syscall(SYS_arch_prctl, SET_GS, &gs_words[5]) == 0, "%s", strerror(errno));
    CHECK(syscall(SYS_arch_prctl, GET_GS, &gs) == 0 && gs == (uintptr_t)&gs_words[5], "%#lx: %s", gs, strerror(errno));
    CHECK_ERROR(syscall(SYS_arch_prctl, SET_GS, TAP_KERNEL_ADDRESS), EPERM);
    CHECK_ERROR(syscall(SYS_arch_prctl, SET_FS, TAP_KERNEL_ADDRESS), EPERM);
    CHECK_ERROR(syscall(SYS_arch_prctl, SET_GS, TAP_NONCANONICAL), EPERM);
    CHECK_ERROR(syscall(SYS_arch_prctl, SET_FS, TAP_NONCANONICAL), EPERM);
    CHECK_ERROR(syscall(SYS_arch_prctl, GET_GS, TAP_UNMAPPED), EFAULT);
    CHECK_ERROR(syscall(SYS_arch_prctl, GET_FS, TAP_KERNEL_ADDRESS), EFAULT);
    CHECK_ERROR(syscall(SYS_arch_prctl, 0x7777, 0), EINVAL);
    CHECK(syscall(SYS_arch_prctl, GET_GS, &gs) == 0 && gs == (uintptr_t)&gs_words[5], "a refused call moved GS");
}

static void test_migrate(void)
{
    int kernels[64];
    int count = tap_kernels(kernels);
    int home = kettle_kernel();
    uint64_t seen = 0;

    if (tap_skip_alone())
        return;
    for (int i = 0; i < ROUNDS; i++) {
        /* Every kernel in turn, then any. */
        int kernel = i < count ? kernels[i] : kernels[tap_random(&random_state) % (uint64_t)count];
        uint64_t gs = 0;
        uint64_t fs = 0;
        long result = registers_try(KETTLE_CALL_MIGRATE, kernel, 0);

        CHECK(result == 0 && kettle_kernel() == kernel, "moving to kernel %d returns %ld", kernel, result);
        CHECK(syscall(SYS_arch_prctl, GET_GS, &gs) == 0 && *(uint64_t *)gs == after.gs_word, "base of GS: %#lx", gs);
        CHECK(syscall(SYS_arch_prctl, GET_FS, &fs) == 0 && fs == x86_thread_pointer(), "base of FS: %#lx", fs);
        seen |= 1ull << kernel;
    }
    CHECK(__builtin_popcountll(seen) == count, "%d of %d kernels visited", __builtin_popcountll(seen), count);
    CHECK(registers_try(KETTLE_CALL_MIGRATE, home, 0) == 0, "back home: %ld", (long)after.rax);
}

static void test_migrate_pairs(void)
{
    int kernels[64];
    int count = tap_kernels(kernels);
    int home = kettle_kernel();

    if (tap_skip_alone())
        return;
    /* To the next one and straight back, which fills a shadow instead of making one. */
    for (int i = 0; i < ROUNDS; i++) {
        int away = kernels[(i % (count - 1) + 1) % count];

        CHECK(registers_try(KETTLE_CALL_MIGRATE, away == home ? kernels[0] : away, 0) == 0, "away: %ld",
              (long)after.rax);
        CHECK(registers_try(KETTLE_CALL_MIGRATE, home, 0) == 0, "home: %ld", (long)after.rax);
    }
}

static int64_t nanoseconds(void)
{
    struct timespec time = {0};

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* Turns of the waiting loop that take about HOLD_NS here. */
static uint64_t turns_find(void)
{
    uint64_t turns = 1000;

    for (;;) {
        int64_t begin = nanoseconds();
        int64_t took;

        registers_try(0, 0, turns);
        took = nanoseconds() - begin;
        if (took > HOLD_NS / 10)
            return turns * HOLD_NS / (uint64_t)took + 1;
        turns *= 4;
    }
}

static void hold(int rounds)
{
    uint64_t turns = turns_find();

    for (int i = 0; i < rounds; i++)
        registers_try(0, 0, turns);
}

/* The last started kernel that is not HOME, or HOME when there is no other. */
static int kernel_away(int home)
{
    int kernels[64];
    int count = tap_kernels(kernels);

    return kernels[count - 1] == home ? kernels[0] : kernels[count - 1];
}

static void kernel_go(int kernel)
{
    if (kernel != kettle_kernel())
        CHECK(kettle_migrate(kernel) == 0, "%s", strerror(errno));
}

/* Starts programs that all hold their registers on KERNEL and does the same there. They are started and waited for at
 * home. */
static void holders_run(int kernel)
{
    int home = kettle_kernel();
    pid_t holders[HOLDERS];

    for (int i = 0; i < HOLDERS; i++) {
        char seed[16];

        snprintf(seed, sizeof(seed), "%d", 100 + i);
        holders[i] = tap_spawn(kernel == home ? "hold" : "hold-away", seed);
        CHECK(holders[i] > 0, "%s", strerror(errno));
    }
    kernel_go(kernel);
    hold(HOLD_ROUNDS);
    kernel_go(home);
    for (int i = 0; i < HOLDERS; i++) {
        int status = -1;

        CHECK(waitpid(holders[i], &status, 0) == holders[i], "%s", strerror(errno));
        CHECK(status == 0, "holder %d ends with %#x", i, (unsigned)status);
    }
}

static void test_preemption(void)
{
    holders_run(kettle_kernel());
}

static void test_preemption_away(void)
{
    if (!tap_skip_alone())
        holders_run(kernel_away(kettle_kernel()));
}

static const struct tap_test tests[] = {
    {"start", "a program starts with the default floating-point control", test_start},
    {"call", "all registers survive 200 system calls", test_call},
    {"call-number", "what is far above a call's number in RAX does not count", test_number},
    {"call-fails", "all registers survive system calls that fail", test_call_fails},
    {"call-sleeps", "all registers survive sleeping", test_call_sleeps},
    {"bases", "the bases of FS and GS are what was set, and only user addresses can be", test_bases},
    {"migrate", "all registers survive 100 moves over all kernels", test_migrate},
    {"migrate-pairs", "all registers survive 100 moves away and back", test_migrate_pairs},
    {"preemption", "all registers survive preemption by programs that fill them too", test_preemption},
    {"preemption-away", "all registers survive preemption on another kernel", test_preemption_away},
};

int main(int argc, char **argv)
{
    char text[160];

    /* GS must point somewhere from the first registers_hold on. */
    if (syscall(SYS_arch_prctl, SET_GS, &gs_words[0]) != 0)
        perror("test-registers: arch_prctl");
    components = registers_find();
    if (argc == 3 && (strcmp(argv[1], "@hold") == 0 || strcmp(argv[1], "@hold-away") == 0)) {
        random_state = (uint64_t)atoi(argv[2]);
        if (strcmp(argv[1], "@hold-away") == 0)
            kernel_go(kernel_away(kettle_kernel()));
        hold(HOLD_ROUNDS);
        return differences == 0 ? 0 : 1;
    }
    registers_name(text, sizeof(text));
    tap_note("registers: %s", text);
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
