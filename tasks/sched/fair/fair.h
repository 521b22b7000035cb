/* Which thread runs next: the arithmetic of scheduling entities. It accesses no hardware and takes no locks.
 *
 * Every ready thread has a position, a number; the thread with the least position runs first. The two highest bits are
 * its rank:
 *
 *   kernel  threads of the kernel, before all others, first come first
 *   real    SCHED_FIFO and SCHED_RR: by priority, within one first come first
 *   fair    everything else: by virtual run time, which is run time divided by weight, so that over any length of time
 *           threads get time in proportion to their weights (Waldspurger's stride scheduling 1995; Linux's CFS)
 *
 * A fair thread does not accumulate credit while it sleeps: when it wakes, its position is at most FAIR_CREDIT below
 * the floor of its queue. */
#ifndef TASKS_SCHED_FAIR_FAIR_H
#define TASKS_SCHED_FAIR_FAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "tasks/sched/fair/time_queue.h"

#define FAIR_WEIGHT_NORMAL 1024u /* of nice 0; one nice level is a factor of 1.25, as in Linux */
#define FAIR_WEIGHT_IDLE 3u      /* of SCHED_IDLE */
#define FAIR_WEIGHT_REAL 88761u  /* load of a thread with a real priority: as much as nice -20 */
#define FAIR_SLICE 6000000ull    /* ns that a fair thread runs before the timer lets one that is owed more preempt it */
#define FAIR_ROUND 100000000ull  /* ns that a SCHED_RR thread runs while others of its priority wait */
#define FAIR_CREDIT 3000000ull   /* virtual ns a sleeper may be owed when it wakes */
#define FAIR_BEHIND 24000000ull  /* ns that a thread may have run more than it was owed; the excess is forgiven */
#define FAIR_PREEMPTION 1000000ull /* virtual ns that a woken thread must be owed more than the one it preempts */
#define FAIR_PRIORITY_MAX 99       /* of the real priorities 1 to 99 */
#define FAIR_NICE_MIN (-20)
#define FAIR_NICE_MAX 19

#define FAIR_RANK_SHIFT 62u
#define FAIR_PRIORITY_SHIFT 54u

enum fair_rank { RANK_KERNEL, RANK_REAL, RANK_FAIR };
#define FAIR_BASE ((uint64_t)RANK_FAIR << FAIR_RANK_SHIFT) /* position 0 of rank fair */

/* SCHED_* of Linux's sched(7). In thread_context.policy the real priority is above POLICY_PRIORITY_SHIFT. */
enum fair_policy { POLICY_OTHER = 0, POLICY_FIFO = 1, POLICY_RR = 2, POLICY_BATCH = 3, POLICY_IDLE = 5 };
#define POLICY_MASK 0x7fu
#define POLICY_RESET_ON_FORK 0x80u
#define POLICY_PRIORITY_SHIFT 8u

/* A number for comparisons: the thread with the greater one has precedence. */
static inline int fair_priority(uint32_t policy, int nice)
{
    int priority = (int)(policy >> POLICY_PRIORITY_SHIFT);

    if (priority > 0)
        return 100 + priority;
    return (policy & POLICY_MASK) == POLICY_IDLE ? -100 : -nice;
}

/* A load is the sum of the weights of threads and, in the low bits, their number. Loads can be added and compared. */
#define LOAD_SHIFT 16u
static inline uint64_t load_of(uint64_t weight)
{
    return weight << LOAD_SHIFT | 1;
}
static inline uint64_t load_weight(uint64_t load)
{
    return load >> LOAD_SHIFT;
}
static inline uint32_t load_count(uint64_t load)
{
    return (uint32_t)(load & ((1u << LOAD_SHIFT) - 1));
}

/* A scheduling entity. Marks: [q] as in tasks/thread/thread.h. */
struct sched_entity {
    struct time_node node; /* [q] in the ready or the sleeping threads of a CPU */
    uint64_t position;     /* [q] */
    uint64_t ran;          /* [q] ns run since sched_settle (tasks/sched/cpu_time.c) */
    uint64_t rate;         /* [q] virtual ns for each ns, 32.32 fixed point; 0 unless its rank is fair */
    uint64_t slice;        /* [q] ns; UINT64_MAX: until it blocks or yields */
    uint64_t behind;       /* [q] FAIR_BEHIND in virtual ns of this entity */
    uint64_t load;         /* [q] its part of a load; 0 for kernel threads */
};

/* The ready threads of one CPU. All [q]. */
struct run_queue {
    struct time_queue ready;
    volatile uint32_t ready_count; /* read without the lock, too */
    volatile uint64_t load;        /* load of the ready threads and the running one; read without the lock, too */
    uint64_t floor;    /* position of rank fair that all fair threads have reached, but for credit; never decreases */
    uint64_t arrivals; /* numbers the threads that run in order of arrival */
};

/* The weight of NICE, after clamping it. */
uint32_t fair_weight(int nice);
/* Fills in SHARE, which is in no queue, for a kernel thread, or for POLICY (as thread_context.policy) and NICE. */
void share_set_kernel(struct sched_entity *share);
void share_set(struct sched_entity *share, uint32_t policy, int nice);
void run_queue_init(struct run_queue *queue);

