/* One CPU of this instance: its private data, reached through GS, and its descriptor tables.
 *
 * Ownership marks: [i] set once before the CPU runs; [o] used by the CPU itself only; [a] atomic. */
#ifndef KERNEL_ARCH_CPU_H
#define KERNEL_ARCH_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/abi/limits.h"
#include "kernel/arch/x86_64/base/instructions.h"
#include "kernel/arch/x86_64/base/layout.h"

struct task_state_segment { /* Intel SDM 3A, figure 8-11 */
    uint32_t reserved0;
    uint64_t rsp[3];
    uint64_t reserved1;
    uint64_t ist[7];
    uint64_t reserved2;
    uint16_t reserved3;
    uint16_t io_map;
} __attribute__((packed));

#define IST_NMI 1 /* interrupt stack table entries, from 1 */
#define IST_DOUBLE_FAULT 2
#define IST_MACHINE_CHECK 3
#define IST_COUNT 3
#define IST_STACK_SIZE 4096

/* Where a silence ended: kernel/arch/x86_64/silence.h. */
struct silence {
    uint64_t counts;
    uint64_t place;  /* an address in the function that looked for messages then, or 0: the return to user mode */
    uint64_t vector; /* what the thread had entered the kernel by, a field of struct trap_frame; */
    uint64_t call;   /* for a system call its number */
};

struct cpu {
    /* assembly knows the offsets of these three: CPU_SELF, CPU_USER_STACK, CPU_KERNEL_STACK */
    struct cpu *self;      /* [i] */
    uint64_t user_stack;   /* [o] a program's stack pointer while SYSCALL switches stacks */
    uint64_t kernel_stack; /* [o] top of the running thread's kernel stack */
    /* [o] counts of the time stamp counter that the running thread has spent in user mode since the scheduler last read
     * them. While the thread is in user mode the counter's value at entry is subtracted, so the field is negative.
     * Other CPUs may read it. */
    volatile int64_t user_counts;
    /* The gauge of silence: kernel/arch/x86_64/silence.h. In counts of the time stamp counter. */
    uint64_t silent_since; /* [o] when this CPU last took messages, or could have been interrupted for one */
    volatile uint64_t silence_longest; /* [o] may be set to 0 by other CPUs */

    uint32_t index;              /* [i] number within the instance, from 0 */
    uint32_t number;             /* [i] machine-wide number: index into the plan's CPUs */
    uint32_t apic_id;            /* [i] */
    uint32_t node;               /* [i] machine-wide number, below 256 */
    volatile bool online;        /* [a] runs the scheduler */
    volatile bool resched;       /* [a] the CPU must enter the scheduler before it returns to user mode */
    void *thread;                /* [o] the thread running here (struct thread) */
    void *scheduler;             /* [i] the run queue of this CPU (tasks) */
    const void *fpu_owner;       /* [o] the thread whose FPU state the registers hold, or NULL */
    volatile uint64_t root;      /* [a] physical address of the page tables loaded, for shootdown */
    volatile uint64_t root_left; /* [a] root of the tables that another load is about to replace, else 0 */
    volatile bool flush_pending; /* [a] a shootdown waits for this CPU */
    bool copy_bound;             /* [o] a copy of a program's memory is under way that must not take a fault */
    bool root_kept;              /* [o] the running thread does not use the program's half of the tables: tlb_keep */
    uint64_t idle_polls;         /* [o] times the idle loop looked for messages */
    uint64_t interrupts;         /* [o] doorbells taken */
    struct silence silence;      /* [o] the longest one */

    uint64_t gdt[10]; /* [i] */
    struct task_state_segment tss;
    uint8_t ist_stacks[IST_COUNT][IST_STACK_SIZE] __attribute__((aligned(16)));
};

#define CPU_SELF 0
#define CPU_USER_STACK 8
#define CPU_KERNEL_STACK 16
#define CPU_USER_COUNTS 24
#define CPU_SILENT_SINCE 32
#define CPU_SILENCE_LONGEST 40

_Static_assert(offsetof(struct cpu, user_counts) == CPU_USER_COUNTS, "cpu_enter_user uses it");
_Static_assert(offsetof(struct cpu, silent_since) == CPU_SILENT_SINCE, "the gauge of silence uses it");
_Static_assert(offsetof(struct cpu, silence_longest) == CPU_SILENCE_LONGEST, "the gauge of silence uses it");

