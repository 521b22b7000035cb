/* Signal frames. See the header. */
#include "kernel/arch/x86_64/signal_frame.h"

#include <stddef.h>

#include "kernel/arch/x86_64/cpu.h"
#include "kernel/lib/string.h"

#define FXSAVE_BYTES 512u
#define MAGIC_FRONT 0x46505853u
#define FLAGS_XSTATE 1u /* uc_flags: there is an XSAVE area. FLAGS_SS: SS is valid, and restored strictly */
#define FLAGS_SS 6u

_Static_assert(offsetof(struct signal_fpu_marks, header) == FXSAVE_BYTES - SIGNAL_FPU_MARKS, "Linux ABI");

uint32_t signal_fpu_size(void)
{
    return cpu_features.fpu_size + (cpu_features.xsave ? (uint32_t)sizeof(uint32_t) : 0);
}

uint64_t signal_frame_place(uint64_t top, uint64_t *fpu)
{
    *fpu = (top - signal_fpu_size()) & ~63ull;
    return ((*fpu - sizeof(struct signal_frame)) & ~15ull) - 8; /* stack alignment as after a call */
}

void signal_context_save(struct signal_context *context, const struct trap_frame *frame, uint64_t cr2)
{
    *context = (struct signal_context){.r8 = frame->r8,
                                       .r9 = frame->r9,
                                       .r10 = frame->r10,
                                       .r11 = frame->r11,
                                       .r12 = frame->r12,
                                       .r13 = frame->r13,
                                       .r14 = frame->r14,
                                       .r15 = frame->r15,
                                       .rdi = frame->rdi,
                                       .rsi = frame->rsi,
                                       .rbp = frame->rbp,
                                       .rbx = frame->rbx,
                                       .rdx = frame->rdx,
                                       .rax = frame->rax,
                                       .rcx = frame->rcx,
                                       .rsp = frame->rsp,
                                       .rip = frame->rip,
                                       .rflags = frame->rflags,
                                       .cs = (uint16_t)frame->cs,
                                       .ss = (uint16_t)frame->ss,
                                       .cr2 = cr2};
    if (frame->vector != TRAP_SYSCALL) {
        context->error = frame->error;
        context->vector = frame->vector;
    }
}

bool signal_context_load(const struct signal_context *context, struct trap_frame *frame)
{
    /* An address of the kernel is a fault of the program; iretq to one between the halves would be one of the kernel.
     */
    if (context->rip >= USER_END && context->rip < KERNEL_HALF)
        return false;
    frame->r8 = context->r8;
    frame->r9 = context->r9;
    frame->r10 = context->r10;
    frame->r11 = context->r11;
    frame->r12 = context->r12;
    frame->r13 = context->r13;
    frame->r14 = context->r14;
    frame->r15 = context->r15;
    frame->rdi = context->rdi;
    frame->rsi = context->rsi;
    frame->rbp = context->rbp;
    frame->rbx = context->rbx;
    frame->rdx = context->rdx;
    frame->rax = context->rax;
    frame->rcx = context->rcx;
    frame->rsp = context->rsp;
    frame->rip = context->rip;
    frame->rflags = (context->rflags & RFLAGS_USER_MASK) | RFLAGS_USER_DEFAULT;
    frame->cs = SELECTOR_USER_CODE;
    frame->ss = SELECTOR_USER_DATA;
    return true;
}

void signal_fpu_mark(struct signal_fpu_marks *marks)
{
    *marks = (struct signal_fpu_marks){.magic = MAGIC_FRONT,
                                       .extended_size = signal_fpu_size(),
                                       .features = cpu_features.xcr0,
                                       .state_size = cpu_features.fpu_size};
}

/* A program may have built the frame itself. Without the magic numbers only the FXSAVE part is restored, as
 * in Linux. */
bool signal_fpu_check(void *area)
{
    struct signal_fpu_marks marks;
    uint64_t header[8] = {3}; /* x87 and SSE */
    uint32_t back;

    memcpy(&marks, (const uint8_t *)area + SIGNAL_FPU_MARKS, offsetof(struct signal_fpu_marks, header));
    if (cpu_features.xsave) {
        memcpy(&back, (const uint8_t *)area + cpu_features.fpu_size, sizeof(back));
        if (marks.magic != MAGIC_FRONT || back != SIGNAL_FPU_BACK || marks.state_size != cpu_features.fpu_size)
            memcpy((uint8_t *)area + FXSAVE_BYTES, header, sizeof(header));
    }
    return fpu_area_valid(area);
}
