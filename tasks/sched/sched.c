/* The scheduler: switching, blocking, waking, the timer. See the header; tasks/sched/fair.h has the arithmetic,
 * tasks/sched/place.c the choice of a CPU, tasks/sched/idle.c what a CPU does without a thread,
 * tasks/sched/scheduling.md the whole. A long file: every change of what a thread is in is here.
 *
 * Interface: what a thread is in is told by its state. BLOCKED: in the list of blocked threads of its CPU, and with a
 * deadline among the sleepers. READY: in the queue of its CPU, or in transit. RUNNING: in none.
 *
 * A thread in transit is in no queue and belongs to whoever carries it (sched_deliver). Its cpu says where to, so
 * whoever wants to wake or to move it meanwhile finds, under the lock of that queue, that there is nothing to do.
 *
 * The timer of a CPU may come too early, never too late: what makes it needed earlier arms it, and what makes it needed
 * less leaves it as it is, so that a switch hardly ever touches the device. */
#include "tasks/sched/sched.h"

#include "kernel/arch/x86_64/apic.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/tlb.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "mm/space/space.h"
#include "msg/call.h"
#include "tasks/balance/balance.h"
#include "tasks/exit/exit.h"
#include "tasks/process/group.h"
#include "tasks/sched/internal.h"
#include "tasks/sched/load.h"

#define NEVER UINT64_MAX

static struct cpu_queue *own_queue(void)
{
    return cpu_self()->scheduler;
}

static void *current_for_wait(void)
{
    return thread_current();
}

static void block_for_wait(struct spinlock *lock, const struct wait_reason *reason, enum wait_end end,
                           uint64_t deadline)
{
    sched_block(lock, reason, end, deadline);
}

static bool wait_ended(const struct thread *thread, enum wait_end end)
{
    if (end == WAIT_FIRM || thread->group == NULL)
        return false;
    return thread_dying(thread) || (end == WAIT_INTERRUPTIBLE && (thread->due & THREAD_DUE_INTERRUPTS) != 0);
}

static bool current_wait_ended(enum wait_end end)
{
    return wait_ended(thread_current(), end);
}

static bool current_is_alone(void)
{
    return own_queue()->run.ready_count == 0;
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
    queue->armed = NEVER;
    queue->begun = queue->loads.until = clock_now();
    idle->idle = true;
    share_set_kernel(&idle->share);
    idle->state = THREAD_RUNNING;
    idle->cpu = cpu_index();
    queue->idle = idle;
    cpu_self()->thread = idle;
    __atomic_store_n(&cpu_self()->scheduler, queue, __ATOMIC_RELEASE); /* all of it is there: an NMI looks at it */
    wait_ops.current = current_for_wait;
    wait_ops.block = block_for_wait;
    wait_ops.wake = wake_for_wait;
    wait_ops.notify = sched_notify;
    wait_ops.ended = current_wait_ended;
    wait_ops.alone = current_is_alone;
    wait_ops.due_changed = sched_wake_interrupt;
    place_add_cpu();
}

static struct thread *running_on(const struct cpu_queue *queue)
{
    return cpus[queue->index]->thread;
}

/* The timer of the calling CPU, whose queue this is, comes at AT at the latest. */
static void timer_need(struct cpu_queue *queue, uint64_t at, uint64_t now)
{
    if (at >= queue->armed)
        return;
    queue->armed = at;
    apic_timer_arm(at > now ? at - now : 1);
}

/* For everything it may be needed for: the end of the slice, if somebody waits for it, messages, the next sleeper. */
static void timer_update_locked(struct cpu_queue *queue, uint64_t now)
{
    uint64_t at = NEVER;

    if (queue->run.ready_count > 0 && thread_current() != queue->idle)
        at = queue->slice_end;
    if (msg_due() != 0 && msg_due() < at)
        at = msg_due();
    if (queue->sleepers.first != NULL && queue->sleepers.first->key < at)
        at = queue->sleepers.first->key;
    timer_need(queue, at, now);
}

/* THREAD runs on the queue's CPU from NOW on for as long as its share says. */
static inline void begin_slice(struct cpu_queue *queue, const struct thread *thread, uint64_t now)
{
    queue->slice_end = thread->share.slice == NEVER ? NEVER : now + thread->share.slice;
}

/* A notice: 0, or 1 + the index of a CPU that has to look at its queue, and does not know it yet. */
void sched_notify(uint32_t notice)
{
    if (notice != 0)
        apic_send(cpus[notice - 1]->apic_id, VECTOR_WAKE);
}

