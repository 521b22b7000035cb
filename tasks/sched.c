/* The scheduler. See the header. */
#include "tasks/sched.h"

#include "boot/instance.h"
#include "kernel/arch/x86_64/apic.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "mm/heap.h"
#include "mm/space.h"
#include "msg/call.h"
#include "tasks/exit.h"
#include "tasks/group.h"

#define SLICE 10000000ull             /* ns a program's thread runs while others are ready */
#define LOOKS_BETWEEN_INTERRUPTS 256u /* of an idle CPU */
#define DUMP_TRIES 1000000u           /* for a run queue's lock, then the wait dump goes without */
#define DUMP_MAX 1000u                /* lines of one list in the wait dump */

struct run_queue {
    struct spinlock lock;
    struct list ready;    /* [k] */
    struct list sleepers; /* [k] ascending by wake_at */
    uint32_t count;       /* [k] threads that live on this CPU */
    uint64_t slice_end;   /* [k] ns: when the running thread has had its time */
    struct thread *idle;  /* [i] */
    struct thread *dead;  /* [o] the thread this CPU has just left for good */
    struct list blocked;  /* [k] every blocked thread of this CPU, for the wait dump */
};

static struct run_queue *queue_of(uint32_t index)
{
    return cpus[index]->scheduler;
}

static struct run_queue *own_queue(void)
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
    return thread_dying(thread) || (end == WAIT_INTERRUPTIBLE && thread->due != 0);
}

static bool current_wait_ended(enum wait_end end)
{
    return wait_ended(thread_current(), end);
}

static bool current_is_alone(void)
{
    return list_empty(&own_queue()->ready);
}

static void wake_for_wait(void *thread)
{
    sched_wake(thread);
}

void sched_init_cpu(void)
{
    struct run_queue *queue = heap_alloc(sizeof(*queue));
    struct thread *idle = heap_alloc(sizeof(*idle));

    if (queue == NULL || idle == NULL)
        panic("tasks: no memory for a run queue");
    list_init(&queue->ready);
    list_init(&queue->sleepers);
    list_init(&queue->blocked);
    list_init(&idle->queue_node);
    idle->idle = true;
    idle->state = THREAD_RUNNING;
    idle->cpu = cpu_index();
    queue->idle = idle;
    cpu_self()->thread = idle;
    cpu_self()->scheduler = queue;
    wait_ops.current = current_for_wait;
    wait_ops.block = block_for_wait;
    wait_ops.wake = wake_for_wait;
    wait_ops.ended = current_wait_ended;
    wait_ops.alone = current_is_alone;
    wait_ops.due_changed = sched_wake_interrupt;
}

uint32_t sched_choose_cpu(void)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < cpu_total; i++) {
        if (cpus[i]->online && queue_of(i)->count < queue_of(best)->count)
            best = i;
    }
    return best;
}

/* Arms the timer for what comes first: the end of the slice, if somebody waits for it, or the next sleeper. */
static void timer_update_locked(struct run_queue *queue)
{
    uint64_t at = UINT64_MAX;
    uint64_t now;

    if (!list_empty(&queue->ready) && thread_current() != queue->idle)
        at = queue->slice_end;
    if (msg_due() != 0 && msg_due() < at)
        at = msg_due();
    if (!list_empty(&queue->sleepers)) {
        uint64_t wake_at = container_of(queue->sleepers.next, struct thread, queue_node)->wake_at;

        if (wake_at < at)
            at = wake_at;
    }
    if (at == UINT64_MAX) {
        apic_timer_arm(0);
        return;
    }
    now = clock_now();
    apic_timer_arm(at > now ? at - now : 1);
}

static void make_ready_locked(struct run_queue *queue, struct thread *thread)
{
    list_remove(&thread->queue_node); /* from the sleepers or the blocked */
    thread->state = THREAD_READY;
    if (thread->group == NULL)
        list_prepend(&queue->ready, &thread->queue_node);
    else
        list_append(&queue->ready, &thread->queue_node);
}

/* The CPU that owns QUEUE has something new: let it look. */
static void notify_cpu(uint32_t index, bool preempt)
{
    if (preempt)
        cpus[index]->resched = true;
    if (index != cpu_index())
        apic_send(cpus[index]->apic_id, VECTOR_WAKE);
}

void sched_wake(struct thread *thread)
{
    uint32_t cpu = thread->cpu;
    struct run_queue *queue = queue_of(cpu);
    bool preempt = thread->group == NULL;
    bool woken = false;

    spin_lock(&queue->lock);
    if (thread->state == THREAD_BLOCKED) {
        make_ready_locked(queue, thread);
        if (cpu == cpu_index())
            timer_update_locked(queue);
        woken = true;
    }
    spin_unlock(&queue->lock);
    if (woken) /* from here on the thread may have run on its CPU, died and be gone */
        notify_cpu(cpu, preempt);
}

