/* The frame that a signal handler finds on its stack and rt_sigreturn(2) reads: Linux's struct rt_sigframe for x86-64
 * (arch/x86/include/uapi/asm/sigcontext.h and ucontext.h define the layout). Pure: nothing here touches user memory. */
#ifndef KERNEL_ARCH_SIGNAL_FRAME_H
#define KERNEL_ARCH_SIGNAL_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/arch/x86_64/traps.h"

struct signal_context {
    uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
    uint64_t rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, rflags;
    uint16_t cs, gs, fs, ss;
    uint64_t error, vector, old_mask, cr2;
    uint64_t fpu; /* user address of the state area, 64-byte aligned, or 0 */
    uint64_t reserved[8];
};

struct signal_frame {
    uint64_t return_address; /* the action's restorer */
    uint64_t flags;          /* of the user context */
    uint64_t link;
    uint64_t stack_base; /* of sigaltstack(2) */
    uint32_t stack_flags, pad;
    uint64_t stack_size;
    struct signal_context context;
    uint64_t mask;     /* to restore */
    uint8_t info[128]; /* siginfo_t */
};

_Static_assert(sizeof(struct signal_context) == 256, "Linux ABI");
_Static_assert(sizeof(struct signal_frame) == 8 + 40 + 256 + 8 + 128, "Linux ABI");

#define SIGNAL_RED_ZONE                                                                                                \
    128u /* bytes below the stack pointer that belong to the program (System V ABI, AMD64, 3.2.2)                      \
          */

/* Bytes of the FPU state on a handler's stack. */
uint32_t signal_fpu_size(void);
/* Returns the address of the frame on a stack that ends at TOP; *FPU is the address of the FPU state. */
uint64_t signal_frame_place(uint64_t top, uint64_t *fpu);
/* Copies the registers of FRAME to CONTEXT, where a handler may read and change them. */
void signal_context_save(struct signal_context *context, const struct trap_frame *frame, uint64_t cr2);
/* Copies the registers of CONTEXT to FRAME, without the flags that a program may not set. Returns false if the
 * instruction pointer is not below USER_END. */
bool signal_context_load(const struct signal_context *context, struct trap_frame *frame);
/* With XSAVE, the marks by which user programs know an FPU state: these bytes at SIGNAL_FPU_MARKS of it, of which the
 * last 64 are the empty header that XSAVE completes, and SIGNAL_FPU_BACK behind it. */
#define SIGNAL_FPU_MARKS 464u
#define SIGNAL_FPU_BACK 0x46505845u
struct signal_fpu_marks {
    uint32_t magic;
    uint32_t extended_size; /* bytes with the magic number behind the area */
    uint64_t features;
    uint32_t state_size; /* bytes of the area */
    uint32_t pad[7];
    uint64_t header[8];
};
void signal_fpu_mark(struct signal_fpu_marks *marks);
/* Checks AREA, which was read from user memory, and makes it safe to restore. Returns false if it is no state area. */
bool signal_fpu_check(void *area);

#endif