/* THREAD comes into QUEUE, whose lock is given back; the result is for sched_notify. From then on the thread may have
 * run, died and be gone. */
static inline __attribute__((always_inline)) uint32_t enqueue_unlock(struct cpu_queue *queue, struct thread *thread,
                                                                     uint64_t credit)
{
    struct thread *running = running_on(queue);
    uint32_t index = queue->index;
    bool idle = running == queue->idle;
    bool waited = queue->run.ready_count > 0;
    uint64_t now = 0;
    bool preempt;

    if (!idle && thread->group != NULL) {
        now = clock_now();
        sched_charge_locked(queue, running, now);
    }
    thread->state = THREAD_READY;
    preempt = run_queue_wake(&queue->run, &thread->share, idle ? NULL : &running->share, credit);
    if (preempt)
        cpus[index]->resched = true;
    if (index != cpu_index()) {
        spin_unlock(&queue->lock);
        return preempt || idle || !waited ? index + 1 : 0; /* else its timer is armed for the end of the slice */
    }
    if (!idle && !preempt) {
        if (now == 0)
            now = clock_now();
        if (now >= queue->slice_end) /* it had the CPU for itself: no timer was needed for the end */
            cpus[index]->resched = true;
        else
            timer_need(queue, queue->slice_end, now);
    }
    spin_unlock(&queue->lock);
    return 0;
}

static uint32_t deliver(struct thread *thread, uint64_t credit)
{
    struct cpu_queue *queue = queue_of(thread->cpu);

    spin_lock(&queue->lock);
    while (!place_allowed(thread, queue->index)) { /* changed meanwhile */
        uint32_t target = place_wake(thread);

        if (target == queue->index)
            break;
        thread->cpu = target;
        spin_unlock(&queue->lock);
        queue = queue_of(target);
        spin_lock(&queue->lock);
    }
    thread->transit = false;
    share_attach(&thread->share, &queue->run);
    return enqueue_unlock(queue, thread, credit);
}

void sched_deliver(struct thread *thread, uint64_t credit)
{
    sched_notify(deliver(thread, credit));
}

/* THREAD, in no queue, is scheduled by what it is lent, or else has itself. */
static __attribute__((noinline)) void set_share(struct thread *thread)
{
    share_set(&thread->share, thread->lent ? thread->lent_policy : thread->context.policy,
              thread->lent ? thread->lent_nice : thread->context.nice);
}

/* THREAD, blocked in QUEUE, becomes ready, here or on a better CPU; the result is for sched_notify. */
static inline __attribute__((always_inline)) uint32_t wake_unlock(struct cpu_queue *queue, struct thread *thread)
{
    uint32_t target;

    list_remove(&thread->queue_node);
    if (thread->wake_at != 0)
        time_queue_remove(&queue->sleepers, &thread->share.node);
    if (thread->presence != THREAD_PRESENT) /* it may be coming back with another nice value */
        set_share(thread);
    target = cpu_several ? place_wake(thread) : queue->index;
    if (target == queue->index)
        return enqueue_unlock(queue, thread, FAIR_CREDIT);
    share_detach(&thread->share, &queue->run);
    thread->state = THREAD_READY;
    thread->transit = true;
    thread->cpu = target;
    spin_unlock(&queue->lock);
    return deliver(thread, FAIR_CREDIT);
}

uint32_t sched_make_ready(struct thread *thread)
{
    struct cpu_queue *queue = sched_lock(thread);

    if (thread->state == THREAD_BLOCKED)
        return wake_unlock(queue, thread);
    spin_unlock(&queue->lock);
    return 0;
}

void sched_wake(struct thread *thread)
{
    sched_notify(sched_make_ready(thread));
}

void sched_inherit(struct thread *child, const struct thread *parent)
{
    uint16_t policy = parent->context.policy;
    int16_t nice = parent->context.nice;

    if ((policy & POLICY_RESET_ON_FORK) != 0) {
        uint32_t kind = policy & POLICY_MASK;

        if (kind == POLICY_FIFO || kind == POLICY_RR)
            policy = POLICY_OTHER;
        policy &= (uint16_t)~POLICY_RESET_ON_FORK;
        if (nice < 0)
            nice = 0;
    }
    child->context.policy = policy;
    child->context.nice = nice;
    memcpy(child->context.affinity, parent->context.affinity, sizeof(child->context.affinity));
}

