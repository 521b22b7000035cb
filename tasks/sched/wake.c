/* How threads become ready: because they are started or woken, because their deadline has come, or because something is
 * due for them; and the timer of a CPU. See tasks/sched/sched.h and sched.c.
 *
 * The timer of a CPU may come too early, never too late. It is armed again only when it is needed earlier; when it is
 * needed later or not at all, it is left as it is, so that a switch hardly ever touches the device. */
#include "kernel/arch/x86_64/apic.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/tlb.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "msg/alive.h"
#include "msg/request/call.h"
#include "tasks/sched/internal.h"
#include "tasks/sched/load.h"

/* NOTICE: 0, or 1 + the index of a CPU that has to look at its queue and must be interrupted for it. */
void sched_notify(uint32_t notice)
{
    if (notice != 0)
        apic_send(cpus[notice - 1]->apic_id, VECTOR_WAKE);
}

/* Puts THREAD into QUEUE and unlocks the queue; the result is for sched_notify. After the unlock the thread may have
 * run, died and been freed. */
static inline __attribute__((always_inline)) uint32_t enqueue_unlock(struct cpu_queue *queue, struct thread *thread,
                                                                     uint64_t credit)
{
    struct thread *running = sched_running_on(queue);
    uint32_t index = queue->index;
    bool idle = running == queue->idle;
    bool waited = queue->run.ready_count > 0;
    uint64_t now = 0;
    bool preempt, hidden = false;

    if (!idle && thread->group != NULL) {
        now = clock_now();
        sched_charge_locked(queue, running, now);
        hidden = running->group == NULL && queue->published == 0;
    }
    thread->state = THREAD_READY;
    preempt = run_queue_wake(&queue->run, &thread->share, idle ? NULL : &running->share, credit);
    if (hidden) /* a kernel thread that was woken by the CPU's last halt gives way to it, and no idle thread publishes
                   it */
        load_publish(queue);
    if (preempt)
        cpus[index]->resched = true;
    if (index != cpu_index()) {
        spin_unlock(&queue->lock);
        return preempt || idle || !waited ? index + 1 : 0; /* 0: its timer is armed for the end of the slice */
    }
    if (!idle && !preempt) {
        if (now == 0)
            now = clock_now();
        if (now >= queue->slice_end) /* the running thread was alone, so the end of its slice had no timer */
            cpus[index]->resched = true;
        else
            sched_timer_need(queue, queue->slice_end, now);
    }
    spin_unlock(&queue->lock);
    return 0;
}

/* Puts THREAD, in transit, into the queue of its CPU. Returns that queue. */
static inline struct cpu_queue *deliver(struct thread *thread, uint64_t credit, uint32_t *notice)
{
    struct cpu_queue *queue = queue_of(thread->cpu);

    spin_lock(&queue->lock);
    while (!place_allowed(thread, queue->index)) { /* the affinity has changed meanwhile */
        uint32_t target = place_wake(thread);

        if (target == queue->index)
            break;
        sched_carry_to(thread, target);
        spin_unlock(&queue->lock);
        queue = queue_of(target);
        spin_lock(&queue->lock);
    }
    thread->transit = false;
    share_attach(&thread->share, &queue->run);
    *notice = enqueue_unlock(queue, thread, credit);
    return queue;
}

void sched_deliver(struct thread *thread, uint64_t credit)
{
    uint32_t notice;

    deliver(thread, credit, &notice);
    sched_notify(notice);
}

/* The policy and nice value that are donated to THREAD, or else its own. */
static uint32_t policy_in_use(const struct thread *thread)
{
    return thread->donated ? thread->donated_policy : thread->context.policy;
}

static int nice_in_use(const struct thread *thread)
{
    return thread->donated ? thread->donated_nice : thread->context.nice;
}

/* Sets the scheduling entity of THREAD, which is in no queue. */
static void set_share(struct thread *thread)
{
    share_set(&thread->share, policy_in_use(thread), nice_in_use(thread));
}

/* Makes THREAD, blocked in QUEUE, ready, on this CPU or a better one, and unlocks the queue; the result is for
 * sched_notify. */
