/* CPU time of threads and of CPUs. See tasks/sched/sched.h. */
#include "kernel/arch/x86_64/clock.h"
#include "kernel/lib/string.h"
#include "tasks/sched/internal.h"

/* COUNTS of the time stamp counter in ns, at most RAN: the clocks of two CPUs may differ a little. */
static uint64_t user_part(uint64_t counts, uint64_t ran)
{
    uint64_t user = clock_counts_to_ns(counts);

    return user < ran ? user : ran;
}

void sched_settle(void)
{
    struct cpu *cpu = cpu_self();
    struct cpu_queue *queue = cpu->scheduler;
    struct thread *thread = cpu->thread;
    uint64_t user;

    spin_lock(&queue->lock);
    sched_charge_locked(queue, thread, clock_now());
    sched_take_user_time(cpu, thread);
    user = user_part(thread->user_counts, thread->share.ran);
    thread->context.user_ns += user;
    thread->context.system_ns += thread->share.ran - user;
    thread->user_counts = 0;
    thread->share.ran = 0;
    spin_unlock(&queue->lock);
}

void sched_cpu_time(struct thread *thread, uint64_t *user, uint64_t *system)
{
    struct cpu_queue *queue = sched_lock(thread);
    uint64_t ran = thread->share.ran, counts = thread->user_counts, in_user;

    if (thread->state == THREAD_RUNNING) {
        uint64_t now = clock_now();
        int64_t more = cpus[queue->index]->user_counts;

        if (more < 0) /* it is in user mode */
            more += (int64_t)rdtsc();
        counts += more > 0 ? (uint64_t)more : 0;
        ran += now > queue->since ? now - queue->since : 0;
    }
    in_user = user_part(counts, ran);
    *user = thread->context.user_ns + in_user;
    *system = thread->context.system_ns + ran - in_user;
    spin_unlock(&queue->lock);
}

void sched_cpu_use(uint32_t index, struct cpu_use *out)
{
    struct cpu_queue *queue = queue_of(index);
    struct thread *running;
    uint64_t now, counts;

    spin_lock(&queue->lock);
    now = clock_now();
    running = cpus[index]->thread;
    counts = queue->user_counts;
    if (running != queue->idle) {
        int64_t more = cpus[index]->user_counts;

        if (more < 0) /* it is in user mode */
            more += (int64_t)rdtsc();
        counts += more > 0 ? (uint64_t)more : 0;
        sched_charge_locked(queue, running, now);
    }
    sched_average_locked(queue, now);
    *out = (struct cpu_use){
        .user_ns = user_part(counts, queue->busy), .switches = queue->switches, .ready = load_count(queue->run.load)};
    out->system_ns = queue->busy - out->user_ns;
    out->idle_ns = now > queue->begun + queue->busy ? now - queue->begun - queue->busy : 0;
    memcpy(out->average, queue->loads.average, sizeof(out->average));
    spin_unlock(&queue->lock);
}