void sched_start(struct thread *thread)
{
    struct cpu_queue *queue = sched_lock(thread);

    assert(thread->state == THREAD_BLOCKED);
    if (thread->group == NULL)
        share_set_kernel(&thread->share);
    else
        set_share(thread);
    share_new(&thread->share);
    thread->state = THREAD_READY;
    thread->transit = true;
    thread->cpu = place_new(thread);
    spin_unlock(&queue->lock);
    sched_deliver(thread, 0);
    load_publish(own_queue()); /* another CPU does it when it takes the thread */
}

/* The CPU with INDEX passes through the scheduler before it returns to user mode. */
static void notify_cpu(uint32_t index)
{
    cpus[index]->resched = true;
    if (index != cpu_index())
        apic_send(cpus[index]->apic_id, VECTOR_WAKE);
}

void sched_kick(struct thread *thread)
{
    struct cpu_queue *queue = sched_lock(thread);
    uint32_t index = queue->index;

    if (thread->state == THREAD_BLOCKED) {
        if (wait_ended(thread, thread->wait_end))
            sched_notify(wake_unlock(queue, thread));
        else
            spin_unlock(&queue->lock);
        return;
    }
    spin_unlock(&queue->lock);
    notify_cpu(index);
}

void sched_affinity_changed(struct thread *thread)
{
    struct cpu_queue *queue = sched_lock(thread);
    uint32_t index = queue->index;

    if (thread->transit || place_allowed(thread, index) || thread->state == THREAD_BLOCKED) {
        spin_unlock(&queue->lock); /* whoever carries it, and who wakes it, looks for himself */
        return;
    }
    if (thread->state == THREAD_READY) {
        run_queue_remove(&queue->run, &thread->share);
        run_queue_reach(&queue->run, &running_on(queue)->share);
        share_detach(&thread->share, &queue->run);
        thread->transit = true;
        thread->cpu = place_wake(thread);
        spin_unlock(&queue->lock);
        sched_deliver(thread, FAIR_CREDIT);
        return;
    }
    spin_unlock(&queue->lock);
    notify_cpu(index); /* it leaves in sched_reschedule */
}

void sched_share_changed(struct thread *thread)
{
    struct cpu_queue *queue = sched_lock(thread);
    bool lent = thread->lent;
    uint32_t policy = lent ? thread->lent_policy : thread->context.policy;
    int nice = lent ? thread->lent_nice : thread->context.nice;
    uint32_t index = queue->index;
    bool running = thread->state == THREAD_RUNNING;
    uint64_t now = clock_now();

    if (running)
        sched_charge_locked(queue, thread, now);
    if (thread->state == THREAD_BLOCKED || thread->transit)
        share_set(&thread->share, policy, nice);
    else
        run_queue_change(&queue->run, &thread->share, !running, policy, nice);
    if (running)
        begin_slice(queue, thread, now); /* the old one may never have ended */
    spin_unlock(&queue->lock);
    notify_cpu(index);
}

/* The threads this CPU has left for good, or for another CPU. */
static __attribute__((noinline)) void after_leaving(struct cpu_queue *queue)
{
    struct thread *dead = queue->dead;
    struct thread *leaving = queue->leaving;

    queue->dead = NULL;
    queue->leaving = NULL;
    queue->left = false;
    spin_unlock(&queue->lock);
    if (dead != NULL)
        exit_reap(dead);
    if (leaving != NULL)
        sched_deliver(leaving, FAIR_CREDIT);
}

void sched_after_switch(void)
{
    struct cpu_queue *queue = own_queue();

    if (queue->left)
        after_leaving(queue);
    else
        spin_unlock(&queue->lock);
}

/* The registers may still hold the state of NEXT, if nobody has used them here since; but then it must not have used
 * those of another CPU meanwhile. */
