/* The scheduler: switching, blocking, ending. See the header. tasks/sched/fair/fair.h has the arithmetic, wake.c makes
 * threads ready and handles the timer, place.c chooses a CPU, idle.c is the idle loop, and scheduling.md describes the
 * whole.
 *
 * Interface: the state of a thread says which queues it is in. BLOCKED: it is in the list of blocked threads of its
 * CPU, and with a deadline among the sleepers. READY: it is in the ready queue of its CPU, or in transit. RUNNING: it
 * is in none. Only this file and wake.c change the state.
 *
 * A thread in transit is in no queue and belongs to the code that carries it to sched_deliver. thread->cpu already
 * names the target, so any other code that wants to wake or move the thread locks that queue and finds that there is
 * nothing to do. */
#include "tasks/sched/sched.h"

#include "kernel/arch/x86_64/base/instructions.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/tlb.h"
#include "kernel/lib/panic.h"
#include "mm/frame/heap.h"
#include "mm/space/space.h"
#include "msg/slice.h"
#include "tasks/sched/internal.h"
#include "tasks/thread/group.h"

struct sched_hooks sched_hooks;

static void *current_for_wait(void)
{
    return thread_current();
}

static void block_for_wait(struct spinlock *lock, const struct wait_reason *reason, enum wait_end end,
                           uint64_t deadline)
{
    sched_block(lock, reason, end, deadline);
}

static bool current_wait_ended(enum wait_end end)
{
    return sched_wait_ended(thread_current(), end);
}

static bool current_is_alone(void)
{
    return sched_own_queue()->run.ready_count == 0;
}

static uint32_t wake_for_wait(void *thread)
{
    return sched_make_ready(thread);
}

void sched_init_cpu(void)
{
    struct cpu_queue *queue = heap_alloc(sizeof(*queue));
    struct thread *idle = heap_alloc(sizeof(*idle));

    if (queue == NULL || idle == NULL)
        panic("tasks: no memory for a run queue");
    run_queue_init(&queue->run);
    time_queue_init(&queue->sleepers);
    list_init(&queue->blocked);
    list_init(&idle->queue_node);
    queue->index = cpu_index();
    queue->armed = SCHED_NEVER;
    queue->begun = queue->loads.until = clock_now();
    idle->idle = true;
    share_set_kernel(&idle->share);
    idle->state = THREAD_RUNNING;
    idle->cpu = cpu_index();
    queue->idle = idle;
    cpu_self()->thread = idle;
    __atomic_store_n(&cpu_self()->scheduler, queue, __ATOMIC_RELEASE); /* complete by now: an NMI may read it */
    wait_ops.current = current_for_wait;
    wait_ops.block = block_for_wait;
    wait_ops.wake = wake_for_wait;
    wait_ops.notify = sched_notify;
    wait_ops.ended = current_wait_ended;
    wait_ops.alone = current_is_alone;
    wait_ops.breathe = sched_breathe;
    wait_ops.due_changed = sched_wake_interrupt;
    place_add_cpu();
}

/* Handles the thread whose stack this CPU has just left: frees a dead one, delivers one in transit. */
static __attribute__((noinline)) void after_leaving(struct cpu_queue *queue)
{
    struct thread *dead = queue->dead;
    struct thread *leaving = queue->leaving;

    queue->dead = NULL;
    queue->leaving = NULL;
    queue->left = false;
    spin_unlock(&queue->lock);
    if (dead != NULL)
        sched_hooks.reap(dead);
    if (leaving != NULL)
        sched_deliver(leaving, FAIR_CREDIT);
}

void sched_after_switch(void)
{
    struct cpu_queue *queue = sched_own_queue();

    if (queue->left)
        after_leaving(queue);
    else
        spin_unlock(&queue->lock);
}

/* Loads the user state of THREAD. The FPU registers may still hold it: if no other thread has used them since
 * (fpu_owner), and THREAD has not used those of another CPU meanwhile (fpu_cpu). A shadow that has been refilled gives
 * way before its state is loaded: no registers are its own then, so nothing is saved over that state. */
static inline void restore_user(struct cpu *cpu, struct thread *thread)
{
    if (thread->fpu == NULL) {
        tlb_keep();
        return;
    }
    space_load(group_space(thread->group));
    cpu_set_kernel_stack(thread->stack + STACK_SIZE);
    if (thread->presence != THREAD_PRESENT)
        return; /* its state is on another kernel, or is being refilled by its return: see thread_reload */
    if (cpu->fpu_owner != thread || thread->fpu_cpu != cpu->index) {
        fpu_restore(thread->fpu);
        cpu->fpu_owner = thread;
        thread->fpu_cpu = cpu->index;
    }
    wrmsr(MSR_FS_BASE, thread->context.fs_base);
    wrmsr(MSR_KERNEL_GS_BASE, thread->context.gs_base);
    if (thread->context.rseq != 0)
        __atomic_fetch_or(&thread->due, THREAD_DUE_RSEQ, __ATOMIC_SEQ_CST);
}

/* Switches to NEXT, which is in no queue. The running thread has been charged up to NOW. The queue is locked; NEXT
 * unlocks it in sched_after_switch. */
static inline void switch_to_locked(struct cpu_queue *queue, struct thread *next, uint64_t now)
{
    struct cpu *cpu = cpu_self();
    struct thread *previous = cpu->thread;

    queue->since = now;
    queue->switches++;
    sched_average_locked(queue, now);
    sched_begin_slice(queue, next, now);
    if (queue->run.ready_count > 0)
        sched_timer_need(queue, queue->slice_end, now);
    next->state = THREAD_RUNNING;
    cpu->resched = false;
    cpu->thread = next;
    sched_take_user_time(cpu, previous);
    if (previous->fpu != NULL && cpu->fpu_owner == previous && previous->fpu_cpu == cpu->index)
        fpu_save(previous->fpu);
    restore_user(cpu, next);
    context_switch(&previous->saved_stack, next->saved_stack);
    sched_after_switch();
}

