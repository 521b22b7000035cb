/* registers_hold: see registers.h.
 *
 * While the registers hold IN's values none is left to point with, so what is needed afterwards lies in .bss.
 * RSP alone keeps its value, and the red zone below it is filled to be checked: no kernel may write there. */
#include "tests/guest/tasks/registers.h"

#define RED_ZONE_WORDS 16
#define FLAGS_CLEAN 0x202

        .bss
        .balign 64
kept_extended:
        .skip   REGISTERS_EXTENDED_SIZE
kept_in:
        .skip   8
kept_out:
        .skip   8
kept_components:
        .skip   8
kept_wait:
        .skip   8
kept_value:
        .skip   8

        .text
        .globl  registers_hold
        .type   registers_hold, @function
registers_hold:
        pushq   %rbx
        pushq   %rbp
        pushq   %r12
        pushq   %r13
        pushq   %r14
        pushq   %r15
        pushfq
        movq    %rdi, kept_in(%rip)
        movq    %rsi, kept_out(%rip)
        movq    %rdx, kept_components(%rip)
        movq    %rcx, kept_wait(%rip)

        /* The caller's vector and x87 registers go aside, IN's come in. EDX:EAX is the mask. */
        leaq    kept_extended(%rip), %r8
        call    extended_save
        leaq    REGISTERS_EXTENDED(%rdi), %r8
        call    extended_load

        /* The red zone: word i holds its own address. */
        movq    $-RED_ZONE_WORDS, %rcx
1:      leaq    (%rsp, %rcx, 8), %rax
        movq    %rax, (%rax)
        incq    %rcx
        jnz     1b

        movq    kept_in(%rip), %rdi
        movq    REGISTERS_RBX(%rdi), %rbx
        movq    REGISTERS_RCX(%rdi), %rcx
        movq    REGISTERS_RDX(%rdi), %rdx
        movq    REGISTERS_RSI(%rdi), %rsi
        movq    REGISTERS_RBP(%rdi), %rbp
        movq    REGISTERS_R8(%rdi), %r8
        movq    REGISTERS_R9(%rdi), %r9
        movq    REGISTERS_R10(%rdi), %r10
        movq    REGISTERS_R11(%rdi), %r11
        movq    REGISTERS_R12(%rdi), %r12
        movq    REGISTERS_R13(%rdi), %r13
        movq    REGISTERS_R14(%rdi), %r14
        movq    REGISTERS_R15(%rdi), %r15
        movq    REGISTERS_RAX(%rdi), %rax
        cmpq    $0, kept_wait(%rip)
        jne     wait_loop

        /* Through another stack, so that setting the flags does not touch the red zone. */
        movq    %rsp, kept_value(%rip)
        leaq    scratch_top(%rip), %rsp
        pushq   REGISTERS_FLAGS(%rdi)
        movq    REGISTERS_RDI(%rdi), %rdi
        popfq
        movq    kept_value(%rip), %rsp
        syscall
        jmp     store

wait_loop:
        movq    %rsp, kept_value(%rip)
        leaq    scratch_top(%rip), %rsp
        pushq   REGISTERS_FLAGS(%rdi)
        movq    REGISTERS_RDI(%rdi), %rdi
        movq    kept_wait(%rip), %rcx
        popfq
        movq    kept_value(%rip), %rsp
        /* LOOP and PAUSE leave the flags alone. */
2:      pause
        loop    2b

store:
        movq    %rdi, kept_value(%rip)
        movq    kept_out(%rip), %rdi
        movq    %rax, REGISTERS_RAX(%rdi)
        movq    %rbx, REGISTERS_RBX(%rdi)
        movq    %rcx, REGISTERS_RCX(%rdi)
        movq    %rdx, REGISTERS_RDX(%rdi)
        movq    %rsi, REGISTERS_RSI(%rdi)
        movq    %rbp, REGISTERS_RBP(%rdi)
        movq    %r8, REGISTERS_R8(%rdi)
        movq    %r9, REGISTERS_R9(%rdi)
        movq    %r10, REGISTERS_R10(%rdi)
        movq    %r11, REGISTERS_R11(%rdi)
        movq    %r12, REGISTERS_R12(%rdi)
        movq    %r13, REGISTERS_R13(%rdi)
        movq    %r14, REGISTERS_R14(%rdi)
        movq    %r15, REGISTERS_R15(%rdi)
        movq    %rsp, REGISTERS_STACK(%rdi)
        /* The flags, while the stack pointer's neighbourhood is still under watch, and then clean ones. */
        leaq    scratch_top(%rip), %rsp
        pushfq
        popq    REGISTERS_FLAGS(%rdi)
        pushq   $FLAGS_CLEAN
        popfq
        movq    REGISTERS_STACK(%rdi), %rsp
        movq    kept_value(%rip), %rax
        movq    %rax, REGISTERS_RDI(%rdi)
        movq    %fs:0, %rax
        movq    %rax, REGISTERS_FS_WORD(%rdi)
        movq    %gs:0, %rax
        movq    %rax, REGISTERS_GS_WORD(%rdi)
        movw    %cs, REGISTERS_SEGMENTS(%rdi)
        movw    %ss, REGISTERS_SEGMENTS+2(%rdi)
        movw    %ds, REGISTERS_SEGMENTS+4(%rdi)
        movw    %es, REGISTERS_SEGMENTS+6(%rdi)

        /* A changed red zone shows as a changed stack pointer. */
        movq    $-RED_ZONE_WORDS, %rcx
3:      leaq    (%rsp, %rcx, 8), %rax
        cmpq    %rax, (%rax)
        je      4f
        movq    $0, REGISTERS_STACK(%rdi)
4:      incq    %rcx
        jnz     3b

        leaq    REGISTERS_EXTENDED(%rdi), %r8
        call    extended_save
        leaq    kept_extended(%rip), %r8
        call    extended_load
        popfq
        popq    %r15
        popq    %r14
        popq    %r13
        popq    %r12
        popq    %rbp
        popq    %rbx
        ret
        .size   registers_hold, . - registers_hold

/* Save to, and load from, the 64-byte aligned area at R8. Change RAX and RDX. */
extended_save:
        movl    kept_components(%rip), %eax
        movl    kept_components+4(%rip), %edx
        movq    kept_components(%rip), %r9
        testq   %r9, %r9
        jz      5f
        xsave64 (%r8)
        ret
5:      fxsave64 (%r8)
        ret

extended_load:
        movl    kept_components(%rip), %eax
        movl    kept_components+4(%rip), %edx
        movq    kept_components(%rip), %r9
        testq   %r9, %r9
        jz      6f
        xrstor64 (%r8)
        ret
6:      fxrstor64 (%r8)
        ret

        .bss
        .balign 16
        .skip   64
scratch_top:

        .section .note.GNU-stack, "", @progbits
