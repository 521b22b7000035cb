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
#include "userland/tests/machine.h"
#include "userland/tests/registers.h"
#include "userland/tests/tap.h"

#define ROUNDS 100
#define HOLDERS 4
#define HOLD_ROUNDS 10
#define HOLD_NS 20000000

#define GET_FS 0x1003
#define SET_FS 0x1002
#define GET_GS 0x1004
#define SET_GS 0x1001

#define FLAG_CARRY 0x1u
#define FLAG_PARITY 0x4u
#define FLAG_ADJUST 0x10u
#define FLAG_ZERO 0x40u
#define FLAG_SIGN 0x80u
#define FLAG_DIRECTION 0x400u
#define FLAG_OVERFLOW 0x800u
#define FLAG_NESTED 0x4000u
#define FLAG_ALIGNMENT 0x40000u
#define FLAG_ID 0x200000u
#define FLAGS_KEPT                                                                                                     \
    (FLAG_CARRY | FLAG_PARITY | FLAG_ADJUST | FLAG_ZERO | FLAG_SIGN | FLAG_DIRECTION | FLAG_OVERFLOW | FLAG_NESTED |   \
     FLAG_ALIGNMENT | FLAG_ID)

/* The legacy part of the area, offsets in bytes. */
#define X87_CONTROL 0
#define X87_STATUS 2
#define X87_TAGS 4
#define SSE_CONTROL 24
#define SSE_CONTROL_MASK 28
#define X87_REGISTERS 32
#define X87_REGISTER_STEP 16
#define X87_REGISTER_SIZE 10
#define SSE_REGISTERS 160
#define SSE_REGISTERS_SIZE 256
#define LEGACY_SIZE 512
#define XSAVE_HEADER_SIZE 64

#define COMPONENT_X87 0
#define COMPONENT_SSE 1
#define COMPONENT_AVX 2
#define COMPONENT_OPMASK 5
#define COMPONENT_ZMM_HIGH 6
#define COMPONENT_ZMM_MORE 7
#define COMPONENT_PKRU 9
#define COMPONENTS_TESTED 0x2e7u

struct component {
    int number;
    const char *name;
};

/* Those behind the legacy part; where they lie is asked of CPUID. */
static const struct component components[] = {
    {COMPONENT_AVX, "upper halves of YMM"},
    {COMPONENT_OPMASK, "opmask"},
    {COMPONENT_ZMM_HIGH, "upper halves of ZMM0-15"},
    {COMPONENT_ZMM_MORE, "ZMM16-31"},
    {COMPONENT_PKRU, "PKRU"},
};
#define COMPONENT_COUNT (sizeof(components) / sizeof(components[0]))

struct place {
    uint32_t offset;
    uint32_t size; /* 0 when the component is not there */
};

static struct {
    uint64_t components; /* XSAVE components in use, 0 without XSAVE */
    uint32_t sse_control_mask;
    struct place places[COMPONENT_COUNT];
} machine;

static struct registers before;
static struct registers after;
static uint64_t random_state;
static uint64_t gs_words[512];

/* --- what the machine has --- */

static void machine_find(void)
{
    uint32_t out[4];

    machine_cpuid(1, 0, out);
    if ((out[2] & 1u << 27) != 0)
        machine.components = machine_xcr0() & COMPONENTS_TESTED;
    for (size_t i = 0; i < COMPONENT_COUNT; i++) {
        if ((machine.components & 1ull << components[i].number) == 0)
            continue;
        machine_cpuid(0xd, (uint32_t)components[i].number, out);
        machine.places[i] = (struct place){.offset = out[1], .size = out[0]};
        if (out[1] + out[0] > REGISTERS_EXTENDED_SIZE)
            machine.components &= ~(1ull << components[i].number);
    }
    /* Any register_hold stores the mask of valid bits. */
    memcpy(before.extended + SSE_CONTROL, &(uint32_t){0x1f80}, 4);
    memcpy(before.extended + X87_CONTROL, &(uint16_t){0x37f}, 2);
    before.rax = SYS_getpid;
    registers_hold(&before, &after, machine.components, 0);
    memcpy(&machine.sse_control_mask, after.extended + SSE_CONTROL_MASK, 4);
    if (machine.sse_control_mask == 0)
        machine.sse_control_mask = 0xffbf;
}

/* --- filling and comparing --- */