void sched_switch_locked(struct cpu_queue *queue, uint64_t now)
{
    struct sched_entity *share = run_queue_take(&queue->run);

    if (share == NULL) {
        run_queue_raise_floor(&queue->run, &thread_current()->share); /* no thread is ready, so none is owed time */
        switch_to_locked(queue, queue->idle, now);
    } else {
        switch_to_locked(queue, thread_of(share), now);
    }
}

/* The running thread, charged up to NOW, may no longer use this CPU: puts it in transit to another one, where it is
 * delivered after this CPU has left its stack. */
static void leave_locked(struct cpu_queue *queue, struct thread *thread, uint64_t now)
{
    queue->run.load -= thread->share.load;
    run_queue_reach(&queue->run, &thread->share);
    share_detach(&thread->share, &queue->run);
    thread->account.use.preemptions++;
    sched_carry_to(thread, place_wake(thread));
    queue->leaving = thread;
    queue->left = true;
    sched_switch_locked(queue, now);
}

/* Switches to another thread if the running one, charged up to NOW, may not stay (STAYS is false) or does not come
 * first. Unless STAYS is false, a ready thread exists. */
static inline void give_way_locked(struct cpu_queue *queue, struct thread *thread, bool stays, uint64_t now)
{
    struct sched_entity *share;

    if (thread != queue->idle) {
        if (!stays) {
            leave_locked(queue, thread, now);
            return;
        }
        if (queue->run.ready.first->key >= thread->share.position) {
            sched_begin_slice(queue, thread, now);
            sched_timer_need(queue, queue->slice_end, now);
            spin_unlock(&queue->lock);
            return;
        }
    }
    share = run_queue_take(&queue->run);
    thread->state = THREAD_READY;
    thread->account.use.preemptions++;
    if (thread != queue->idle)
        run_queue_put(&queue->run, &thread->share);
    switch_to_locked(queue, thread_of(share), now);
}

static inline bool may_stay(const struct cpu_queue *queue, const struct thread *thread)
{
    return !cpu_several || thread == queue->idle || place_allowed(thread, queue->index);
}

void sched_reschedule(void)
{
    struct cpu *cpu = cpu_self();
    struct cpu_queue *queue = cpu->scheduler;
    struct thread *thread = cpu->thread;
    uint64_t now;
    bool stays;

    spin_lock(&queue->lock);
    cpu->resched = false;
    stays = may_stay(queue, thread); /* read once, because the affinity may change meanwhile */
    if (queue->run.ready_count == 0 && stays) {
        spin_unlock(&queue->lock);
        return;
    }
    now = clock_now();
    sched_charge_locked(queue, thread, now);
    give_way_locked(queue, thread, stays, now);
}

void sched_breathe(void)
{
    interrupts_window();
    if (cpu_self()->resched)
        sched_reschedule();
}

void sched_yield(void)
{
    struct cpu *cpu = cpu_self();
    struct cpu_queue *queue = cpu->scheduler;
    struct thread *thread = cpu->thread;
    uint64_t now;
    bool stays;

    cpu_relax(); /* threads that yield in a loop until another CPU has finished must answer its shootdowns */
    spin_lock(&queue->lock);
    cpu->resched = false;
    stays = may_stay(queue, thread);
    if (queue->run.ready_count == 0 && stays) {
        spin_unlock(&queue->lock);
        cpu_pause(); /* who yields to nobody waits for another CPU, which may share the core, or an emulator's thread */
        return;
    }
    now = clock_now();
    sched_charge_locked(queue, thread, now);
    run_queue_yield(&queue->run, &thread->share);
    give_way_locked(queue, thread, stays, now);
}

void sched_block(struct spinlock *lock, const struct wait_reason *reason, enum wait_end end, uint64_t deadline)
{
    struct cpu *cpu = cpu_self();
    struct cpu_queue *queue = cpu->scheduler;
    struct thread *thread = cpu->thread;
    uint64_t now;

    assert(thread != queue->idle);
    spin_lock(&queue->lock);
    if (lock != NULL)
        spin_unlock(lock);
    if (sched_wait_ended(thread, end)) { /* a kick sets its flag before it locks the queue */
        spin_unlock(&queue->lock);
        return;
    }
    now = clock_now();
    sched_charge_locked(queue, thread, now);
    queue->run.load -= thread->share.load;
    thread->state = THREAD_BLOCKED;
    thread->wait_end = end;
    thread->reason = *reason;
    thread->account.use.waits++;
    thread->wake_at = deadline;
    list_append(&queue->blocked, &thread->queue_node);
    if (deadline != 0) {
        thread->share.node.key = deadline;
        time_queue_add(&queue->sleepers, &thread->share.node);
        sched_timer_need(queue, deadline, now);
    }
    sched_switch_locked(queue, now);
    slice_check(); /* thousands of threads may run in the kernel and block again, one after the other */
}

void sched_die(void)
{
    struct cpu *cpu = cpu_self();
    struct cpu_queue *queue = cpu->scheduler;
    struct thread *thread = cpu->thread;
    uint64_t now;

    spin_lock(&queue->lock);
    now = clock_now();
    sched_charge_locked(queue, thread, now);
    queue->run.load -= thread->share.load;
    thread->state = THREAD_DEAD;
    if (cpu->fpu_owner == thread)
        cpu->fpu_owner = NULL;
    queue->dead = thread;
    queue->left = true;
    sched_switch_locked(queue, now);
    panic("tasks: a dead thread ran again");
}
