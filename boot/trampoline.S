/* Entry point of CPUs that are started later: real mode at the page TRAMPOLINE (boot_main copies this code there), then
 * long mode on the boot page tables, then the CPU's start slot, which names its page tables and its stack. The code
 * uses no stack before that, so all CPUs may run it at once. Intel SDM 3A, 8.4.4 and 9.8. */
#include "kernel/instance/bootpage.h"
#include "kernel/arch/x86_64/base/layout.h"

#define HERE(label) (TRAMPOLINE + (label) - trampoline)

    .section .rodata
    .globl trampoline, trampoline_end
    .code16
trampoline:
    cli
    cld
    xorw %ax, %ax
    movw %ax, %ds
    lgdtl HERE(descriptor)
    movl %cr0, %eax
    orb $1, %al
    movl %eax, %cr0
    ljmpl $0x08, $HERE(protected)
    .code32
protected:
    movw $SELECTOR_KERNEL_DATA, %ax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %ss
    movl $boot_root, %eax
    movl %eax, %cr3
    movl $HERE(trampoline_end) + 256, %esp /* for one call; every CPU writes the same return address */
    movl $long_mode_prepare, %eax
    call *%eax
    ljmp $SELECTOR_KERNEL_CODE, $HERE(long_mode)
    .code64
long_mode:
    movabsq $start_cpu, %rax
    jmp *%rax
    .balign 8
gdt:
    .quad 0
    .quad 0x00cf9b000000ffff
    .quad 0x00af9b000000ffff
    .quad 0x00cf93000000ffff
descriptor:
    .short descriptor - gdt - 1
    .long HERE(gdt)
trampoline_end:

    .text
start_cpu:
    movl $0xb, %eax                 /* the 32-bit x2APIC id where the CPU has the leaf, else the 8-bit one */
    xorl %ecx, %ecx
    xorl %edi, %edi
    movl %eax, %r8d
    xorl %eax, %eax
    cpuid
    cmpl %r8d, %eax
    jb 1f
    movl %r8d, %eax
    xorl %ecx, %ecx
    cpuid
    testl %ebx, %ebx
    jz 1f
    movl %edx, %edi
    jmp 2f
1:  movl $1, %eax
    cpuid
    shrl $24, %ebx
    movl %ebx, %edi
2:  movl $boot_page, %esi           /* at its physical address: the low mapping of the boot page tables */
    movl 4(%rsi), %ecx
    addl $START_SLOTS_OFFSET, %esi
3:  cmpl %edi, SLOT_APIC_ID(%rsi)
    je 4f
    addl $START_SLOT_SIZE, %esi
    loop 3b
5:  hlt                             /* no starter has started this CPU */
    jmp 5b
4:  cmpl $SLOT_READY, SLOT_STATE(%rsi)
    jne 5b
    movq SLOT_ROOT(%rsi), %rax
    movq SLOT_STACK(%rsi), %rdx
    movl $SLOT_TAKEN, SLOT_STATE(%rsi)
    movabsq $image_enter, %rcx
    jmp *%rcx

/* boot_enter(root, stack): enters instance 0 from the template, as start_cpu enters the others. */
    .globl boot_enter
boot_enter:
    movq %rdi, %rax
    movq %rsi, %rdx
    jmp image_enter

/* Loads the page tables RAX and the stack RDX. The new tables map the image that the instance runs, perhaps another one
 * than this: each has this code as its first, so that the CPU goes on in the same place. It reads no memory of the
 * image before the change, and has to be the same in every image that one machine is to run. */
    .section .image.enter, "ax", @progbits
image_enter:
    movq %rax, %cr3
    movq %rdx, %rsp
    popq %rdi
    xorl %ebp, %ebp
    ret

    .section .note.GNU-stack, "", @progbits
