/* Threads. A program's thread has a replica on every kernel it has run on: on one kernel it is present, on the others a
 * shadow of it waits (Popcorn thesis 5.2). Kernel threads have no group and never move.
 *
 * Marks: [i] set once; [a] atomic; [q] under the lock of the run queue of its CPU; [g] under group->lock; [o] used by
 * the thread itself. */
#ifndef TASKS_THREAD_THREAD_H
#define TASKS_THREAD_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/limits.h"
#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/traps.h"
#include "kernel/lib/list.h"
#include "kernel/wait/completion.h"
#include "mm/mempolicy/mempolicy.h"
#include "msg/request/call.h"
#include "tasks/sched/fair/fair.h"
#include "tasks/signal/queue/queue.h"
#include "tasks/thread/account.h"
#include "tasks/thread/credentials.h"

struct group;
struct pi_donation;
struct pi_wait;

#define TID_KERNEL_SHIFT 16u /* a thread id is the role of its birth kernel << 16 | a number that is unique there */
#define TIMER_SLACK 50000u   /* ns: what prctl(2) returns for a thread none of whose creators has set one */
#define THREAD_NAME_MAX 16

enum thread_state { THREAD_READY, THREAD_RUNNING, THREAD_BLOCKED, THREAD_DEAD };

/* Whether the thread is on this kernel; the states of tasks/migrate/migration.md. */
enum thread_presence { THREAD_PRESENT, THREAD_LEAVING, THREAD_SHADOW };

/* How a thread that sleeps in its migration continues when it wakes (the thesis's return disposition). */
enum thread_disposition { DISPOSITION_NONE, DISPOSITION_RETURN, DISPOSITION_EXIT, DISPOSITION_FAIL };

/* What is due for a thread before it returns to user mode: bits of thread->due. */
#define THREAD_DUE_SIGNAL 1u  /* there may be a signal to deliver: tasks/user/deliver.c */
#define THREAD_DUE_MOVE 2u    /* the thread is to move to thread->target: tasks/migrate/migrate.c */
#define THREAD_DUE_STOP 4u    /* its group is stopped: tasks/process/stop.c */
#define THREAD_DUE_RSEQ 8u    /* it was switched away and has registered rseq(2): tasks/user/rseq.c */
#define THREAD_DUE_FREEZE 16u /* all programs are to quiesce: tasks/freeze/freeze.c */
#define THREAD_DUE_PASSED 32u /* a freeze made its call restart: tasks/freeze/freeze.c */
#define THREAD_DUE_MEMORY 64u /* root's, it was refused memory for which a process is killed: tasks/oom/oom.c */

#define THREAD_DUE_INTERRUPTS                                                                                          \
    (THREAD_DUE_SIGNAL | THREAD_DUE_MOVE | THREAD_DUE_STOP | THREAD_DUE_FREEZE) /* these end waits */

/* A system call whose wait was interrupted, and that has changed nothing, returns one of these, negated, in place of an
 * errno; programs never see them. The number and arguments of the call and its state in context.restart_* move with the
 * thread, so the call may restart on another kernel. Values as in Linux. */
#define ERESTARTSYS 512    /* the call restarts, unless a handler without SA_RESTART runs: then EINTR */
#define ERESTARTNOINTR 513 /* the call restarts in any case */
#define ERESTARTNOHAND 514 /* the call restarts, unless a handler runs: then EINTR */
#define ERESTART_RESTARTBLOCK                                                                                          \
    516 /* restarts as restart_syscall(2), by context.restart_function; if a handler runs: EINTR */

/* Index of the function with which restart_syscall(2) continues; kernel/calls has the table. */
enum thread_restart {
    RESTART_NONE,
    RESTART_NANOSLEEP,
    RESTART_FUTEX,
    RESTART_POLL,
    RESTART_STOP,
    RESTART_WRITE,
    RESTART_SIGNAL,
    RESTART_EPOLL
};

/* The state that moves with a thread unchanged, in addition to the frame on its kernel stack, its FPU state and its
 * queued signals. Fields that few threads use are at the end, because a run of zeros is cheapest to move. */
