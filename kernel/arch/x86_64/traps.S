/* Entry and exit: exception and interrupt stubs, SYSCALL, context switch, user copy.
 * The frame pushed here is struct trap_frame (traps.h). Interrupts stay off while the kernel runs. */
#include "kernel/arch/x86_64/base/layout.h"

#define CPU_USER_STACK 8
#define CPU_KERNEL_STACK 16
#define FRAME_CS 144      /* offset of cs in struct trap_frame */
#define MSR_GS_BASE 0xc0000101
#define TRAP_SYSCALL 256

    .text

    .macro push_registers
    pushq %r9
    pushq %r8
    pushq %r10
    pushq %rdx
    pushq %rsi
    pushq %rdi
    pushq %rax
    pushq %rcx
    pushq %r11
    pushq %rbx
    pushq %rbp
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    .endm

    .macro pop_registers
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbp
    popq %rbx
    popq %r11
    popq %rcx
    popq %rax
    popq %rdi
    popq %rsi
    popq %rdx
    popq %r10
    popq %r8
    popq %r9
    .endm

/* One stub per vector, 16 bytes apart; vectors without an error code push a zero. */
    .globl trap_stubs
    .balign 16
trap_stubs:
    .set vector, 0
    .rept 256
    .balign 16
    .if !(vector == 8 || (vector >= 10 && vector <= 14) || vector == 17 || vector == 21 || vector == 29 || vector == 30)
    pushq $0
    .endif
    pushq $vector
    .if vector == 2 || vector == 8 || vector == 18
    jmp trap_paranoid
    .else
    jmp trap_common
    .endif
    .set vector, vector + 1
    .endr

    .balign 16
trap_common:
    cld
    testb $3, 24(%rsp)
    jz 1f
    swapgs
1:  push_registers
    /* a program may have set AC, which would disable SMAP in the kernel */
    pushfq
    andl $~0x40000, (%rsp)
    popfq
    movq %rsp, %rdi
    xorl %ebp, %ebp
    testb $3, FRAME_CS(%rsp)
    jnz 2f
    movq 32(%rsp), %rbp
2:  call trap_dispatch
    movq %rsp, %rdi

    .globl trap_return
trap_return:
    movq %rdi, %rsp
    testb $3, FRAME_CS(%rsp)
    pop_registers
    jz 1f
    swapgs
1:  addq $16, %rsp
    iretq

/* NMI, double fault and machine check may come between an entry and its swapgs; the sign of the GS base shows which
 * side of swapgs they interrupted. */
    .balign 16
trap_paranoid:
    cld
    push_registers
    movl $MSR_GS_BASE, %ecx
    rdmsr
    xorl %ebx, %ebx
    testl %edx, %edx
    js 1f
    swapgs
    incl %ebx
1:  movq %rsp, %rdi
    call trap_dispatch
    testl %ebx, %ebx
    jz 2f
    swapgs
2:  pop_registers
    addq $16, %rsp
    iretq

/* SYSCALL: rcx holds the program's rip, r11 its rflags; FMASK has cleared IF, DF, TF and AC. */
    .globl syscall_entry
    .balign 16
syscall_entry:
    swapgs
    movq %rsp, %gs:CPU_USER_STACK
    movq %gs:CPU_KERNEL_STACK, %rsp
    pushq $SELECTOR_USER_DATA
    pushq %gs:CPU_USER_STACK
    pushq %r11
    pushq $SELECTOR_USER_CODE
    pushq %rcx
    pushq %rax
    pushq $TRAP_SYSCALL
    push_registers
    movq %rsp, %rdi
    xorl %ebp, %ebp
    call syscall_dispatch
    testb %al, %al
    jz 1f
    /* The frame is as SYSCALL left it, except for the result. Callee-saved registers are intact, and rip is below
     * USER_END and so canonical, as SYSRET requires. */
    movq 32(%rsp), %rbp
    movq 48(%rsp), %r11
    movq 56(%rsp), %rcx
    movq 64(%rsp), %rax
    movq 72(%rsp), %rdi
    movq 80(%rsp), %rsi
    movq 88(%rsp), %rdx
    movq 96(%rsp), %r10
    movq 104(%rsp), %r8
    movq 112(%rsp), %r9
    movq 160(%rsp), %rsp
    swapgs
    sysretq
1:  movq %rsp, %rdi                 /* a signal, a migration or an exec has changed the frame */
    jmp trap_return

/* void interrupts_wait(void): no interrupt comes between STI and HLT. The frame is for whoever asks where the CPU is. */
    .globl interrupts_wait, interrupts_wait_halt
    .balign 16
interrupts_wait:
    pushq %rbp
    movq %rsp, %rbp
    sti
interrupts_wait_halt:
    hlt
    cli
    popq %rbp
    ret

    .globl context_switch
    .balign 16
context_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret

    .globl context_start
context_start:
    movq %r12, %rdi
    xorl %ebp, %ebp
    call *%rbx
    ud2

    .globl user_copy_start, user_copy_end, user_copy_fault

/* uint64_t user_swap(uint32_t *word, uint32_t *expected, uint32_t value) */
    .globl user_swap
    .balign 16
user_swap:
    movl (%rsi), %eax
    cmpb $0, smap_enabled(%rip)
    je user_copy_start
    stac
user_copy_start:
    lock cmpxchgl %edx, (%rdi)
    movl %eax, (%rsi)
    xorl %eax, %eax
    jmp 3f

/* uint64_t user_probe(uint8_t *at) */
    .globl user_probe
    .balign 16
user_probe:
    xorl %eax, %eax
    cmpb $0, smap_enabled(%rip)
    jne 5f
    lock orb $0, (%rdi)             /* keeps the byte, even if another CPU writes it */
    ret
5:  stac
    lock orb $0, (%rdi)
    clac
    ret

/* uint64_t user_save_fpu(void *to, bool xsave) */
    .globl user_save_fpu
    .balign 16
user_save_fpu:
    cmpb $0, smap_enabled(%rip)
    je 6f
    stac
6:  testb %sil, %sil
    jz 7f
    movl $-1, %eax
    movl $-1, %edx
    xsave64 (%rdi)
    xorl %eax, %eax
    jmp 3f
7:  fxsave64 (%rdi)
    xorl %eax, %eax
    jmp 3f

/* uint64_t idle_poll_load(uint32_t *to, const uint32_t *from) */
    .globl idle_poll_load
    .balign 16
idle_poll_load:
    cmpb $0, smap_enabled(%rip)
    je 8f
    stac
8:  movl (%rsi), %eax
    movl %eax, (%rdi)
    xorl %eax, %eax
    jmp 3f

/* uint64_t user_copy(void *to, const void *from, uint64_t size) */
    .globl user_copy
    .balign 16
user_copy:
    cmpb $0, smap_enabled(%rip)
    je 1f
    stac
1:  movq %rdx, %rcx
    shrq $3, %rcx
    jz 2f
    movq %rcx, %rax
    shlq $3, %rax
    subq %rax, %rdx                 /* rdx: bytes behind the last whole word */
    rep movsq
2:  movq %rdx, %rcx
    xorl %edx, %edx
    rep movsb
user_copy_end:
    xorl %eax, %eax
3:  cmpb $0, smap_enabled(%rip)
    je 4f
    clac
4:  ret
user_copy_fault:                    /* the trap handler resumes here with the registers unchanged */
    movl $1, %eax
    jmp 3b

    .section .note.GNU-stack, "", @progbits
