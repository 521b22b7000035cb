/* Page tables of programs on the CPUs of this instance: which tables a CPU has loaded, and the shootdown of what its
 * TLB keeps of them. Tables are named by the physical address of their root.
 *
 * A CPU whose next thread has no program keeps what is loaded: idling and going on with the same program then costs no
 * TLB entry (lazy TLB, as in Linux). A shootdown finds out from struct cpu which CPUs have the tables. Shootdowns of an
 * instance are one at a time; a CPU that spins answers those of others (cpu_relax), so whoever asks for one may hold
 * spinlocks, but no two CPUs may wait for each other otherwise. */
#ifndef KERNEL_ARCH_X86_64_TLB_H
#define KERNEL_ARCH_X86_64_TLB_H

#include <stdint.h>

/* The tables that a CPU loads in place of those it only keeps: the kernel's own. Once, before the first shootdown. */
void tlb_init(uint64_t kernel_root);

/* Loads the tables of ROOT on this CPU, unless they are loaded; and the kernel's own. */
void tlb_load(uint64_t root);
void tlb_load_own(void);
/* What runs on this CPU from now on has no program: the tables that are loaded stay until tlb_load, or until a
 * shootdown on another CPU. */
void tlb_keep(void);

/* Flushes [START, END) of the tables of ROOT from the TLBs of this instance's CPUs; returns when all have. */
void tlb_flush(uint64_t root, uint64_t start, uint64_t end);
/* Every CPU of this instance flushes its TLB; returns when all have. */
void tlb_flush_all(void);
/* No program has the tables of ROOT any more, so they are to be freed: the CPUs that only keep them let go. */
void tlb_forget(uint64_t root);

/* The shootdown interrupt, which a CPU that spins answers too: cpu_relax of kernel/arch/x86_64/cpu.h. */
void tlb_interrupt(void);

#endif