static inline enum fair_rank share_rank(const struct sched_entity *share)
{
    return (enum fair_rank)(share->position >> FAIR_RANK_SHIFT);
}

/* Charges SHARE for NS of run time. */
static inline void share_charge(struct sched_entity *share, uint64_t ns)
{
    share->ran += ns;
    share->position += (uint64_t)((unsigned __int128)ns * share->rate >> 32);
}

/* Positions SHARE behind those of its rank, or of its priority, that are in QUEUE now. */
static inline void share_requeue(struct run_queue *queue, struct sched_entity *share)
{
    uint64_t head = share->position >> FAIR_PRIORITY_SHIFT << FAIR_PRIORITY_SHIFT;

    share->position = head | (++queue->arrivals & ((1ull << FAIR_PRIORITY_SHIFT) - 1));
}

static inline void run_queue_raise_floor(struct run_queue *queue, const struct sched_entity *share)
{
    if (share_rank(share) == RANK_FAIR && share->position > queue->floor)
        queue->floor = share->position;
}

/* Inserts SHARE, which is ready, at its position. */
static inline void run_queue_put(struct run_queue *queue, struct sched_entity *share)
{
    share->node.key = share->position;
    time_queue_add(&queue->ready, &share->node);
    queue->ready_count++;
}

/* Removes and returns the ready entity that runs next, or NULL. */
static inline struct sched_entity *run_queue_take(struct run_queue *queue)
{
    struct sched_entity *share;

    if (queue->ready.first == NULL)
        return NULL;
    share = (struct sched_entity *)(void *)time_queue_pop(&queue->ready); /* the node is its first member */
    queue->ready_count--;
    run_queue_raise_floor(queue, share);
    return share;
}

static inline const struct sched_entity *run_queue_first(const struct run_queue *queue)
{
    return (const struct sched_entity *)(const void *)queue->ready.first;
}

/* Raises the floor to the position that RUNNING (charged up to now, or NULL) and all ready threads have reached.
 * Without this the floor stays behind while a thread runs alone. */
static inline void run_queue_reach(struct run_queue *queue, const struct sched_entity *running)
{
    const struct sched_entity *first = run_queue_first(queue);
    const struct sched_entity *least = running;

    if (first != NULL && (least == NULL || first->position < least->position))
        least = first;
    if (least != NULL)
        run_queue_raise_floor(queue, least);
}

/* SHARE runs and has been charged. If it ran for much longer than its slice because the timer interrupt was late (for
 * instance because a hypervisor had stopped the CPU), part of the charge is forgiven: otherwise, with N threads, it
 * would wait N times as long. Positions of other ranks are below every floor. */
static inline void run_queue_forgive(struct run_queue *queue, struct sched_entity *share)
{
    if (share->position <= queue->floor + share->behind)
        return;
    run_queue_reach(queue, share);
    if (share->position > queue->floor + share->behind)
        share->position = queue->floor + share->behind;
}

/* SHARE, which slept or has just arrived, becomes ready while RUNNING (charged up to now, or NULL) runs; it is owed
 * CREDIT at most. True: it is owed so much more than RUNNING that it should have the CPU at once. */
static inline bool run_queue_wake(struct run_queue *queue, struct sched_entity *share,
                                  const struct sched_entity *running, uint64_t credit)
{
    if (share_rank(share) == RANK_FAIR) {
        run_queue_reach(queue, running);
        if (share->position + credit < queue->floor)
            share->position = queue->floor - credit;
    } else {
        share_requeue(queue, share);
    }
    queue->load += share->load;
    run_queue_put(queue, share);
    return running != NULL && share->position + FAIR_PREEMPTION < running->position;
}

/* The running SHARE yields: a fair one is placed right behind the first ready one, any other behind those of its
 * priority or rank. */
void run_queue_yield(struct run_queue *queue, struct sched_entity *share);
/* Removes SHARE, which is ready in QUEUE. */
void run_queue_remove(struct run_queue *queue, struct sched_entity *share);
/* SHARE, which is not ready, moves from one CPU to another and is owed as much at the second as at the first. Between
 * share_detach and share_attach its position holds that amount; share_new sets it for a new entity, which is owed
 * nothing. */
void share_new(struct sched_entity *share);
void share_detach(struct sched_entity *share, const struct run_queue *from);
void share_attach(struct sched_entity *share, struct run_queue *to);
/* Gives SHARE, which is ready (READY) or running in QUEUE, another policy and nice value. */
void run_queue_change(struct run_queue *queue, struct sched_entity *share, bool ready, uint32_t policy, int nice);
/* Called when the slice of SHARE is over: one of SCHED_RR goes behind those of its priority. */
static inline void run_queue_slice_over(struct run_queue *queue, struct sched_entity *share)
{
    if (share_rank(share) == RANK_REAL && share->slice != UINT64_MAX)
        share_requeue(queue, share);
}

/* True if the loads FROM and TO of two CPUs are more equal after a thread of load MOVED has moved from the first to the
 * second, so that moving it back would not be an improvement again. */
static inline bool fair_better(uint64_t from, uint64_t to, uint64_t moved)
{
    return from > to && from - to > moved;
}

_Static_assert(offsetof(struct sched_entity, node) == 0, "a node is a share");
#endif
