/* Threads that move to the memory that they use: the member's side. The home of a process says on which node its
 * threads here would do better (mm/seen/draw.md); this kernel knows its threads, what a move costs, and where a CPU is
 * free. A worker serves the request; it waits for nothing but locks. */
#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/seen/draw.h"
#include "mm/seen/wire.h"
#include "msg/trace.h"
#include "tasks/balance/balance.h"
#include "tasks/balance/internal.h"
#include "tasks/process/group.h"
#include "tasks/remote/operation.h"
#include "tasks/sched/cpu_mask.h"
#include "tasks/sched/internal.h"
#include "tasks/thread/walk.h"

#define BUSY 8u   /* part of the time of the thread that ran most, which the others that count have run, too */
#define SURELY 2u /* so many threads for each that may be another one than who uses the memory */

_Static_assert(DRAW_WHOLE == BALANCE_WHOLE, "both count parts of a time");

static uint64_t results[DRAW_RESULTS]; /* [a] */

/* The thread that is to move. */
struct candidate {
    uint32_t tid; /* 0: there is none */
    uint64_t ran, weight;
    uint64_t affinity[CPUS_MAX / 64];
};

/* What is looked for among the threads of a process. */
struct search {
    uint32_t node;          /* to which the thread is to move */
    uint32_t busy;          /* threads that have run nearly as long as MOST */
    uint64_t most;          /* ns that any thread has run here which does not sleep; 0: none has */
    struct candidate found; /* of those threads, the one that has run most of those that may move to NODE */
};

/* ns that THREAD has run here, and its weight; *SLEEPS: it is in a wait that a signal or its death can end. One that
 * cannot end so is that of a thread at work, as for a page. A thread that has its CPU for itself is not charged for
 * long times. */
static uint64_t ran_here(const struct thread *thread, uint64_t *weight, bool *sleeps)
{
    struct cpu_queue *queue = sched_lock(thread);
    uint64_t ran = thread->share.ran, now = clock_now();

    if (sched_running_on(queue) == thread && now > queue->since)
        ran += now - queue->since;
    *weight = load_weight(thread->share.load);
    *sleeps = thread->state == THREAD_BLOCKED && thread->wait_end != WAIT_FIRM;
    spin_unlock(&queue->lock);
    return ran;
}

/* Whether a kernel of NODE may have a thread with the affinity MASK. */
static bool node_allows(const uint64_t *mask, uint32_t node)
{
    for (uint32_t kernel = 0; kernel < instance.kernels; kernel++) {
        if (instance.plan.kernels[kernel].node == node && cpu_mask_allows(mask, kernel))
            return true;
    }
    return false;
}

/* Whether the program and the user leave it to the kernel whether THREAD, which is here, runs on NODE. */
static bool may_move_locked(const struct thread *thread, uint32_t node)
{
    return thread->presence == THREAD_PRESENT && !thread_dying(thread) && (thread->due & THREAD_DUE_MOVE) == 0 &&
           thread->context.chosen == 0 && share_rank(&thread->share) == RANK_FAIR &&
           node_allows(thread->context.affinity, node);
}

static void find_most_locked(struct thread *thread, void *context)
{
    struct search *search = context;
    uint64_t weight, ran;
    bool sleeps;

    if (thread->presence != THREAD_PRESENT)
        return;
    ran = ran_here(thread, &weight, &sleeps);
    if (sleeps)
        return;
    search->most = ran > search->most ? ran : search->most;
    if (ran <= search->found.ran || !may_move_locked(thread, search->node))
        return;
    search->found.tid = thread->tid;
    search->found.ran = ran;
    search->found.weight = weight;
    memcpy(search->found.affinity, thread->context.affinity, sizeof(search->found.affinity));
}

/* Also counts threads that sleep now: the reports of this kernel do not tell which of its threads has used what. */
static void count_busy_locked(struct thread *thread, void *context)
{
    struct search *search = context;
    uint64_t weight;
    bool sleeps;

    search->busy += thread->presence == THREAD_PRESENT && BUSY * ran_here(thread, &weight, &sleeps) >= search->most;
}

/* Finds the thread of GROUP that is to move, if one may that is busy and does not sleep, and how many are busy. The
 * threads go on meanwhile: what they do after they have been looked at is for the next request. */
static void find(struct group *group, struct search *search)
{
    group_each_thread(group, find_most_locked, search);
    if (BUSY * search->found.ran < search->most)
        search->found.tid = 0;
    if (search->found.tid != 0)
        group_each_thread(group, count_busy_locked, search);
}

