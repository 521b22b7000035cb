/* The choice of the CPU of the instance on which a thread runs.
 *
 * A woken thread stays on its last CPU if that CPU is idle; otherwise it goes to an idle one, or stays if there is
 * none. A new thread goes to an idle CPU, or to the least loaded one. A CPU that runs out of threads takes one from the
 * busiest CPU. A CPU with several threads checks from time to time whether giving one to the least loaded CPU makes the
 * loads more equal. The first CPU handles the messages of other kernels, so programs get it last.
 *
 * Loads of other CPUs are read without their locks: a stale value only leads to a worse choice. */
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "tasks/sched/internal.h"

#define WORDS (CPUS_MAX / 64)
#define PUSH_INTERVAL 24000000ull /* ns between two checks whether to give a thread away */
#define LOOK_MAX 32u              /* ready threads that are examined for one that may move */

struct cpu_set { /* indexed by the CPU's number in the plan */
    uint64_t words[WORDS];
};

static volatile struct cpu_set own;    /* [a] CPUs of this instance */
static volatile struct cpu_set idlers; /* [a] idle CPUs to which no thread was sent yet */
static uint16_t index_of[CPUS_MAX];    /* [i] index within the instance, by number in the plan */

void place_add_cpu(void)
{
    uint32_t number = cpu_self()->number;

    index_of[number] = (uint16_t)cpu_index();
    __atomic_fetch_or(&own.words[number / 64], 1ull << number % 64, __ATOMIC_SEQ_CST);
}

/* The CPUs of this instance that THREAD may use. */
static void candidates(const struct thread *thread, struct cpu_set *set)
{
    uint64_t any = 0;

    for (uint32_t i = 0; i < WORDS; i++) {
        set->words[i] = own.words[i] & (thread->group == NULL ? ~0ull : thread->context.affinity[i]);
        any |= set->words[i];
    }
    if (any != 0)
        return;
    for (uint32_t i = 0; i < WORDS; i++)
        set->words[i] = own.words[i];
}

static bool set_has(const uint64_t *words, uint32_t index)
{
    uint32_t number = cpus[index]->number;

    return (words[number / 64] >> number % 64 & 1) != 0;
}

bool place_allowed(const struct thread *thread, uint32_t index)
{
    struct cpu_set set;

    if (thread->group == NULL || set_has(thread->context.affinity, index))
        return true;
    candidates(thread, &set);
    return set_has(set.words, index);
}

static bool claim(uint32_t number)
{
    uint64_t bit = 1ull << number % 64;

    return (__atomic_fetch_and(&idlers.words[number / 64], ~bit, __ATOMIC_SEQ_CST) & bit) != 0;
}

/* An idle CPU of SET, which no other caller gets until it is idle again; UINT32_MAX: there is none. */
static uint32_t claim_idle(const struct cpu_set *set, bool program)
{
    uint32_t first = UINT32_MAX;

    for (uint32_t i = 0; i < WORDS; i++) {
        for (uint64_t rest = set->words[i] & idlers.words[i]; rest != 0; rest &= rest - 1) {
            uint32_t number = 64 * i + (uint32_t)__builtin_ctzll(rest);

            if (program && index_of[number] == 0)
                first = number;
            else if (claim(number))
                return index_of[number];
        }
    }
    return first != UINT32_MAX && claim(first) ? 0 : UINT32_MAX;
}

/* The CPU of SET with the least load; of equal ones, the one with the highest index. */
static uint32_t least_loaded(const struct cpu_set *set)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t i = cpu_total; i-- > 0;) {
        if (cpus[i]->online && set_has(set->words, i) &&
            (best == UINT32_MAX || queue_of(i)->run.load < queue_of(best)->run.load))
            best = i;
    }
    return best != UINT32_MAX ? best : cpu_index();
}