struct thread_context {
    uint64_t fs_base, gs_base;
    uint64_t clear_child_tid;    /* user address, or 0 */
    uint64_t signal_mask;        /* bit s - 1 is signal s */
    uint64_t user_ns, system_ns; /* CPU time used so far, on all kernels: sched_cpu_time adds what is not settled yet */
    uint64_t start_ns;           /* when the thread was created, clock_now */
    uint64_t moves;              /* migrations so far */
    /* ns: stored for prctl(2), and what a 0 there sets; timers here are never delayed on purpose */
    uint64_t timer_slack, timer_slack_usual;
    char name[THREAD_NAME_MAX];
    uint32_t stack_flags;      /* SS_* of sigaltstack */
    uint32_t flags;            /* CONTEXT_* */
    uint16_t interrupted;      /* 0, or the ERESTART* of the call that was interrupted */
    uint16_t restart_function; /* enum thread_restart */
    int16_t nice;              /* -20 to 19 */
    uint16_t policy; /* SCHED_*, and above POLICY_PRIORITY_SHIFT the real priority: see tasks/sched/fair/fair.h */
    uint64_t affinity[CPUS_MAX / 64]; /* CPUs of the machine, by plan index, that it may run on */
    uint64_t robust_list;             /* user address, or 0 */
    uint64_t signal_saved_mask;       /* with CONTEXT_RESTORE_MASK: the mask to restore afterwards */
    uint64_t stack_base, stack_size;  /* sigaltstack(2): bytes; size 0: none */
    uint64_t rseq;                    /* user address of the registered area, or 0 */
    uint64_t restart_argument[3];     /* of restart_function; the first is a deadline in clock_now ns, if any */
    uint32_t rseq_size, rseq_signature;
    uint32_t chosen;     /* not 0: it has moved to its kernel by kettle_migrate and stays there (tasks/balance/draw.c),
                            until its affinity is set */
    uint32_t numa_group; /* 0: none (mm/seen/group.md) */
    struct credentials credentials;
    struct policy memory_policy; /* NUMA placement of its pages: set_mempolicy(2) */
};
#define CONTEXT_RESTORE_MASK 1u
#define CONTEXT_NO_NEW_PRIVILEGES 2u /* exec ignores set-user-id and set-group-id: prctl(2) */
#define CONTEXT_KEEP_CAPABILITIES 4u /* stored for prctl(2), until exec */
#define CONTEXT_INHERITED (CONTEXT_NO_NEW_PRIVILEGES | CONTEXT_KEEP_CAPABILITIES)

/* Priority inheritance: the state of a thread that owns, or waits for, locks of FUTEX_LOCK_PI (tasks/futex/pi/pi.md);
 * all zero at first. */
struct pi_thread {
    struct pi_donation *donations; /* [g] one for each lock that it owns and others wait for; they move with it */
    struct pi_wait *wait;          /* [g] its wait for a lock, or at a futex word to be requeued to a lock; or NULL */
    bool closed;                   /* [g] it is ending: it accepts no donations any more */
};

struct thread {
    struct list table_node;    /* in the table of threads, by tid */
    struct list group_node;    /* [g] in group->threads */
    struct list queue_node;    /* [q] among the blocked threads of its CPU */
    struct sched_entity share; /* [q] its scheduling entity, among the ready or the sleeping threads of its CPU */
    uint32_t tid;              /* [i] except that exec changes it: thread_rename */
    volatile uint32_t cpu;   /* [q] index of the CPU it runs on or ran on, in this instance; read without the lock: see
                                sched_lock in tasks/sched/internal.h */
    uint64_t user_counts;    /* [q] time-stamp counts in user mode that are not yet in context.user_ns */
    uint32_t fpu_cpu;        /* [o] index of the CPU whose registers were last loaded with its FPU state */
    bool donated;            /* [g] it runs with donated_policy and donated_nice, which are better than its own */
    uint16_t donated_policy; /* [g] of a thread that waits for a lock which this one owns: tasks/futex/pi/pi.md */
    int16_t donated_nice;    /* [g] */
    bool transit;            /* [q] ready but in no queue: the code that carries it puts it into the queue of its CPU */
    struct group *group;     /* [i] NULL for a kernel thread */
    uint32_t quota_user;     /* [i] user whose QUOTA_TASKS it counts in, here where it was made; root: none */

    enum thread_state state;   /* [q] */
    enum wait_end wait_end;    /* [q] valid while BLOCKED: what may end the wait */
    struct wait_reason reason; /* [q] valid while BLOCKED */
    uint64_t wake_at;          /* [q] ns, 0: no deadline; valid while BLOCKED */
    uint64_t saved_stack;      /* [q] stack pointer while not running */
    uint64_t stack;            /* [i] lowest address of the kernel stack */
    bool idle;                 /* [i] a CPU's idle thread */
    uint8_t work_rank;         /* [o] of a worker: 1 + the rank of the item that it does; 0: none */

