/* Page tables of programs on the CPUs of this instance: loading them, and TLB shootdown. Page tables are identified by
 * the physical address of their root.
 *
 * A CPU that switches to a thread without a program keeps the loaded tables, so that idling and then resuming the same
 * program loses no TLB entries (lazy TLB, as in Linux). A shootdown learns from struct cpu which CPUs have the tables
 * loaded. An instance runs one shootdown at a time. A spinning CPU answers the shootdowns of others (cpu_relax), so the
 * initiator may hold spinlocks, but two CPUs must not wait for each other in any other way. */
#ifndef KERNEL_ARCH_X86_64_TLB_H
#define KERNEL_ARCH_X86_64_TLB_H

#include <stdint.h>

/* Sets the kernel's own tables, which a CPU loads to give up tables that it only keeps loaded. Called once, before the
 * first shootdown. */
void tlb_init(uint64_t kernel_root);

/* tlb_load loads the tables of ROOT on this CPU unless they are loaded already; tlb_load_own loads the kernel's own. */
void tlb_load(uint64_t root);
void tlb_load_own(void);
/* Marks the loaded tables as only kept, because the next thread of this CPU has no program. They stay loaded until
 * tlb_load, or until another CPU initiates a shootdown of them. */
void tlb_keep(void);

/* Flushes [START, END) of the tables of ROOT from the TLBs of this instance's CPUs; returns when all have flushed. */
void tlb_flush(uint64_t root, uint64_t start, uint64_t end);
/* Every CPU of this instance flushes its TLB; returns when all have flushed. */
void tlb_flush_all(void);
/* Called before the tables of ROOT are freed, when no program uses them: the CPUs that still keep them unload them. */
void tlb_forget(uint64_t root);

/* Called in timer interrupts, at NOW (clock_now ns). Under QEMU's TCG it flushes the calling CPU's TLB now and then:
 * TCG finds addresses by a table of its own for each CPU, direct-mapped and at first of 256 pages, which it makes
 * larger where it was used well, but only when it is flushed (accel/tcg/cputlb.c, tlb_mmu_resize_locked). A CPU that
 * runs one thread flushes nothing otherwise, and spends most of its time in missing that table. Elsewhere it does
 * nothing. */
void tlb_tick(uint64_t now);

/* Handles the shootdown interrupt. A spinning CPU answers shootdowns without it: cpu_relax in
 * kernel/arch/x86_64/cpu.h. */
void tlb_interrupt(void);

#endif