static void random_fill(void *bytes, size_t size)
{
    uint8_t *at = bytes;

    while (size > 0) {
        uint64_t value = tap_random(&random_state);
        size_t part = size < sizeof(value) ? size : sizeof(value);

        memcpy(at, &value, part);
        at += part;
        size -= part;
    }
}

static void extended_fill(uint8_t *area)
{
    /* All x87 exceptions are masked, so that a flag may be set without being pending; precision 1 is
     * reserved. */
    static const uint16_t precisions[] = {0x000, 0x200, 0x300};
    uint16_t control = (uint16_t)(0x7f | precisions[tap_random(&random_state) % 3] |
                                  (tap_random(&random_state) % 4) << 10);
    uint16_t status = (uint16_t)(tap_random(&random_state) & 0x7f7f);
    uint32_t sse_control = (uint32_t)tap_random(&random_state) & machine.sse_control_mask;

    memset(area, 0, REGISTERS_EXTENDED_SIZE);
    memcpy(area + X87_CONTROL, &control, sizeof(control));
    memcpy(area + X87_STATUS, &status, sizeof(status));
    area[X87_TAGS] = (uint8_t)tap_random(&random_state);
    memcpy(area + SSE_CONTROL, &sse_control, sizeof(sse_control));
    for (int i = 0; i < 8; i++)
        random_fill(area + X87_REGISTERS + i * X87_REGISTER_STEP, X87_REGISTER_SIZE);
    random_fill(area + SSE_REGISTERS, SSE_REGISTERS_SIZE);
    if (machine.components == 0)
        return;
    memcpy(area + LEGACY_SIZE, &machine.components, sizeof(machine.components));
    for (size_t i = 0; i < COMPONENT_COUNT; i++) {
        uint8_t *place = area + machine.places[i].offset;

        if ((machine.components & 1ull << components[i].number) == 0)
            continue;
        if (components[i].number == COMPONENT_PKRU) {
            /* Key 0 is that of all memory here: it must stay usable. */
            random_fill(place, 4);
            place[0] &= 0xfc;
        } else {
            random_fill(place, machine.places[i].size);
        }
    }
}

static void registers_fill(struct registers *registers)
{
    random_fill(registers, REGISTERS_FLAGS);
    registers->flags = tap_random(&random_state) & FLAGS_KEPT;
    extended_fill(registers->extended);
}

static unsigned differences; /* counted where no test may be noted */

static void compare(const char *name, const void *found, const void *expected, size_t size)
{
    const uint8_t *a = found;
    const uint8_t *b = expected;

    for (size_t i = 0; i < size; i++) {
        if (a[i] != b[i]) {
            differences++;
            EXPECT(a[i] == b[i], "%s, byte %zu is %02x, was %02x", name, i, a[i], b[i]);
            return;
        }
    }
}

#define COMPARE(field) compare(#field, &after.field, &before.field, sizeof(before.field))

static void extended_compare(void)
{
    char name[32];

    compare("x87 control", after.extended + X87_CONTROL, before.extended + X87_CONTROL, 2);
    compare("x87 status", after.extended + X87_STATUS, before.extended + X87_STATUS, 2);
    compare("x87 tags", after.extended + X87_TAGS, before.extended + X87_TAGS, 1);
    compare("MXCSR", after.extended + SSE_CONTROL, before.extended + SSE_CONTROL, 4);
    for (size_t i = 0; i < 8; i++) {
        size_t offset = X87_REGISTERS + i * X87_REGISTER_STEP;

        snprintf(name, sizeof(name), "ST%zu", i);
        compare(name, after.extended + offset, before.extended + offset, X87_REGISTER_SIZE);
    }
    for (size_t i = 0; i < 16; i++) {
        size_t offset = SSE_REGISTERS + i * 16;

        snprintf(name, sizeof(name), "XMM%zu", i);
        compare(name, after.extended + offset, before.extended + offset, 16);
    }
    for (size_t i = 0; i < COMPONENT_COUNT; i++) {
        const struct place *place = &machine.places[i];
        size_t size = components[i].number == COMPONENT_PKRU ? 4 : place->size;

        if ((machine.components & 1ull << components[i].number) != 0)
            compare(components[i].name, after.extended + place->offset, before.extended + place->offset, size);
    }
}