uint32_t place_wake(const struct thread *thread)
{
    uint32_t last = thread->cpu;
    struct cpu_set set;
    uint32_t idle;
    bool allowed;

    if (thread->group == NULL || !cpu_several)
        return last; /* a kernel thread has precedence on any CPU */
    candidates(thread, &set);
    allowed = set_has(set.words, last);
    if (allowed && queue_of(last)->run.ready_count == 0 && cpus[last]->thread == queue_of(last)->idle)
        return last;
    idle = claim_idle(&set, true);
    if (idle != UINT32_MAX)
        return idle;
    return allowed ? last : least_loaded(&set);
}

uint32_t place_new(const struct thread *thread)
{
    struct cpu_set set;
    uint32_t idle;

    if (!cpu_several)
        return 0;
    candidates(thread, &set);
    idle = claim_idle(&set, thread->group != NULL);
    return idle != UINT32_MAX ? idle : least_loaded(&set);
}

void place_idle(bool idle)
{
    uint32_t number = cpu_self()->number;
    uint64_t bit = 1ull << number % 64;

    if (((idlers.words[number / 64] & bit) != 0) == idle)
        return;
    if (idle)
        __atomic_fetch_or(&idlers.words[number / 64], bit, __ATOMIC_SEQ_CST);
    else
        __atomic_fetch_and(&idlers.words[number / 64], ~bit, __ATOMIC_SEQ_CST);
}

/* A ready thread of FROM that may use the CPU with index TO. With LOAD, the load of that CPU, only a thread whose move
 * makes the two loads more equal. */
static struct thread *find_locked(struct cpu_queue *from, uint32_t to, const uint64_t *load)
{
    uint32_t left = LOOK_MAX;

    for (struct time_node *node = from->run.ready.first; node != NULL && left-- > 0; node = time_queue_next(node)) {
        struct thread *thread = thread_of((struct sched_entity *)(void *)node);

        if ((load == NULL || fair_better(from->run.load, *load, thread->share.load)) && place_allowed(thread, to))
            return thread;
    }
    return NULL;
}

/* Removes such a thread from FROM and puts it in transit to TO. */
static struct thread *take(struct cpu_queue *from, uint32_t to, const uint64_t *load)
{
    struct thread *thread;

    spin_lock(&from->lock);
    thread = find_locked(from, to, load);
    if (thread != NULL) {
        run_queue_remove(&from->run, &thread->share);
        run_queue_reach(&from->run, &((struct thread *)cpus[from->index]->thread)->share);
        share_detach(&thread->share, &from->run);
        sched_carry_to(thread, to);
    }
    spin_unlock(&from->lock);
    return thread;
}

/* Moves a thread of QUEUE to this CPU, if there is one that may use it. */
static bool steal_from(struct cpu_queue *queue)
{
    struct thread *thread = take(queue, cpu_index(), NULL);

    if (thread != NULL)
        sched_deliver(thread, FAIR_CREDIT);
    return thread != NULL;
}

bool place_steal(void)
{
    struct cpu_queue *busiest = NULL;

    for (uint32_t i = 0; i < cpu_total; i++) {
        struct cpu_queue *queue = queue_of(i);

        if (i != cpu_index() && queue->run.ready_count > 0 && (busiest == NULL || queue->run.load > busiest->run.load))
            busiest = queue;
    }
    if (busiest == NULL)
        return false;
    if (steal_from(busiest))
        return true;
    for (uint32_t i = 0; i < cpu_total; i++) { /* the threads of the busiest CPU may be bound to it */
        if (i != cpu_index() && queue_of(i) != busiest && queue_of(i)->run.ready_count > 0 && steal_from(queue_of(i)))
            return true;
    }
    return false;
}

void place_push(void)
{
    struct cpu_queue *queue = queue_of(cpu_index());
    uint64_t now = clock_now();
    struct thread *thread;
    struct cpu_set all;
    uint64_t load;
    uint32_t target;

    if (now - queue->pushed_at < PUSH_INTERVAL)
        return;
    queue->pushed_at = now;
    for (uint32_t i = 0; i < WORDS; i++)
        all.words[i] = own.words[i];
    target = least_loaded(&all);
    load = queue_of(target)->run.load;
    if (target == cpu_index())
        return;
    thread = take(queue, target, &load);
    if (thread != NULL)
        sched_deliver(thread, FAIR_CREDIT);
}