void sched_start(struct thread *thread)
{
    struct run_queue *queue = queue_of(thread->cpu);

    spin_lock(&queue->lock);
    queue->count++;
    spin_unlock(&queue->lock);
    sched_wake(thread);
}

void sched_kick(struct thread *thread)
{
    uint32_t cpu = thread->cpu;
    struct run_queue *queue = queue_of(cpu);
    bool running;

    spin_lock(&queue->lock);
    running = thread->state != THREAD_BLOCKED;
    if (!running && wait_ended(thread, thread->wait_end)) {
        make_ready_locked(queue, thread);
        running = true;
    }
    spin_unlock(&queue->lock);
    if (running)
        notify_cpu(cpu, true);
}

void sched_after_switch(void)
{
    struct run_queue *queue = own_queue();
    struct thread *dead = queue->dead;

    spin_unlock(&queue->lock);
    if (dead != NULL) {
        queue->dead = NULL;
        exit_reap(dead);
    }
}

static void save_user(struct thread *thread)
{
    if (thread->fpu != NULL && cpu_self()->fpu_owner == thread)
        fpu_save(thread->fpu);
}

static void restore_user(struct thread *thread)
{
    struct cpu *cpu = cpu_self();

    if (thread->fpu == NULL) {
        space_load(NULL);
        return;
    }
    space_load(group_space(thread->group));
    cpu_set_kernel_stack(thread->stack + STACK_SIZE);
    if (thread->presence != THREAD_PRESENT)
        return; /* its state is elsewhere, or is being filled in by its return: see thread_reload */
    if (cpu->fpu_owner != thread) {
        fpu_restore(thread->fpu);
        cpu->fpu_owner = thread;
    }
    wrmsr(MSR_FS_BASE, thread->context.fs_base);
    wrmsr(MSR_KERNEL_GS_BASE, thread->context.gs_base);
}

/* Switches to the next ready thread, or to idle. The queue is locked; it is unlocked on the other side. */
static void switch_locked(struct run_queue *queue)
{
    struct cpu *cpu = cpu_self();
    struct thread *previous = cpu->thread;
    struct thread *next = queue->idle;

    if (!list_empty(&queue->ready)) {
        next = container_of(queue->ready.next, struct thread, queue_node);
        list_remove(&next->queue_node);
    }
    next->state = THREAD_RUNNING;
    cpu->thread = next;
    cpu->resched = false;
    queue->slice_end = clock_now() + SLICE;
    timer_update_locked(queue);
    if (next == previous) {
        spin_unlock(&queue->lock);
        return;
    }
    save_user(previous);
    restore_user(next);
    context_switch(&previous->saved_stack, next->saved_stack);
    sched_after_switch();
}

void sched_yield(void)
{
    struct run_queue *queue = own_queue();
    struct thread *thread = thread_current();

    cpu_relax(); /* threads that yield to each other until another CPU is done must answer its shootdowns */
    spin_lock(&queue->lock);
    cpu_self()->resched = false;
    if (list_empty(&queue->ready)) {
        spin_unlock(&queue->lock);
        return;
    }
    if (thread != queue->idle) {
        thread->state = THREAD_READY;
        list_append(&queue->ready, &thread->queue_node);
    }
    switch_locked(queue);
}

static void sleepers_insert_locked(struct run_queue *queue, struct thread *thread)
{
    struct list *position = queue->sleepers.next;

    while (position != &queue->sleepers &&
           container_of(position, struct thread, queue_node)->wake_at <= thread->wake_at)
        position = position->next;
    list_insert_before(&thread->queue_node, position);
}

void sched_block(struct spinlock *lock, const struct wait_reason *reason, enum wait_end end, uint64_t deadline)
{
    struct run_queue *queue = own_queue();
    struct thread *thread = thread_current();

    assert(thread != queue->idle);
    spin_lock(&queue->lock);
    if (lock != NULL)
        spin_unlock(lock);
    if (wait_ended(thread, end)) { /* set before the kick takes the queue's lock */
        spin_unlock(&queue->lock);
        return;
    }
    thread->state = THREAD_BLOCKED;
    thread->wait_end = end;
    thread->reason = *reason;
    thread->wake_at = deadline;
    if (deadline != 0)
        sleepers_insert_locked(queue, thread);
    else
        list_append(&queue->blocked, &thread->queue_node);
    switch_locked(queue);
}

void sched_die(void)
{
    struct run_queue *queue = own_queue();
    struct thread *thread = thread_current();

    spin_lock(&queue->lock);
    thread->state = THREAD_DEAD;
    if (cpu_self()->fpu_owner == thread)
        cpu_self()->fpu_owner = NULL;
    queue->count--;
    queue->dead = thread;
    switch_locked(queue);
    panic("tasks: a dead thread ran again");
}