/* Compares AFTER with BEFORE; a system call was made unless WAITED. */
static void registers_compare(bool waited, uint64_t gs_word)
{
    uint64_t thread_pointer = machine_thread_pointer();

    COMPARE(rbx);
    COMPARE(rdx);
    COMPARE(rsi);
    COMPARE(rdi);
    COMPARE(rbp);
    COMPARE(r8);
    COMPARE(r9);
    COMPARE(r10);
    COMPARE(r12);
    COMPARE(r13);
    COMPARE(r14);
    COMPARE(r15);
    if (waited) {
        COMPARE(rax);
        COMPARE(r11);
    }
    after.flags &= FLAGS_KEPT;
    COMPARE(flags);
    extended_compare();
    compare("the word at FS", &after.fs_word, &thread_pointer, sizeof(thread_pointer));
    compare("the word at GS", &after.gs_word, &gs_word, sizeof(gs_word));
    if (after.stack == 0)
        compare("the red zone", "changed", "intact", 1);
}

static uint16_t segments_first[4];

/* Fills the registers, makes the call or waits, compares. Returns RAX. */
static long registers_try(long call, long argument, uint64_t wait)
{
    static size_t gs_index;

    gs_index = (gs_index + 1 + tap_random(&random_state) % 100) % TAP_COUNT(gs_words);
    gs_words[gs_index] = tap_random(&random_state);
    EXPECT(syscall(SYS_arch_prctl, SET_GS, &gs_words[gs_index]) == 0, "%s", strerror(errno));
    registers_fill(&before);
    if (wait == 0) {
        before.rax = (uint64_t)call;
        before.rdi = (uint64_t)argument;
    }
    memset(&after, 0xdb, sizeof(after));
    registers_hold(&before, &after, machine.components, wait);
    registers_compare(wait != 0, gs_words[gs_index]);
    if (segments_first[0] == 0)
        memcpy(segments_first, after.segments, sizeof(segments_first));
    compare("CS, SS, DS, ES", after.segments, segments_first, sizeof(segments_first));
    return (long)after.rax;
}

/* --- tests --- */

static void test_start(void)
{
    EXPECT(machine_x87_control() == 0x37f, "%#x", machine_x87_control());
    EXPECT(machine_sse_control() == 0x1f80, "%#x", machine_sse_control());
}

static void test_call(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        EXPECT(registers_try(SYS_sched_yield, 0, 0) == 0, "sched_yield returns %ld", (long)after.rax);
        EXPECT(registers_try(SYS_getpid, 0, 0) == getpid(), "getpid returns %ld", (long)after.rax);
    }
}

static void test_call_fails(void)
{
    for (int i = 0; i < 20; i++) {
        long expected = tap_on_kettle() ? -EINVAL : -ENOSYS;

        EXPECT(registers_try(KETTLE_CALL_MIGRATE, -1, 0) == expected, "returns %ld", (long)after.rax);
        EXPECT(registers_try(0x3fff, 0, 0) == -ENOSYS, "returns %ld", (long)after.rax);
        EXPECT(registers_try(SYS_close, -1, 0) == -EBADF, "returns %ld", (long)after.rax);
    }
}

static void test_call_sleeps(void)
{
    static const struct timespec time = {0, 2000000};

    for (int i = 0; i < 10; i++) {
        long result = machine_call3(SYS_nanosleep, (long)&time, 0, 0);

        EXPECT(result == 0, "nanosleep returns %ld", result);
        /* RSI is random here: the time left goes nowhere or is refused, and all registers are kept. */
        result = registers_try(SYS_nanosleep, (long)&time, 0);
        EXPECT(result == 0 || result == -EFAULT, "nanosleep returns %ld", result);
    }
}