    enum thread_presence presence;       /* [g] */
    enum thread_disposition disposition; /* [g] */
    int fail_error;                      /* [g] with DISPOSITION_FAIL */
    uint32_t move;                       /* [g] counts departures, to recognize a late reply */
    uint32_t went_to;                    /* [g] unless PRESENT: the kernel it moved to */
    uint32_t counted_on;                 /* [g] 1 + the kernel for which group->made counts it; 0: none */
    uint32_t robust_note;                /* [g] 1 + the number of its note at the home, 0: none: tasks/futex/note.c */
    uint64_t fetched_before;             /* [o] space->stats.fetches when it arrived here */
    kernel_set visited;                  /* [o] kernels that have a shadow of it, including this one */

    struct signal_queue signals; /* [g] sent to it alone */
    volatile uint64_t awaited;   /* [o] blocked signals that it awaits in sigtimedwait(2) */
    bool quiesced;               /* [g] quiesced because its group is stopped */
    bool in_vfork;               /* [g] waits for processes that use its memory; it moves after that */
    volatile bool frozen;        /* [o] quiesced by a freeze: see tasks/freeze/freeze.h */
    uint32_t target;             /* [g] with THREAD_DUE_MOVE: kernel */
    uint64_t child_tid;          /* [o] first thread of a new process: user address where it writes its id, or 0 */
    union {
        struct {
            volatile uint32_t due;    /* [a] THREAD_DUE_*: checked before it returns to user mode */
            volatile uint32_t doomed; /* [a] bool: it is to die although its group does not end (exec) */
        };
        volatile uint64_t due_or_doomed; /* [a] both in one read */
    };

    struct pi_thread pi;           /* [g] priority inheritance */
    struct account account;        /* [o] its counters on this kernel, which stay here when it moves */
    void *fpu;                     /* [o] cpu_features.fpu_size bytes; moves with the thread */
    struct thread_context context; /* [o] */
};

/* Initializes the tables of threads and groups. To be called once. */
void thread_init(void);

/* Makes a thread with a kernel stack, on which FUNCTION(ARGUMENT) begins; FUNCTION must call sched_after_switch first.
 * The thread is in no table, has no group and is not yet started. NULL without memory. */
struct thread *thread_create(uint32_t tid, const char *name, void (*function)(void *), void *argument);
/* Puts THREAD, which belongs to a program and has its group set, into the table, where thread_find finds it. */
void thread_publish(struct thread *thread);
/* Returns a thread id that no thread or process has; 0: all are taken. Never waits. */
uint32_t thread_new_tid(void);
/* Counts: threads of programs here, present and shadow; kernel stacks of STACK_SIZE bytes each, in use or kept for
 * reuse. */
struct thread_counts {
    uint64_t threads, stacks;
    uint64_t made;    /* ids given out here since the start */
    uint64_t last_ns; /* clock_now when the last of them was given out */
    uint32_t last;    /* the last of them */
    uint32_t pad;
};
void thread_counts(struct thread_counts *out);
/* Frees a thread that no CPU runs, that is in no list except the table, and that has no donations
 * (tasks/futex/donation/donation.h). Releases the reference of a program's thread to its group. */
void thread_free(struct thread *thread);
/* Removes THREAD, which is about to be freed, from the table, so that thread_find does not find it any more. Called
 * under its group's lock. */
void thread_forget(struct thread *thread);
/* The thread TID on this kernel, present or shadow, or NULL. Stays valid while the caller holds its group's lock or
 * is the thread itself. */
struct thread *thread_find(uint32_t tid);
/* As thread_find, and takes the lock of the thread's group and a reference to it, for a caller that does not know the
 * group. */
struct thread *thread_lock(uint32_t tid);
void thread_unlock(struct thread *thread);
/* Changes the id of the current thread, which is alone in its group, to TID. */
void thread_rename(struct thread *thread, uint32_t tid);

/* The running thread. */
static inline struct thread *thread_current(void)
{
    return cpu_self()->thread;
}

/* The user registers of a program's thread while it is in the kernel. */
static inline struct trap_frame *thread_frame(const struct thread *thread)
{
    return (struct trap_frame *)(thread->stack + STACK_SIZE - sizeof(struct trap_frame));
}

static inline void thread_clear_due(struct thread *thread, uint32_t flag)
{
    __atomic_fetch_and(&thread->due, ~flag, __ATOMIC_SEQ_CST);
}

/* Loads the registers and the FPU state of the current thread from its structure, after a return has refilled it. */
void thread_reload(struct thread *thread);

#endif