void sched_timer_interrupt(void)
{
    struct run_queue *queue = own_queue();
    uint64_t now = clock_now();

    if (msg_due() != 0 && now >= msg_due())
        msg_poll();

    spin_lock(&queue->lock);
    list_for_each_safe(node, &queue->sleepers) {
        struct thread *thread = container_of(node, struct thread, queue_node);

        if (thread->wake_at > now)
            break;
        make_ready_locked(queue, thread);
    }
    if (!list_empty(&queue->ready) && now >= queue->slice_end)
        cpu_self()->resched = true;
    timer_update_locked(queue);
    spin_unlock(&queue->lock);
}

void sched_wake_interrupt(void)
{
    struct run_queue *queue = own_queue();

    spin_lock(&queue->lock);
    timer_update_locked(queue);
    spin_unlock(&queue->lock);
}

/* Looks for messages for a while, once at least, and handles them. True: a thread is ready, or messages came: do not
 * halt yet. */
static __attribute__((noinline)) bool idle_poll_work(struct run_queue *queue)
{
    struct cpu *cpu = cpu_self();
    uint32_t left = msg_idle_budget();

    do {
        cpu->idle_polls++;
        if (idle_poll_look()) {
            msg_poll();
            return true;
        }
        cpu_relax();
        if (left % LOOKS_BETWEEN_INTERRUPTS == 0)
            interrupts_window(); /* with poll=always there may never be a halt */
    } while (left-- > 0 && list_empty((const struct list *)&queue->ready));
    return !list_empty(&queue->ready);
}

/* Only the first CPU takes doorbells, so only it has to poll before it halts, and to arm before it does anything else.
 */
static void idle_wait(bool first)
{
    struct run_queue *queue = own_queue();
    uint64_t halted;

    if (first && (idle_poll_work(queue) || !msg_doorbell_arm()))
        return;
    halted = clock_now();
    /* Interrupts are off: whatever makes a thread ready from now on also raises one, which ends the halt at once. */
    if (list_empty((const struct list *)&queue->ready))
        interrupts_wait();
    if (first) {
        msg_doorbell_disarm();
        msg_idle_gave_up(clock_now() - halted);
    }
}

void sched_idle(void)
{
    struct run_queue *queue = own_queue();
    bool first = cpu_index() == 0;

    space_load(NULL);
    for (;;) {
        spin_lock(&queue->lock);
        if (list_empty(&queue->ready)) {
            spin_unlock(&queue->lock);
            idle_wait(first);
            continue;
        }
        if (first) {
            spin_unlock(&queue->lock);
            while (!msg_doorbell_arm()) {
                msg_poll();
                cpu_relax();
            }
            spin_lock(&queue->lock);
        }
        switch_locked(queue);
        if (first)
            msg_doorbell_disarm();
    }
}

static void dump_list(const struct list *head, uint64_t now)
{
    uint32_t left = DUMP_MAX; /* an unlocked list may change under us */

    list_for_each(node, head) {
        const struct thread *thread = container_of(node, const struct thread, queue_node);

        log_event("wait kernel %u thread %u:%u %s waits for %s%s%d key %lx%s", instance.kernel,
                  thread->tid >> TID_KERNEL_SHIFT, thread->tid & 0xffff, thread->context.name, thread->reason.what,
                  thread->reason.kernel >= 0 ? " of kernel " : " of own kernel ",
                  thread->reason.kernel >= 0 ? thread->reason.kernel : (int)instance.kernel,
                  (unsigned long)thread->reason.key, thread->wake_at > now ? " (sleeps)" : "");
        if (--left == 0)
            break;
    }
}

/* Runs in an NMI, and must work when a CPU hangs with the lock: it goes without after a bounded time. When this CPU
 * holds the lock, nobody changes the lists, and a change cut short leaves them whole in the forward direction. */
void sched_dump_waits(void)
{
    struct run_queue *queue = own_queue();
    const struct thread *current = thread_current();
    bool locked = false;

    for (uint32_t i = 0; i < DUMP_TRIES && !locked && !spin_held(&queue->lock); i++) {
        locked = spin_try(&queue->lock);
        cpu_pause();
    }

    log_event("wait kernel %u cpu %u runs thread %u:%u %s", instance.kernel, cpu_self()->number,
              current->tid >> TID_KERNEL_SHIFT, current->tid & 0xffff, current->idle ? "idle" : current->context.name);
    dump_list(&queue->blocked, clock_now());
    dump_list(&queue->sleepers, clock_now());
    if (locked)
        spin_unlock(&queue->lock);
}

void sched_affinity_changed(struct thread *thread)
{
    (void)thread;
}

void sched_set_nice(struct thread *thread, int nice)
{
    thread->context.nice = (int16_t)nice;
}