/* Features of the machine that change what the kernel does; the same on every CPU. */
struct cpu_features {
    bool x2apic, smep, smap, nx, xsave, pages_1g;
    bool translated;   /* QEMU's TCG executes translations of the instructions (tlb_tick) */
    uint64_t xcr0;     /* state components that XSAVE handles here, 0 without XSAVE */
    uint32_t fpu_size; /* bytes of a thread's FPU state area */
};

extern struct cpu_features cpu_features; /* [i] */
extern struct cpu *cpus[CPUS_MAX];       /* [i] the CPUs of this instance, by index */
extern uint32_t cpu_total;               /* [i] how many there are */
extern bool cpu_several;                 /* [i] the instance has more than one CPU, so locks must be atomic */
extern bool smap_enabled;                /* [i] read by user_copy in assembly */

/* The calling CPU's structure. */
static inline struct cpu *cpu_self(void)
{
    return gs_read(CPU_SELF);
}

static inline uint32_t cpu_index(void)
{
    return cpu_self()->index;
}

/* Adds NUMBER to *COUNTER, which CPUs of this instance alone change, and returns the sum. */
static inline uint32_t cpu_add(volatile uint32_t *counter, uint32_t number)
{
    return cpu_several ? __atomic_add_fetch(counter, number, __ATOMIC_ACQ_REL) : (*counter += number);
}

/* Notes that a silence of this CPU, the longest so far, ends NOW, in the function that PLACE is in; 0: with the return
 * to user mode. */
void silence_note(uint64_t now, uint64_t place);

/* cpu_enter_user is called before the calling CPU enters user mode, cpu_leave_user after it has left user mode. They
 * account the CPU time of threads, and are the ends of a silence. */
static inline void cpu_enter_user(void)
{
    uint64_t now = rdtsc_unordered();

    if (__builtin_expect(gs_exceeds(now, CPU_SILENT_SINCE, CPU_SILENCE_LONGEST), 0))
        silence_note(now, 0);
    gs_add(CPU_USER_COUNTS, 0 - now);
}

static inline void cpu_leave_user(void)
{
    uint64_t now = rdtsc_unordered();

    gs_add(CPU_USER_COUNTS, now);
    gs_write(CPU_SILENT_SINCE, now);
}

/* Fills cpu_features. Called once, on the instance's first CPU. */
void cpu_detect(void);

/* Makes CPU the calling CPU's structure, loads its descriptor tables and switches on the features. INDEX, number,
 * apic_id and node are set by the caller. */
void cpu_init(struct cpu *cpu);

/* Sets the stack that entries from user mode use: TOP is the top of the running thread's kernel stack. */
void cpu_set_kernel_stack(uint64_t top);

/* Called in each round of a spin loop: executes PAUSE and answers shootdowns (kernel/arch/x86_64/tlb.c). */
void cpu_relax(void);
/* Called now and then in a long operation: answers a pending shootdown. */
static inline void cpu_answer(void)
{
    if (cpu_several && cpu_self()->flush_pending)
        cpu_relax();
}

/* Initializes an FPU state area (cpu_features.fpu_size bytes, 64-byte aligned) for a new program. */
void fpu_init_area(void *area);
/* Loads the state of a new program into the FPU. */
void fpu_reset(void);
void fpu_save(void *area);
/* As fpu_save, into an area that has never held a state: what saving leaves unwritten becomes zero. */
void fpu_save_first(void *area);
void fpu_restore(const void *area);
/* Returns the FPE_* code of an x87 (or SIMD) exception of the running program, whose state is in the registers. */
int32_t fpu_fault_code(bool simd);
/* Returns whether a state area from another source is valid, so that restoring it cannot fault. */
bool fpu_area_valid(const void *area);

/* A state area has the state of x87 and SSE in its first FPU_BASIC_SIZE bytes, the bits of the components that are not
 * in their initial state, and the other components in parts; offsets and sizes are multiples of 8 bytes. All else has
 * no meaning. */
struct fpu_part {
    uint32_t offset, size;
    uint32_t component; /* its bit in XCR0 and XSTATE_BV */
};
#define FPU_BASIC_SIZE 416u
#define FPU_PARTS_MAX 16
extern struct fpu_part fpu_parts[FPU_PARTS_MAX]; /* [i] */
extern uint32_t fpu_part_count;                  /* [i] */
/* The components of AREA that are not in their initial state: XSTATE_BV. Without XSAVE there are no bits: 0. */
uint64_t fpu_components(const void *area);
void fpu_set_components(void *area, uint64_t components);
/* All that there can be. */
uint64_t fpu_components_all(void);

#endif
