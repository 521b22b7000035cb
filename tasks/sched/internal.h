/* Shared by the files of the scheduler: the queue of a CPU, and threads in transit between two queues. */
#ifndef TASKS_SCHED_INTERNAL_H
#define TASKS_SCHED_INTERNAL_H

#include "kernel/arch/x86_64/apic.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "tasks/sched/load_average.h"
#include "tasks/sched/sched.h"
#include "tasks/thread/group.h"

#define SCHED_NEVER UINT64_MAX /* a time in ns that never comes */

/* Marks: [k] under lock; [i] set once; [o] used by its CPU only. The locks of two queues are never held at once. */
struct cpu_queue {
    struct spinlock lock;
    uint32_t index;             /* [i] its CPU */
    struct run_queue run;       /* [k] */
    uint64_t since;             /* [k] ns: up to when the running thread is charged; NEVER: it polls, uncharged */
    uint64_t slice_end;         /* [k] ns: the end of the running thread's slice */
    uint64_t armed;             /* [o] ns: when the timer interrupt comes; never later than needed */
    struct time_queue sleepers; /* [k] by wake_at */
    struct thread *idle;        /* [i] */
    bool left;                  /* [k] one of the next two fields is set */
    struct thread *dead;        /* [o] the dead thread whose stack this CPU has just left */
    struct thread *leaving;     /* [o] the thread, in transit to another CPU, whose stack this CPU has just left */
    struct list blocked;        /* [k] every blocked thread of this CPU, for the wait dump */
    uint64_t pushed_at;         /* [o] ns: when the CPU last checked whether to give a thread away */
    uint64_t published;         /* [a] load that the load board shows for this CPU: tasks/sched/load.c */
    uint64_t busy;              /* [k] ns that threads have been charged here since the start */
    uint64_t user_counts;       /* [k] time-stamp counts that threads have spent in user mode here */
    uint64_t begun;             /* [i] ns: when the CPU began */
    uint64_t switches;          /* [k] number of switches so far */
    uint64_t woken;             /* [k] program threads that have left a wait here, or have begun */
    uint64_t wanted; /* [k] ns, summed over program threads, that they ran or were ready here: not yet in `loads` */
    struct load_average loads; /* [k] */
};

static inline struct cpu_queue *queue_of(uint32_t index)
{
    return cpus[index]->scheduler;
}

static inline struct thread *thread_of(struct sched_entity *share)
{
    return container_of(share, struct thread, share);
}

/* The queue of the CPU that THREAD belongs to. Its lock protects THREAD if THREAD still belongs there when it is
 * held. */
static inline struct cpu_queue *sched_queue_of(const struct thread *thread)
{
    return queue_of(__atomic_load_n(&thread->cpu, __ATOMIC_ACQUIRE));
}

/* Locks the queue of the CPU that THREAD belongs to. */
static inline struct cpu_queue *sched_lock(const struct thread *thread)
{
    struct cpu_queue *queue = sched_queue_of(thread);

    spin_lock(&queue->lock);
    while (cpu_several && queue != sched_queue_of(thread)) { /* the thread has moved to another CPU meanwhile */
        spin_unlock(&queue->lock);
        queue = sched_queue_of(thread);
        spin_lock(&queue->lock);
    }
    return queue;
}

/* Puts THREAD, which is in no queue any more, in transit to the CPU with index TARGET. The caller holds the lock of the
 * CPU that it belongs to. As soon as thread->cpu is stored, the holder of the other CPU's lock looks at the thread: by
 * then it must not be blocked. */
static inline void sched_carry_to(struct thread *thread, uint32_t target)
{
    thread->state = THREAD_READY;
    thread->transit = true;
    __atomic_store_n(&thread->cpu, target, __ATOMIC_RELEASE);
}

/* Charges THREAD, which runs on the queue's CPU, up to NOW. */
static inline void sched_charge_locked(struct cpu_queue *queue, struct thread *thread, uint64_t now)
{
    if (now <= queue->since)
        return; /* the clocks of two CPUs differ a little, or the thread polls */
    share_charge(&thread->share, now - queue->since);
    queue->busy += now - queue->since;
    queue->wanted += (now - queue->since) * load_count(queue->run.load);
    run_queue_forgive(&queue->run, &thread->share);
    queue->since = now;
}

/* Adds the CPU's count of user time to THREAD, which has been charged and stops running on CPU. */
static inline void sched_take_user_time(struct cpu *cpu, struct thread *thread)
{
    thread->user_counts += (uint64_t)cpu->user_counts;
    ((struct cpu_queue *)cpu->scheduler)->user_counts += (uint64_t)cpu->user_counts;
    cpu->user_counts = 0;
}

/* Updates the load averages of QUEUE, whose running thread has been charged up to NOW. */
static inline void sched_average_locked(struct cpu_queue *queue, uint64_t now)
{
    if (now > queue->loads.until + LOAD_PERIOD)
        queue->wanted = load_average_fold(&queue->loads, now, queue->wanted);
}

static inline struct cpu_queue *sched_own_queue(void)
{
    return cpu_self()->scheduler;
}

/* Whether an event that ends waits of kind END has come for THREAD. */
static inline bool sched_wait_ended(const struct thread *thread, enum wait_end end)
{
    if (end == WAIT_FIRM || thread->group == NULL)
        return false;
    return thread_dying(thread) || (end == WAIT_INTERRUPTIBLE && (thread->due & THREAD_DUE_INTERRUPTS) != 0);
}

static inline struct thread *sched_running_on(const struct cpu_queue *queue)
{
    return cpus[queue->index]->thread;
}

/* Makes the timer interrupt of the calling CPU, whose queue this is, come no later than AT. */
static inline void sched_timer_need(struct cpu_queue *queue, uint64_t at, uint64_t now)
{
    if (at >= queue->armed)
        return;
    queue->armed = at;
    apic_timer_arm(at > now ? at - now : 1);
}

/* Starts the slice of THREAD, which runs on the queue's CPU, at NOW. */
static inline void sched_begin_slice(struct cpu_queue *queue, const struct thread *thread, uint64_t now)
{
    queue->slice_end = thread->share.slice == SCHED_NEVER ? SCHED_NEVER : now + thread->share.slice;
}

/* Switches from the running thread, which has been charged up to NOW, to the next one, or to idle. */
void sched_switch_locked(struct cpu_queue *queue, uint64_t now);

/* Puts THREAD, which is in transit, into the queue of a CPU that it may use. Any context without the lock of a
 * queue. */
void sched_deliver(struct thread *thread, uint64_t credit);

/* The choice of a CPU: tasks/sched/place.c. */

/* Adds the calling CPU to the instance's set of CPUs. */
void place_add_cpu(void);
/* Whether THREAD may use the CPU with this index. A thread that may use none of this kernel's CPUs may use all of them,
 * because it is about to leave the kernel. */
bool place_allowed(const struct thread *thread, uint32_t index);
/* The CPU for THREAD, which wakes or may not stay on its CPU. */
uint32_t place_wake(const struct thread *thread);
/* The CPU for THREAD, which is new on this kernel. */
uint32_t place_new(const struct thread *thread);
/* Marks the calling CPU as idle, or as busy again. */
void place_idle(bool idle);
/* Called by an idle CPU: takes a thread from the busiest one. False: there is none that it may take. */
bool place_steal(void);
/* Called by a CPU with more than one thread: gives one to the least loaded CPU, if the loads are more equal
 * afterwards. */
void place_push(void);

#endif
