/* The idle loop of a CPU: it polls for messages for a while, zeroes some frames, then halts; and polling by a thread
 * before it sleeps. See tasks/sched/sched.h. */
#include "msg/idle.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/silence.h"
#include "kernel/arch/x86_64/tlb.h"
#include "kernel/arch/x86_64/traps.h"
#include "kernel/instance/instance.h"
#include "mm/frame/frame.h"
#include "mm/space/space.h"
#include "msg/channel.h"
#include "tasks/sched/internal.h"
#include "tasks/sched/load.h"

#define LOOKS_BETWEEN_INTERRUPTS 256u /* that find no message */
#define TAKES_BETWEEN_INTERRUPTS 32u  /* looks that find some */
#define TAKES_BETWEEN_CLOCKS 4u       /* of these; where they have taken long, interrupts have their turn at once */
#define FRAMES_BETWEEN_INTERRUPTS 8u

/* Lets interrupts in during polling: with poll=always, and while a peer sends without a pause, the CPU never halts, and
 * its timers would never expire. */
static __attribute__((noinline)) void idle_break(struct cpu_queue *queue)
{
    load_publish(queue);
    interrupts_window();
}

void (*volatile sched_halt)(void);

/* Polls for messages for a while, at least once, and handles them. True: a thread is ready or messages came, so the CPU
 * must not halt yet. */
static __attribute__((noinline)) bool idle_poll_work(struct cpu_queue *queue)
{
    struct cpu *cpu = cpu_self();
    uint32_t left = msg_idle_budget();
    uint64_t last = rdtsc_unordered();

    do {
        cpu->idle_polls++;
        if (idle_poll_look() && msg_poll()) {
            if (cpu->idle_polls % TAKES_BETWEEN_CLOCKS == 0 &&
                (idle_poll_away(&last) || cpu->idle_polls % TAKES_BETWEEN_INTERRUPTS == 0))
                idle_break(queue);
            if (cpu_several || queue->run.ready_count > 0 || sched_halt != NULL)
                return true;
            left = msg_idle_budget();
            continue;
        }
        cpu_pause();
        /* As cpu_relax, but without a call if there is no shootdown. The CPU that holds the lock under which messages
         * are handled may be waiting for this one to answer its shootdown. */
        if (cpu->flush_pending)
            tlb_interrupt();
        if (idle_poll_away(&last)) {
            idle_break(queue); /* its timer may have expired */
            if (left <= IDLE_LOOKS_MAX)
                break;
        } else if (left % LOOKS_BETWEEN_INTERRUPTS == 0) {
            idle_break(queue);
        }
    } while (left-- > 0 && queue->run.ready_count == 0);
    return queue->run.ready_count > 0;
}

/* Zeroes free frames ahead of their use (frame_idle), instead of halting at once. True: there is other work. */
static __attribute__((noinline)) bool idle_zero(struct cpu_queue *queue, bool first)
{
    for (uint32_t i = 1; queue->run.ready_count == 0 && sched_halt == NULL; i++) {
        if (first && idle_poll_look() && msg_poll())
            return true;
        if (!frame_idle())
            return false;
        cpu_answer();
        if (i % FRAMES_BETWEEN_INTERRUPTS == 0)
            idle_break(queue);
    }
    return true;
}

/* Only the first CPU takes doorbells, so only it polls before it halts, and only it arms the doorbell. */
static void idle_wait(bool first)
{
    struct cpu_queue *queue = cpu_self()->scheduler;
    uint64_t halted;

    if (first && idle_poll_work(queue))
        return;
    if (idle_zero(queue, first) || (first && !msg_doorbell_arm()))
        return;
    load_publish(queue);
    halted = clock_now();
    /* Interrupts are off: any code that makes a thread ready from now on also raises an interrupt, which ends the halt
     * at once. */
    if (queue->run.ready_count == 0 && sched_halt == NULL)
        interrupts_wait();
    load_publish(queue);
    if (first) {
        msg_doorbell_disarm();
        msg_idle_gave_up(clock_now() - halted);
    }
}

void sched_idle(void)
{
    struct cpu_queue *queue = cpu_self()->scheduler;
    bool first = cpu_index() == 0;

    space_load(NULL);
    for (;;) {
        spin_lock(&queue->lock);
        if (queue->run.ready_count == 0) {
            spin_unlock(&queue->lock);
            if (sched_halt != NULL)
                sched_halt();
            if (cpu_several) /* set before looking for threads: a waker that comes later finds this CPU idle */
                place_idle(true);
            if (!cpu_several || !place_steal())
                idle_wait(first);
            continue;
        }
        if (first) {
            spin_unlock(&queue->lock);
            msg_doorbell_leave();
            spin_lock(&queue->lock);
        }
        if (cpu_several)
            place_idle(false);
        load_publish(queue); /* the board may show no load, and no interrupt corrects it while a thread runs alone */
        if (queue->run.ready_count > 0) {
            silence_begin();
            sched_switch_locked(queue, clock_now());
            silence_end((uint64_t)sched_idle);
        } else {
            spin_unlock(&queue->lock); /* another CPU has taken the thread */
        }
        if (first)
            msg_doorbell_disarm();
    }
}

void sched_poll(bool (*over)(const void *context), const void *context)
{
    struct cpu_queue *queue = sched_own_queue();

    if (queue->run.ready_count > 0)
        return;
    spin_lock(&queue->lock);
    sched_charge_locked(queue, thread_current(), clock_now());
    queue->since = SCHED_NEVER; /* who makes a thread ready meanwhile, here or on another CPU, charges nothing */
    spin_unlock(&queue->lock);
    idle_poll_event(over, context);
    spin_lock(&queue->lock);
    queue->since = clock_now();
    spin_unlock(&queue->lock);
}
