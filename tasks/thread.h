/* Threads. A program's thread exists on every kernel it has run on: on one it is present, on the others a shadow of it
 * waits (Popcorn thesis 5.2). Kernel threads have no group and never move.
 *
 * Marks: [i] set once, [q] under the lock of the run queue of its CPU, [g] under group->lock, [o] the thread itself. */
#ifndef TASKS_THREAD_H
#define TASKS_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/arch/x86_64/layout.h"
#include "kernel/arch/x86_64/traps.h"
#include "kernel/lib/completion.h"
#include "kernel/lib/list.h"
#include "msg/call.h"

struct group;

#define TID_KERNEL_SHIFT 16u /* a thread id is its birth kernel << 16 | a number that is unique there */
#define THREAD_NAME_MAX 16

enum thread_state { THREAD_READY, THREAD_RUNNING, THREAD_BLOCKED, THREAD_DEAD };

/* Where the thread is, seen from this kernel; the states of tasks/migration.md. */
enum thread_presence { THREAD_PRESENT, THREAD_LEAVING, THREAD_SHADOW };

/* What a thread that sleeps in its migration does when it wakes (the thesis's return disposition). */
enum thread_disposition { DISPOSITION_NONE, DISPOSITION_RETURN, DISPOSITION_EXIT, DISPOSITION_FAIL };

/* What moves with a thread, as it is, besides the frame on its kernel stack and its FPU state. */
struct thread_context {
    uint64_t fs_base, gs_base;
    uint64_t signal_mask;     /* bit s - 1 is signal s */
    uint64_t signal_pending;  /* sent while in the mask */
    uint64_t clear_child_tid; /* user address, or 0 */
    uint64_t robust_list;     /* user address, or 0 */
    uint64_t moves;           /* migrations so far */
    char name[THREAD_NAME_MAX];
};

struct thread {
    struct list table_node; /* in the table of threads, by tid */
    struct list group_node; /* [g] in group->threads */
    struct list queue_node; /* [q] in a run queue or among its sleepers */
    uint32_t tid;           /* [i] */
    uint32_t cpu;           /* [i] index of the CPU it runs on, in this instance */
    struct group *group;    /* [i] NULL for a kernel thread */

    enum thread_state state;   /* [q] */
    bool interruptible;        /* [q] a kill may end this wait */
    struct wait_reason reason; /* [q] valid while BLOCKED */
    uint64_t wake_at;          /* [q] nanoseconds, while among the sleepers */
    uint64_t saved_stack;      /* [q] stack pointer while not running */
    uint64_t stack;            /* [i] lowest address of the kernel stack */
    bool idle;                 /* [i] a CPU's idle thread */

    enum thread_presence presence;       /* [g] */
    enum thread_disposition disposition; /* [g] */
    int fail_error;                      /* [g] with DISPOSITION_FAIL */
    uint32_t move;                       /* [g] counts departures, so that a late answer is recognised */
    kernel_set visited;                  /* [o] kernels that hold a shadow, or this one */

    void *fpu;                     /* [o] cpu_features.fpu_size bytes; moves with the thread */
    struct thread_context context; /* [o] */
};

/* Makes the tables. Once. */
void thread_init(void);

/* A kernel thread that runs FUNCTION(ARGUMENT); it ends when FUNCTION returns. Not yet started. NULL without memory. */
struct thread *thread_create_kernel(const char *name, void (*function)(void *), void *argument);
/* A program's thread TID of GROUP, with a zeroed frame and a fresh FPU state; not yet in the group, not yet started.
 * Takes a reference to GROUP. NULL without memory. */
struct thread *thread_create_user(uint32_t tid, struct group *group);
/* The lowest address of a kernel stack, STACK_SIZE bytes with unmapped memory below; 0 without memory. */
uint64_t thread_stack_alloc(void);
/* A thread id never used before on this kernel. */
uint32_t thread_new_tid(void);
/* Frees a thread that no CPU runs and no list holds. */
void thread_free(struct thread *thread);

/* Makes thread_find pass over THREAD, which is about to be freed; under its group's lock. */
void thread_forget(struct thread *thread);
/* The thread TID on this kernel, present or shadow, or NULL. Stays valid while the caller holds its group's lock or
 * is the thread itself. */
struct thread *thread_find(uint32_t tid);

/* The running thread. */
struct thread *thread_current(void);

/* The user registers of a program's thread while it is in the kernel. */
static inline struct trap_frame *thread_frame(const struct thread *thread)
{
    return (struct trap_frame *)(thread->stack + STACK_SIZE - sizeof(struct trap_frame));
}

/* Goes to user mode with the state in the current thread's frame, after what is due before that. */
_Noreturn void thread_enter_user(void);
/* What is due before the current thread returns to user mode: dying, rescheduling. */
void thread_before_user(void);
/* Registers and FPU of the current thread are to be taken from its structure: after it was refilled. */
void thread_reload(struct thread *thread);

#endif