static void test_bases(void)
{
    uint64_t fs = 0;
    uint64_t gs = 0;

    EXPECT(syscall(SYS_arch_prctl, GET_FS, &fs) == 0 && fs == machine_thread_pointer(), "%s", strerror(errno));
    EXPECT(syscall(SYS_arch_prctl, SET_GS, &gs_words[5]) == 0, "%s", strerror(errno));
    EXPECT(syscall(SYS_arch_prctl, GET_GS, &gs) == 0 && gs == (uintptr_t)&gs_words[5], "%#lx: %s", gs, strerror(errno));
    EXPECT_ERROR(syscall(SYS_arch_prctl, SET_GS, TAP_KERNEL_ADDRESS), EPERM);
    EXPECT_ERROR(syscall(SYS_arch_prctl, SET_FS, TAP_KERNEL_ADDRESS), EPERM);
    EXPECT_ERROR(syscall(SYS_arch_prctl, SET_GS, TAP_NONCANONICAL), EPERM);
    EXPECT_ERROR(syscall(SYS_arch_prctl, SET_FS, TAP_NONCANONICAL), EPERM);
    EXPECT_ERROR(syscall(SYS_arch_prctl, GET_GS, TAP_UNMAPPED), EFAULT);
    EXPECT_ERROR(syscall(SYS_arch_prctl, GET_FS, TAP_KERNEL_ADDRESS), EFAULT);
    EXPECT_ERROR(syscall(SYS_arch_prctl, 0x7777, 0), EINVAL);
    EXPECT(syscall(SYS_arch_prctl, GET_GS, &gs) == 0 && gs == (uintptr_t)&gs_words[5], "a refused call moved GS");
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

        EXPECT(result == 0 && kettle_kernel() == kernel, "moving to kernel %d returns %ld", kernel, result);
        EXPECT(syscall(SYS_arch_prctl, GET_GS, &gs) == 0 && *(uint64_t *)gs == after.gs_word, "base of GS: %#lx", gs);
        EXPECT(syscall(SYS_arch_prctl, GET_FS, &fs) == 0 && fs == machine_thread_pointer(), "base of FS: %#lx", fs);
        seen |= 1ull << kernel;
    }
    EXPECT(__builtin_popcountll(seen) == count, "%d of %d kernels visited", __builtin_popcountll(seen), count);
    EXPECT(registers_try(KETTLE_CALL_MIGRATE, home, 0) == 0, "back home: %ld", (long)after.rax);
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

        EXPECT(registers_try(KETTLE_CALL_MIGRATE, away == home ? kernels[0] : away, 0) == 0, "away: %ld",
               (long)after.rax);
        EXPECT(registers_try(KETTLE_CALL_MIGRATE, home, 0) == 0, "home: %ld", (long)after.rax);
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
        EXPECT(kettle_migrate(kernel) == 0, "%s", strerror(errno));
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
        EXPECT(holders[i] > 0, "%s", strerror(errno));
    }
    kernel_go(kernel);
    hold(HOLD_ROUNDS);
    kernel_go(home);
    for (int i = 0; i < HOLDERS; i++) {
        int status = -1;

        EXPECT(waitpid(holders[i], &status, 0) == holders[i], "%s", strerror(errno));
        EXPECT(status == 0, "holder %d ends with %#x", i, (unsigned)status);
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
    {"a program starts with the default floating-point control", test_start},
    {"all registers survive 200 system calls", test_call},
    {"all registers survive system calls that fail", test_call_fails},
    {"all registers survive sleeping", test_call_sleeps},
    {"the bases of FS and GS are what was set, and only user addresses can be", test_bases},
    {"all registers survive 100 moves over all kernels", test_migrate},
    {"all registers survive 100 moves away and back", test_migrate_pairs},
    {"all registers survive preemption by programs that fill them too", test_preemption},
    {"all registers survive preemption on another kernel", test_preemption_away},
};

static void registers_name(void)
{
    char names[160] = "";

    for (size_t i = 0; i < COMPONENT_COUNT; i++) {
        if ((machine.components & 1ull << components[i].number) != 0)
            snprintf(names + strlen(names), sizeof(names) - strlen(names), ", %s", components[i].name);
    }
    tap_note("registers: general, x87, SSE%s%s", names, machine.components == 0 ? " (no XSAVE)" : "");
}

int main(int argc, char **argv)
{
    /* GS must point somewhere from the first registers_hold on. */
    if (syscall(SYS_arch_prctl, SET_GS, &gs_words[0]) != 0)
        perror("test-registers: arch_prctl");
    machine_find();
    if (argc == 3 && (strcmp(argv[1], "hold") == 0 || strcmp(argv[1], "hold-away") == 0)) {
        random_state = (uint64_t)atoi(argv[2]);
        if (strcmp(argv[1], "hold-away") == 0)
            kernel_go(kernel_away(kettle_kernel()));
        hold(HOLD_ROUNDS);
        return differences == 0 ? 0 : 1;
    }
    if (argc > 1) {
        puts("usage: test-registers\n\nChecks that all registers survive calls, preemption and moves; writes "
             "TAP.");
        return strcmp(argv[1], "--help") == 0 ? 0 : 2;
    }
    registers_name();
    return tap_run(tests, TAP_COUNT(tests));
}
