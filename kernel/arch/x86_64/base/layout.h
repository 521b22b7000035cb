/* The layout of an instance's address space, and the segment selectors, for C and assembly.
 *
 * Every instance uses the same virtual addresses; each instance backs them with its own memory. */
#ifndef KERNEL_ARCH_X86_64_BASE_LAYOUT_H
#define KERNEL_ARCH_X86_64_BASE_LAYOUT_H

#define KERNEL_BASE 0xffffffff80000000 /* image is linked at KERNEL_BASE + its load address */

#define DIRECT_BASE 0xffff888000000000 /* + physical address: the instance's own memory only */

#define WINDOW_BASE 0xffffc90000000000 /* one top-level slot holds all windows below */
#define DEVICE_BASE 0xffffc90000000000 /* memory-mapped devices */
#define RING_BASE 0xffffc90100000000   /* the rings this instance sends on, one window per peer */
#define STACK_BASE 0xffffc90200000000  /* kernel stacks with a guard page below each */
#define CHUNK_BASE 0xffffc90400000000  /* another instance's chunk, while it is being built */
#define MODULE_BASE 0xffffc90500000000 /* the initramfs, instance 0 only */

#define COPY_BASE 0xffffc90700000000 /* a peer's frame while it is copied: two pages for each CPU */
#define LENT_BASE                                                                                                      \
    0xffffc90700100000 /* a sender's memory while its message is taken or handled; behind the pages above */
#define TEMPLATE_BASE 0xffffc90600000000 /* the image as loaded, instance 0 only, read-only */

#define USER_END 0x00007ffffffff000    /* first address a program cannot map */
#define KERNEL_HALF 0xffff800000000000 /* the first canonical address of the other half, which is the kernel's */

/* The last two pages of every program's address space: a data page about time, and a page of code that reads it:
 * kernel/vdso/pages.h. */
#define VDSO_SIZE 0x1000
#define VDSO_BASE (USER_END - VDSO_SIZE)
#define VVAR_BASE (VDSO_BASE - 0x1000)

#define TRAMPOLINE 0x8000 /* physical page below 1 MiB where a started CPU begins in real mode */

#define SELECTOR_KERNEL_CODE 0x10
#define SELECTOR_KERNEL_DATA 0x18
#define SELECTOR_USER_BASE 0x20
#define SELECTOR_USER_DATA 0x2b
#define SELECTOR_USER_CODE 0x33
#define SELECTOR_TSS 0x38
#define SELECTOR_CPU_NUMBER 0x4b /* never loaded: its limit is CPU_NUMBER(cpu, node), which programs read by LSL */

#define CPU_NUMBER_NODE_SHIFT 12
#define CPU_NUMBER(cpu, node) ((uint64_t)(cpu) | (uint64_t)(node) << CPU_NUMBER_NODE_SHIFT)

#define STACK_SIZE 16384 /* bytes of one kernel stack */

#endif
