/* From the firmware's boot protocol to C: a multiboot2 header for GRUB, a PVH note for QEMU's -kernel, and one
 * 32-bit entry behind both that switches to long mode and calls boot_main(magic, information).
 * GNU multiboot2 specification 2.0, sections 3.1 and 3.3; Xen's PVH boot ABI. */
#include "kernel/instance/bootpage.h"
#include "kernel/arch/x86_64/base/layout.h"

#define MULTIBOOT2_MAGIC 0xe85250d6
#define PVH_MAGIC 0x336ec578
#define XEN_ELFNOTE_PHYS32_ENTRY 18

    .section .multiboot2, "a", @progbits
    .balign 8
header:
    .long MULTIBOOT2_MAGIC, 0, header_end - header, -(MULTIBOOT2_MAGIC + 0 + (header_end - header))
    .balign 8
    .short 1, 0                     /* information requested: command line, modules, memory map */
    .long 8 + 3 * 4
    .long 1, 3, 6
    .balign 8
    .short 6, 0                     /* modules on page boundaries */
    .long 8
    .balign 8
    .short 0, 0
    .long 8
header_end:

    .section .note.pvh, "a", @note
    .balign 4
    .long 4, 4, XEN_ELFNOTE_PHYS32_ENTRY
    .asciz "Xen"
    .long entry_pvh

    .section .boot.text, "ax", @progbits
    .code32
    .globl entry_multiboot2, entry_pvh
entry_pvh:
    movl $PVH_MAGIC, %edi
    jmp 1f
entry_multiboot2:
    movl %eax, %edi
1:  cli
    cld
    movl %ebx, %esi
    movl $boot_stack_top, %esp
    movl $boot_root, %eax
    movl %eax, %cr3
    call long_mode_prepare
    lgdt boot_gdt_descriptor
    ljmp $SELECTOR_KERNEL_CODE, $2f
    .code64
2:  movl $SELECTOR_KERNEL_DATA, %eax
    movl %eax, %ss
    movq $boot_stack_top, %rsp
    movl %edi, %edi
    movl %esi, %esi
    xorl %ebp, %ebp
    movabsq $boot_main, %rax
    call *%rax
3:  hlt
    jmp 3b

/* Expects page tables in cr3; enables PAE, long mode, NX and paging. Preserves edi, esi, ebx. The trampoline calls it,
 * too. */
    .code32
    .globl long_mode_prepare
long_mode_prepare:
    movl %cr4, %eax
    orl $0x20, %eax                 /* PAE */
    movl %eax, %cr4
    movl $0xc0000080, %ecx
    rdmsr
    orl $0x900, %eax                /* LME, NXE */
    wrmsr
    movl %cr0, %eax
    orl $0x80000001, %eax
    andl $~0x6000000c, %eax         /* caches on, no FPU emulation */
    movl %eax, %cr0
    ret

    .section .boot.data, "aw", @progbits
    .globl boot_gdt_descriptor
    .balign 8
boot_gdt:
    .quad 0
    .quad 0x00cf9b000000ffff        /* 0x08: 32-bit code */
    .quad 0x00af9b000000ffff        /* SELECTOR_KERNEL_CODE, as in every CPU's own table later */
    .quad 0x00cf93000000ffff        /* SELECTOR_KERNEL_DATA */
boot_gdt_descriptor:
    .short . - boot_gdt - 1
    .quad boot_gdt

/* The first 4 GiB at their own addresses, and the first 1 GiB again at KERNEL_BASE, in 2 MiB pages. */
    .balign 4096
    .globl boot_root
boot_root:
    .quad boot_low + 3
    .fill 510, 8, 0
    .quad boot_high + 3
boot_low:
    .quad boot_directory + 3, boot_directory + 0x1003, boot_directory + 0x2003, boot_directory + 0x3003
    .fill 508, 8, 0
boot_high:
    .fill 510, 8, 0
    .quad boot_directory + 3
    .quad 0
boot_directory:
    .set page, 0
    .rept 2048
    .quad page + 0x83
    .set page, page + 0x200000
    .endr

    .section .boot.bss, "aw", @nobits
    .balign 4096
    .globl boot_page
boot_page:
    .skip BOOT_PAGE_SIZE
    .globl boot_page_end
boot_page_end:
    .balign 16
    .skip 16384
boot_stack_top:

    .section .note.GNU-stack, "", @progbits
