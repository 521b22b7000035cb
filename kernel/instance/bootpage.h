/* The boot page: the only memory besides the rings that instances share.
 *
 * It lies in the loaded image below 2 MiB and holds the state that the machine has only once: the start slot of each
 * CPU, which the trampoline reads before the CPU belongs to any instance, the owner word of the debug console, and the
 * shared state of the CPUs' clocks. boot/trampoline.S uses the offsets. */
#ifndef KERNEL_INSTANCE_BOOTPAGE_H
#define KERNEL_INSTANCE_BOOTPAGE_H

#include "kernel/abi/limits.h"

#define START_SLOT_SIZE 32
#define START_SLOTS_OFFSET 64
#define SLOT_APIC_ID 0
#define SLOT_STATE 4
#define SLOT_ROOT 8
#define SLOT_STACK 16

#define BOOT_PAGE_SIZE 12288 /* bytes reserved in entry.S */

#define END_NOT 0u
#define END_SILENT 1u /* a kernel ends the machine by its panic: each CPU halts */
#define END_TOLD 2u   /* kernel 0 has died: each CPU says where it is and what its threads wait for, and halts */

#define SLOT_EMPTY 0u
#define SLOT_READY 1u /* written by the starter after root and stack */
#define SLOT_TAKEN 2u /* written by the CPU when it has left the trampoline */

#ifndef __ASSEMBLER__
#include <stdint.h>

#include "kernel/arch/x86_64/clock.h"

struct start_slot {
    uint32_t apic_id;        /* [i] */
    volatile uint32_t state; /* [a] SLOT_*; the CPU owns the slot while it is READY, else the starter */
    volatile uint64_t root;  /* physical address of the page tables to load */
    volatile uint64_t stack; /* virtual; holds an argument and the function to return to */
    uint64_t pad;
};

struct boot_page {
    volatile uint32_t console_owner; /* [a] log.h */
    uint32_t slot_count;             /* [i] trampoline.S knows its offset, 4 */
    volatile uint32_t ending;        /* [a] END_*: what a CPU does that gets an NMI */
    uint32_t pad;
    struct clock_shared clock;         /* [a] kernel/arch/x86_64/clock.h */
    volatile uint64_t watched;         /* [a] kernels whose death the others survive: written by kernel 0 */
    volatile uint64_t stopped;         /* [a] kernels that have died: a CPU of one that gets an NMI halts for good */
    volatile uint64_t probed;          /* [a] kernels that are asked by an NMI whether their CPUs run */
    volatile uint64_t asked;           /* [a] kernels that die because a program has asked for it */
    struct start_slot slots[CPUS_MAX]; /* by machine-wide CPU number */
};

_Static_assert(sizeof(struct start_slot) == START_SLOT_SIZE, "trampoline.S knows the size of a slot");
_Static_assert(sizeof(struct boot_page) <= BOOT_PAGE_SIZE, "entry.S reserves the boot page");
#endif

#endif