static inline void restore_user(struct cpu *cpu, struct thread *thread)
{
    if (thread->fpu == NULL) {
        tlb_keep();
        return;
    }
    space_load(group_space(thread->group));
    cpu_set_kernel_stack(thread->stack + STACK_SIZE);
    if (thread->presence != THREAD_PRESENT)
        return; /* its state is elsewhere, or is being filled in by its return: see thread_reload */
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

/* Switches to NEXT, which is in no queue, at NOW, until when the running thread has been charged. The queue is locked;
 * it is unlocked on the other side. */
static inline void switch_to_locked(struct cpu_queue *queue, struct thread *next, uint64_t now)
{
    struct cpu *cpu = cpu_self();
    struct thread *previous = cpu->thread;

    queue->since = now;
    queue->switches++;
    sched_average_locked(queue, now);
    begin_slice(queue, next, now);
    if (queue->run.ready_count > 0)
        timer_need(queue, queue->slice_end, now);
    next->state = THREAD_RUNNING;
    cpu->resched = false;
    cpu->thread = next;
    sched_take_user_time(cpu, previous);
    if (previous->fpu != NULL && cpu->fpu_owner == previous)
        fpu_save(previous->fpu);
    restore_user(cpu, next);
    context_switch(&previous->saved_stack, next->saved_stack);
    sched_after_switch();
}

void sched_switch_locked(struct cpu_queue *queue, uint64_t now)
{
    struct share *share = run_queue_take(&queue->run);

    if (share == NULL) {
        run_queue_raise_floor(&queue->run, &thread_current()->share); /* nobody is owed the past */
        switch_to_locked(queue, queue->idle, now);
    } else {
        switch_to_locked(queue, thread_of(share), now);
    }
}

/* The running thread, charged up to NOW, may no longer use this CPU: it goes to another when we are off its stack. */
static void leave_locked(struct cpu_queue *queue, struct thread *thread, uint64_t now)
{
    queue->run.load -= thread->share.load;
    run_queue_reach(&queue->run, &thread->share);
    share_detach(&thread->share, &queue->run);
    thread->state = THREAD_READY;
    thread->transit = true;
    thread->account.use.preemptions++;
    thread->cpu = place_wake(thread);
    queue->leaving = thread;
    queue->left = true;
    sched_switch_locked(queue, now);
}

/* The running thread, charged up to NOW, goes on unless it may not stay, or another one is to run first; there is one,
 * or it may not stay. */
static inline void give_way_locked(struct cpu_queue *queue, struct thread *thread, bool stays, uint64_t now)
{
    struct share *share;

    if (thread != queue->idle) {
        if (!stays) {
            leave_locked(queue, thread, now);
            return;
        }
        if (queue->run.ready.first->key >= thread->share.position) {
            begin_slice(queue, thread, now);
            timer_need(queue, queue->slice_end, now);
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
    stays = may_stay(queue, thread); /* looked at once: its affinity may change meanwhile */
    if (queue->run.ready_count == 0 && stays) {
        spin_unlock(&queue->lock);
        return;
    }
    now = clock_now();
    sched_charge_locked(queue, thread, now);
    give_way_locked(queue, thread, stays, now);
}

void sched_yield(void)
{
    struct cpu *cpu = cpu_self();
    struct cpu_queue *queue = cpu->scheduler;
    struct thread *thread = cpu->thread;
    uint64_t now;
    bool stays;

    cpu_relax(); /* threads that yield to each other until another CPU is done must answer its shootdowns */
    spin_lock(&queue->lock);
    cpu->resched = false;
    stays = may_stay(queue, thread);
    if (queue->run.ready_count == 0 && stays) {
        spin_unlock(&queue->lock);
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
    if (wait_ended(thread, end)) { /* set before the kick takes the queue's lock */
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
        timer_need(queue, deadline, now);
    }
    sched_switch_locked(queue, now);
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

/* Wakes whose time has come; the lock is free meanwhile, for a thread may go to another CPU. */
static void wake_sleepers(struct cpu_queue *queue, uint64_t now)
{
    spin_lock(&queue->lock);
    while (queue->sleepers.first != NULL && queue->sleepers.first->key <= now) {
        sched_notify(wake_unlock(queue, thread_of((struct share *)(void *)queue->sleepers.first)));
        spin_lock(&queue->lock);
    }
    spin_unlock(&queue->lock);
}

void sched_timer_interrupt(void)
{
    struct cpu_queue *queue = own_queue();
    uint64_t now = clock_now();
    bool crowded;

    queue->armed = NEVER;
    if (msg_due() != 0 && now >= msg_due())
        msg_poll();
    wake_sleepers(queue, now);
    spin_lock(&queue->lock);
    crowded = queue->run.ready_count > 0 && thread_current() != queue->idle;
    if (crowded && now >= queue->slice_end) {
        cpu_self()->resched = true;
        run_queue_slice_over(&queue->run, &thread_current()->share);
        queue->slice_end = now + FAIR_SLICE; /* the switch that follows sets another */
    }
    timer_update_locked(queue, now);
    spin_unlock(&queue->lock);
    load_publish(queue);
    if (!crowded)
        return;
    if (cpu_several)
        place_push();
    balance_tick(now);
}

void sched_wake_interrupt(void)
{
    struct cpu_queue *queue = own_queue();

    spin_lock(&queue->lock);
    timer_update_locked(queue, clock_now());
    spin_unlock(&queue->lock);
    load_publish(queue);
}