/* Sets *KERNEL to the one of the node with a free CPU where the thread FOUND is to go, and *C to what was compared, if
 * that pays. */
static enum balance_drawn choose(const struct candidate *found, const struct msg_threads_draw *ask,
                                 struct balance_case *c, uint32_t *kernel)
{
    struct balance_kernel kernels[KERNELS_MAX];
    const struct balance_kernel *here = &kernels[instance.kernel], *there;

    balance_look(found->affinity, kernels);
    for (uint32_t k = 0; k < instance.kernels; k++)
        kernels[k].allowed = kernels[k].allowed && k != instance.kernel && instance.plan.kernels[k].node == ask->node &&
                             kernels[k].count < kernels[k].cpus;
    *kernel = balance_choose(PLACE_LEAST_LOADED, BALANCE_CLONE, kernels, instance.kernels, instance.kernel, 0);
    if (*kernel == BALANCE_NOWHERE)
        return DRAW_CROWDED;
    there = &kernels[*kernel];
    *c = (struct balance_case){.ran = found->ran,
                               .weight = found->weight,
                               .here = here->weight > found->weight ? here->weight : found->weight,
                               .there = there->weight,
                               .cpus_here = here->cpus,
                               .cpus_there = there->cpus,
                               .cost = balance_cost()};
    return balance_draws(c, ask->part) ? DRAW_ORDERED : DRAW_DEAR;
}

/* Orders a thread of GROUP to move as ASK says; *THREAD is which, if it does. */
static enum balance_drawn draw(struct group *group, const struct msg_threads_draw *ask, uint32_t *thread)
{
    struct search search = {.node = ask->node};
    const struct candidate *found = &search.found;
    struct balance_case c = {0};
    enum balance_drawn result;
    uint32_t kernel = instance.kernel;
    bool borrows;
    int64_t gain;

    spin_lock(&group->lock);
    borrows = group->pinned != NULL; /* its parent's memory */
    spin_unlock(&group->lock);
    if (!borrows)
        find(group, &search);
    /* One of several threads may be the one that uses what is here alone. */
    if (found->tid == 0)
        result = !borrows && search.most == 0 ? DRAW_ASLEEP : DRAW_BOUND;
    else if (search.busy > 1 && SURELY * search.busy * ask->own > DRAW_WHOLE)
        result = DRAW_UNSURE;
    else
        result = choose(found, ask, &c, &kernel);
    if (result == DRAW_ORDERED && (balance_hooks.move == NULL || !balance_hooks.move(found->tid, kernel, true)))
        result = DRAW_BOUND;
    *thread = found->tid;
    if (result == DRAW_ORDERED || result == DRAW_DEAR) { /* figures in us */
        gain = balance_draw_gain(&c, ask->part);
        trace_note(result == DRAW_ORDERED ? "moves to its memory" : "is too dear to move to its memory", found->tid,
                   kernel, gain > 0 ? (uint64_t)gain / 1000 : 0, c.cost / 1000);
    } else {
        trace_note("stays away from its memory", found->tid, instance.kernel, result, ask->part);
    }
    return result;
}

static int run_draw(const struct remote_request *request, void *result)
{
    const struct msg_threads_draw *ask = request->data;
    struct msg_threads_drawn answer = {0};
    struct group *group = group_find(ask->process);
    int error = group == NULL ? -ESRCH : 0;

    if (error == 0 && (request->kernel != group->home || ask->node >= instance.plan.node_count ||
                       ask->part > DRAW_WHOLE || ask->own > DRAW_WHOLE))
        error = -EPROTO;
    if (error == 0) {
        uint32_t thread;
        enum balance_drawn became = draw(group, ask, &thread);

        answer.thread = became == DRAW_ORDERED ? thread : 0;
        __atomic_fetch_add(&results[became], 1, __ATOMIC_RELAXED);
        memcpy(result, &answer, sizeof(answer));
    }
    if (group != NULL)
        group_put(group);
    return error != 0 ? error : (int)sizeof(answer);
}

void balance_draw_counts(uint64_t counts[DRAW_RESULTS])
{
    for (uint32_t i = 0; i < DRAW_RESULTS; i++)
        counts[i] = __atomic_load_n(&results[i], __ATOMIC_RELAXED);
}

void balance_draw_init(void)
{
    REMOTE_SERVE_TASK(THREADS_DRAW, WORK_LEAF, run_draw, NULL, struct msg_threads_draw, struct msg_threads_drawn);
}
