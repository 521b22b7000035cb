/* Signal frames: where they lie, what goes into them, and what of a garbled one gets back into the kernel.
 * sources: kernel/arch/x86_64/signal_frame.c */
#include "kernel/arch/x86_64/signal_frame.h"

#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

#include "kernel/arch/x86_64/cpu.h"
#include "tests/test.h"

#define FPU_SIZE 832u
#define MXCSR_OFFSET 24

struct cpu_features cpu_features = {.xsave = true, .xcr0 = 7, .fpu_size = FPU_SIZE};

/* As in kernel/arch/x86_64/cpu.c: what the processor would refuse. */
bool fpu_area_valid(const void *area)
{
    uint64_t header[8];
    uint32_t mxcsr;

    memcpy(&mxcsr, (const uint8_t *)area + MXCSR_OFFSET, sizeof(mxcsr));
    memcpy(header, (const uint8_t *)area + 512, sizeof(header));
    return (mxcsr & ~0xffffu) == 0 && (header[0] & ~cpu_features.xcr0) == 0 && header[1] == 0 && header[2] == 0;
}

TEST(layout, "the frame is what the C library of Linux takes it for")
{
    size_t context = offsetof(struct signal_frame, flags);

    CHECK_EQ(offsetof(struct signal_frame, stack_base) - context, offsetof(ucontext_t, uc_stack));
    CHECK_EQ(offsetof(struct signal_frame, context) - context, offsetof(ucontext_t, uc_mcontext));
    CHECK_EQ(offsetof(struct signal_frame, mask) - context, offsetof(ucontext_t, uc_sigmask));
    CHECK_EQ(offsetof(struct signal_context, rip), REG_RIP * sizeof(greg_t));
    CHECK_EQ(offsetof(struct signal_context, rflags), REG_EFL * sizeof(greg_t));
    CHECK_EQ(offsetof(struct signal_context, cr2), REG_CR2 * sizeof(greg_t));
    CHECK_EQ(offsetof(struct signal_context, fpu), offsetof(mcontext_t, fpregs));
    CHECK_EQ(sizeof(((struct signal_frame *)0)->info), sizeof(siginfo_t));
}

TEST(placed, "a handler's stack is as after a call, its state area 64-byte aligned, both below the top and apart")
{
    for (uint64_t top = 0x7fff0000; top < 0x7fff0100; top++) {
        uint64_t fpu, at = signal_frame_place(top, &fpu);

        CHECK_EQ(at % 16, 8);
        CHECK_EQ(fpu % 64, 0);
        CHECK(fpu + signal_fpu_size() <= top);
        CHECK(at + sizeof(struct signal_frame) <= fpu);
        CHECK(top - at < 2048);
    }
}

static struct trap_frame some_frame(uint64_t seed)
{
    struct trap_frame frame = {0};
    uint64_t *words = (uint64_t *)&frame;

    for (size_t i = 0; i < sizeof(frame) / 8; i++)
        words[i] = test_random(&seed);
    frame.rip &= USER_END - 1;
    return frame;
}

TEST(round_trip, "all registers come back")
{
    struct trap_frame frame = some_frame(7), back;
    struct signal_context context;

    frame.rflags = 0x202 | 0x8d5;
    frame.cs = SELECTOR_USER_CODE;
    frame.ss = SELECTOR_USER_DATA;
    back = frame;
    signal_context_save(&context, &frame, 0x1234);
    CHECK_EQ(context.cr2, 0x1234);
    memset(&back, 0, offsetof(struct trap_frame, vector));
    back.rip = back.rsp = back.rflags = back.cs = back.ss = 0;
    CHECK(signal_context_load(&context, &back));
    CHECK(memcmp(&frame, &back, sizeof(frame)) == 0);
}

TEST(no_privilege, "no garbled context sets flags, selectors or addresses that are the kernel's")
{
    uint64_t seed = 1;

    for (int i = 0; i < 20000; i++) {
        struct signal_context context = {0};
        struct trap_frame frame = some_frame(9), before = frame;
        uint64_t *words = (uint64_t *)&context;

        for (size_t w = 0; w < sizeof(context) / 8; w++)
            words[w] = test_below(&seed, 4) == 0 ? ~0ull : test_random(&seed) >> test_below(&seed, 64);
        if (!signal_context_load(&context, &frame)) {
            CHECK(context.rip >= USER_END && context.rip < KERNEL_HALF);
            CHECK(memcmp(&frame, &before, sizeof(frame)) == 0);
            continue;
        }
        CHECK(frame.rip < USER_END || frame.rip >= KERNEL_HALF); /* iretq faults on all others */
        CHECK_EQ(frame.cs, SELECTOR_USER_CODE);
        CHECK_EQ(frame.ss, SELECTOR_USER_DATA);
        CHECK_EQ(frame.rflags & 0x200, 0x200); /* interrupts on */
        CHECK_EQ(frame.rflags & 0x1b3000, 0);  /* I/O privilege, resume, virtual 8086 */
        CHECK_EQ(frame.rflags >> 22, 0);       /* reserved */
        CHECK_EQ(frame.vector, before.vector);
    }
}

static uint8_t area[FPU_SIZE + 64] __attribute__((aligned(64)));

static void good_area(void)
{
    uint64_t components = 7;
    uint32_t back = SIGNAL_FPU_BACK;
    struct signal_fpu_marks marks;

    memset(area, 0, sizeof(area));
    signal_fpu_mark(&marks);
    memcpy(area + SIGNAL_FPU_MARKS, &marks, sizeof(marks));
    memcpy(area + 512, &components, sizeof(components)); /* as XSAVE */
    memcpy(area + FPU_SIZE, &back, sizeof(back));
}

TEST(marked, "a marked area is taken with all its components")
{
    uint64_t components;

    good_area();
    CHECK(signal_fpu_check(area));
    memcpy(&components, area + 512, sizeof(components));
    CHECK_EQ(components, 7);
}

TEST(unmarked, "without its marks only the front of an area counts, whatever its header says")
{
    static const uint32_t marks[] = {464, 464 + 16, FPU_SIZE};

    for (size_t i = 0; i < 3; i++) {
        uint64_t components;

        good_area();
        area[marks[i]] ^= 0xff;
        memset(area + 512, 0xff, 64);
        CHECK(signal_fpu_check(area));
        memcpy(&components, area + 512, sizeof(components));
        CHECK_EQ(components, 3);
    }
}

TEST(bad_areas, "an area that cannot be restored is refused")
{
    good_area();
    area[MXCSR_OFFSET + 2] = 1;
    CHECK(!signal_fpu_check(area));
    good_area();
    area[512 + 1] = 0x80; /* a component that is not there */
    CHECK(!signal_fpu_check(area));
    good_area();
    area[512 + 8] = 1; /* the compact format */
    CHECK(!signal_fpu_check(area));
}