static inline __attribute__((always_inline)) uint32_t wake_unlock(struct cpu_queue *queue, struct thread *thread)
{
    uint32_t target, notice;

    queue->woken += thread->group != NULL ? 1 : 0;
    list_remove(&thread->queue_node);
    if (thread->wake_at != 0)
        time_queue_remove(&queue->sleepers, &thread->share.node);
    target = cpu_several ? place_wake(thread) : queue->index;
    if (target == queue->index)
        return enqueue_unlock(queue, thread, FAIR_CREDIT);
    share_detach(&thread->share, &queue->run);
    sched_carry_to(thread, target);
    spin_unlock(&queue->lock);
    deliver(thread, FAIR_CREDIT, &notice);
    return notice;
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

bool sched_waits(const struct thread *thread, enum wait_end *end)
{
    struct cpu_queue *queue = sched_lock(thread);
    bool waits = thread->state == THREAD_BLOCKED;

    *end = thread->wait_end;
    spin_unlock(&queue->lock);
    return waits;
}

uint64_t sched_woken(void)
{
    uint64_t woken = 0;

    for (uint32_t i = 0; i < cpu_total; i++) {
        struct cpu_queue *queue = queue_of(i);

        spin_lock(&queue->lock);
        woken += queue->woken;
        spin_unlock(&queue->lock);
    }
    return woken;
}

void sched_inherit(struct thread *child, const struct thread *parent)
{
    uint16_t policy = parent->context.policy;
    int16_t nice = parent->context.nice;

    if ((policy & POLICY_RESET_ON_FORK) != 0) {
        uint32_t kind = policy & POLICY_MASK;

        bool real_time = kind == POLICY_FIFO || kind == POLICY_RR;

        if (real_time)
            policy = POLICY_OTHER;
        policy &= (uint16_t)~POLICY_RESET_ON_FORK;
        if (real_time || nice < 0)
            nice = 0;
    }
    child->context.policy = policy;
    child->context.nice = nice;
    memcpy(child->context.affinity, parent->context.affinity, sizeof(child->context.affinity));
}

void sched_start(struct thread *thread)
{
    struct cpu_queue *queue = sched_lock(thread);
    uint32_t notice;

    assert(thread->state == THREAD_BLOCKED);
    if (thread->group == NULL)
        share_set_kernel(&thread->share);
    else
        set_share(thread);
    share_new(&thread->share);
    queue->woken += thread->group != NULL ? 1 : 0;
    sched_carry_to(thread, place_new(thread));
    spin_unlock(&queue->lock);
    queue = deliver(thread, 0, &notice);
    load_publish(queue); /* of another CPU, too: who has sent the thread counts it from now on by the board */
    sched_notify(notice);
}

/* Makes the CPU with INDEX pass through the scheduler before it returns to user mode. */
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
        if (sched_wait_ended(thread, thread->wait_end))
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
        spin_unlock(&queue->lock); /* the code that delivers or wakes it checks the affinity itself */
        return;
    }
    if (thread->state == THREAD_READY) {
        run_queue_remove(&queue->run, &thread->share);
        run_queue_reach(&queue->run, &sched_running_on(queue)->share);
        share_detach(&thread->share, &queue->run);
        sched_carry_to(thread, place_wake(thread));
        spin_unlock(&queue->lock);
        sched_deliver(thread, FAIR_CREDIT);
        return;
    }
    spin_unlock(&queue->lock);
    notify_cpu(index); /* the thread leaves the CPU in sched_reschedule */
}

void sched_share_changed(struct thread *thread)
{
    struct cpu_queue *queue = sched_lock(thread);
    bool running = thread->state == THREAD_RUNNING;
    uint32_t index = queue->index;
    uint64_t now;

    if (thread->state == THREAD_BLOCKED || thread->state == THREAD_DEAD || thread->transit) { /* in no run queue */
        set_share(thread);
        spin_unlock(&queue->lock);
        return;
    }
    now = clock_now();
    if (running)
        sched_charge_locked(queue, thread, now);
    run_queue_change(&queue->run, &thread->share, !running, policy_in_use(thread), nice_in_use(thread));
    if (running)
        sched_begin_slice(queue, thread, now); /* the old slice may have had no end */
    spin_unlock(&queue->lock);
    notify_cpu(index);
}

/* Arms the timer for the first of its uses: the end of the slice if other threads are ready, messages, the next
 * sleeper. */
static void timer_update_locked(struct cpu_queue *queue, uint64_t now)
{
    uint64_t at = SCHED_NEVER;

    if (queue->run.ready_count > 0 && thread_current() != queue->idle)
        at = queue->slice_end;
    if (msg_due() != 0 && msg_due() < at)
        at = msg_due();
    if (alive_due(now) < at)
        at = alive_due(now);
    if (queue->sleepers.first != NULL && queue->sleepers.first->key < at)
        at = queue->sleepers.first->key;
    sched_timer_need(queue, at, now);
}

/* Wakes the threads whose deadline has come. Each wake-up releases the queue's lock, because the thread may go to
 * another CPU. */
static void wake_sleepers(struct cpu_queue *queue, uint64_t now)
{
    spin_lock(&queue->lock);
    while (queue->sleepers.first != NULL && queue->sleepers.first->key <= now) {
        sched_notify(wake_unlock(queue, thread_of((struct sched_entity *)(void *)queue->sleepers.first)));
        spin_lock(&queue->lock);
    }
    spin_unlock(&queue->lock);
}

void sched_timer_interrupt(void)
{
    struct cpu_queue *queue = sched_own_queue();
    uint64_t now = clock_now();
    bool crowded;

    queue->armed = SCHED_NEVER;
    cpu_answer(); /* this interrupt goes before a shootdown's, and may be due again when it ends */
    alive_tick(now);
    if (msg_due() != 0 && now >= msg_due())
        msg_due_interrupt();
    tlb_tick(now);
    wake_sleepers(queue, now);
    spin_lock(&queue->lock);
    crowded = queue->run.ready_count > 0 && thread_current() != queue->idle;
    if (crowded && now >= queue->slice_end) {
        cpu_self()->resched = true;
        run_queue_slice_over(&queue->run, &thread_current()->share);
        queue->slice_end = now + FAIR_SLICE; /* the switch that follows sets a new one */
    }
    timer_update_locked(queue, now);
    spin_unlock(&queue->lock);
    load_publish(queue);
    if (!crowded)
        return;
    if (cpu_several)
        place_push();
    sched_hooks.crowded(now);
}

void sched_wake_interrupt(void)
{
    struct cpu_queue *queue = sched_own_queue();

    spin_lock(&queue->lock);
    timer_update_locked(queue, clock_now());
    spin_unlock(&queue->lock);
    load_publish(queue);
}
