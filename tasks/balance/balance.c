/* The balancer between kernels. See the header, tasks/balance/balance.md and tasks/balance/choice.h.
 *
 * Statistics and averages belong to this kernel, under one innermost lock. Loads of other kernels come from their
 * boards, without messages. */
#include "tasks/balance/balance.h"

#include "boot/options/control.h"
#include "boot/options/options.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/printf.h"
#include "msg/channel.h"
#include "msg/trace.h"
#include "tasks/balance/internal.h"
#include "tasks/process/group.h"
#include "tasks/remote/work.h"
#include "tasks/sched/internal.h"
#include "tasks/sched/load.h"

#define WORDS (CPUS_MAX / 64)
#define LOOK_INTERVAL 50000000ull /* minimal time between two runs, ns */
#define LOOK_COSTS 4u             /* time between two runs, in costs of a move */
#define LOOK_MAX 64u              /* ready threads that are looked at: of a CPU, and of all when one is placed */
#define MOVE_NS_FIRST 1000000ull  /* assumed duration of a move before the first measurement */
#define FETCH_NS_FIRST 50000ull
#define FETCHES_FIRST 32u

enum balance_mode { BALANCE_OFF, BALANCE_AT_CLONE, BALANCE_ACTIVE };

static const char *const modes[] = {"off", "clone", "active"};
static const char *const placings[] = {"local", "spread", "least-loaded"};

struct balance_hooks balance_hooks;

static volatile enum balance_mode mode = BALANCE_AT_CLONE;
static volatile enum balance_placing placing = PLACE_SPREAD;
static uint64_t cpus_of[KERNELS_MAX][WORDS]; /* [i] bit sets of CPUs, by number in the plan */

static struct spinlock lock;                              /* innermost */
static uint32_t turn;                                     /* [k] */
static uint64_t move_ns, fetches;                         /* [k] averages; 0: no sample yet */
static uint64_t placed[3], placed_elsewhere[3];           /* [k] by event */
static uint64_t looks, moves, refused, too_dear, nowhere; /* [k] runs, and their results */

static uint64_t under_way[KERNELS_MAX]; /* [a] load of the threads that have left for it, which it has not answered */
static volatile uint64_t next_look;     /* [a] ns */
static volatile bool look_queued;       /* [a] */
static struct work look_work;

static void set_mode(const char *value)
{
    mode = (enum balance_mode)option_index("balance", value);
}

static void set_placing(const char *value)
{
    placing = (enum balance_placing)option_index("place", value);
}

static struct option mode_option = {.name = "balance", .set = set_mode};
static struct option placing_option = {.name = "place", .set = set_placing};

static bool is_allowed(uint32_t kernel, const uint64_t affinity[])
{
    uint64_t any = 0, common = 0;

    for (uint32_t i = 0; i < WORDS; i++) {
        any |= affinity[i];
        common |= affinity[i] & cpus_of[kernel][i];
    }
    return (any == 0 || common != 0) && msg_peer_started(kernel);
}

/* Whether AFFINITY has CPUs of this kernel alone. */
static bool is_bound_here(const uint64_t affinity[])
{
    uint64_t here = 0, elsewhere = 0;

    for (uint32_t i = 0; i < WORDS; i++) {
        here |= affinity[i] & cpus_of[instance.kernel][i];
        elsewhere |= affinity[i] & ~cpus_of[instance.kernel][i];
    }
    return here != 0 && elsewhere == 0;
}

/* The load of this kernel as it is now. */
struct own_load {
    uint64_t staying;              /* of the threads that do not leave */
    uint64_t leaving[KERNELS_MAX]; /* of those that are about to leave, by kernel */
};

/* Takes THREAD, which is ready or runs here, from those that stay if it is about to leave, or leaves. */
static void sort_out(const struct thread *thread, struct own_load *own)
{
    uint32_t target = thread->target;

    if (thread->group == NULL)
        return;
    if (thread->presence != THREAD_PRESENT) { /* it is under way */
        own->staying -= thread->share.load;
    } else if ((thread->due & THREAD_DUE_MOVE) != 0 && target < instance.kernels && target != instance.kernel) {
        own->staying -= thread->share.load;
        own->leaving[target] += thread->share.load;
    }
}

/* Fills *OWN. Threads that were made here for other kernels, and have not run yet, need no CPU here, but there; those
 * behind the first LOOK_MAX ready ones of all CPUs count as if they stayed. */
static void read_own(struct own_load *own)
{
    uint32_t left = LOOK_MAX;

    *own = (struct own_load){0};
    for (uint32_t i = 0; i < cpu_total; i++) {
        struct cpu_queue *queue = queue_of(i);

        if (queue->run.load == 0)
            continue; /* no program has a thread there */
        spin_lock(&queue->lock);
        own->staying += queue->run.load;
        sort_out(sched_running_on(queue), own);
        for (struct time_node *node = queue->run.ready.first; node != NULL && left > 0; node = time_queue_next(node)) {
            left--;
            sort_out(thread_of((struct sched_entity *)(void *)node), own);
        }
        spin_unlock(&queue->lock);
    }
}

/* Fills *OUT with the load of KERNEL: its board, plus the threads that are about to leave or under way for it; of this
 * kernel, what stays. */
static void view(uint32_t kernel, const uint64_t affinity[], const struct own_load *own, struct balance_kernel *out)
{
    const struct plan_kernel *plan = &instance.plan.kernels[kernel];
    struct load_view board;
    uint64_t load = own->staying;
    uint32_t distance = 0; /* nothing is as near as this kernel */

    if (kernel != instance.kernel) {
        distance = instance.plan.distance[instance.plan.kernels[instance.kernel].node][plan->node];
        load_read(kernel, &board);
        load = board.load + own->leaving[kernel] + __atomic_load_n(&under_way[kernel], __ATOMIC_RELAXED);
    }
    *out = (struct balance_kernel){
        .allowed = is_allowed(kernel, affinity),
        .cpus = plan->cpu_count,
        .count = load_count(load),
        .weight = load_weight(load),
        .distance = distance,
    };
}

void balance_note_departure(uint32_t kernel, uint64_t load)
{
    __atomic_fetch_add(&under_way[kernel], load, __ATOMIC_RELAXED);
}

void balance_note_answer(uint32_t kernel, uint64_t load)
{
    __atomic_fetch_sub(&under_way[kernel], load, __ATOMIC_RELAXED);
}

uint32_t balance_place(const struct thread *parent, const uint64_t affinity[], enum balance_event event,
                       const uint32_t made[])
{
    struct balance_kernel kernels[KERNELS_MAX];
    enum balance_placing how = mode == BALANCE_OFF ? PLACE_LOCAL : placing;
    uint32_t chosen = instance.kernel;
    bool open = instance.kernels > 1 && !is_bound_here(affinity) &&
                (how != PLACE_LOCAL || !is_allowed(instance.kernel, affinity));
    struct own_load own;

    if (open) {
        read_own(&own);
        for (uint32_t k = 0; k < instance.kernels; k++) {
            view(k, affinity, &own, &kernels[k]);
            if (made != NULL && kernels[k].count < made[k])
                kernels[k].count = made[k];
        }
    }
    spin_lock(&lock);
    if (open) {
        chosen = balance_choose(how, event, kernels, instance.kernels, instance.kernel, turn);
        if (chosen == BALANCE_NOWHERE)
            chosen = instance.kernel;
        turn = (chosen + 1) % instance.kernels;
    }
    placed[event]++;
    if (chosen != instance.kernel)
        placed_elsewhere[event]++;
    spin_unlock(&lock);
    trace_note("placed a child of", parent->tid, chosen, chosen == instance.kernel ? 0 : kernels[chosen].count,
               (uint64_t)event);
    return chosen;
}

void balance_note_move(uint64_t ns)
{
    spin_lock(&lock);
    balance_average(&move_ns, ns);
    spin_unlock(&lock);
}

void balance_note_fetches(uint64_t pages)
{
    spin_lock(&lock);
    balance_average(&fetches, pages);
    spin_unlock(&lock);
}

void balance_look(const uint64_t affinity[], struct balance_kernel kernels[])
{
    struct own_load own;

    read_own(&own);
    for (uint32_t k = 0; k < instance.kernels; k++)
        view(k, affinity, &own, &kernels[k]);
}

static uint64_t cost_locked(void)
{
    uint64_t fetch = balance_hooks.fetch_ns != NULL ? balance_hooks.fetch_ns() : 0;

    return (move_ns != 0 ? move_ns : MOVE_NS_FIRST) +
           (fetches != 0 ? fetches : FETCHES_FIRST) * (fetch != 0 ? fetch : FETCH_NS_FIRST);
}

uint64_t balance_cost(void)
{
    uint64_t cost;

    spin_lock(&lock);
    cost = cost_locked();
    spin_unlock(&lock);
    return cost;
}

struct choice {
    uint32_t tid;
    uint32_t kernel;
    int64_t gain;
    uint64_t cost;
    bool considered; /* there was a thread that may move */
};

/* Finds the ready thread of one CPU that gains most by moving to KERNEL. */
static void consider(struct cpu_queue *queue, uint32_t kernel, struct balance_case *c, struct choice *choice)
{
    uint32_t left = LOOK_MAX;

    spin_lock(&queue->lock);
    for (struct time_node *node = queue->run.ready.first; node != NULL && left-- > 0; node = time_queue_next(node)) {
        struct thread *thread = thread_of((struct sched_entity *)(void *)node);

        if (thread->group == NULL || thread->presence != THREAD_PRESENT || share_rank(&thread->share) != RANK_FAIR ||
            (thread->due & THREAD_DUE_MOVE) != 0 || !is_allowed(kernel, thread->context.affinity))
            continue;
        c->ran = thread->share.ran;
        c->weight = load_weight(thread->share.load);
        choice->considered = true;
        if (balance_worth(c) && (choice->tid == 0 || balance_gain(c) > choice->gain)) {
            choice->tid = thread->tid;
            choice->gain = balance_gain(c);
        }
    }
    spin_unlock(&queue->lock);
}

/* Finds the least loaded kernel, and the thread that gains most by moving there. */
static void decide(struct choice *choice)
{
    static const uint64_t anywhere[WORDS];
    struct balance_kernel kernels[KERNELS_MAX];
    struct balance_case c = {0};
    const struct balance_kernel *here, *there;

    balance_look(anywhere, kernels);
    spin_lock(&lock);
    choice->cost = c.cost = cost_locked();
    choice->kernel = balance_choose(PLACE_LEAST_LOADED, BALANCE_CLONE, kernels, instance.kernels, instance.kernel,
                                    turn);
    spin_unlock(&lock);
    here = &kernels[instance.kernel];
    if (choice->kernel == BALANCE_NOWHERE || choice->kernel == instance.kernel || here->count <= here->cpus)
        return;
    there = &kernels[choice->kernel];
    c.here = here->weight;
    c.cpus_here = here->cpus;
    c.there = there->weight;
    c.cpus_there = there->cpus;
    for (uint32_t i = 0; i < cpu_total; i++)
        consider(queue_of(i), choice->kernel, &c, choice);
}

static void run_look(struct work *work)
{
    struct choice choice = {0};
    bool moved = false;

    (void)work;
    look_queued = false;
    decide(&choice);
    next_look = clock_now() + (LOOK_COSTS * choice.cost > LOOK_INTERVAL ? LOOK_COSTS * choice.cost : LOOK_INTERVAL);
    if (choice.tid != 0 && balance_hooks.move != NULL)
        moved = balance_hooks.move(choice.tid, choice.kernel, false);
    spin_lock(&lock);
    looks++;
    if (choice.tid == 0)
        *(choice.considered ? &too_dear : &nowhere) += 1;
    else
        *(moved ? &moves : &refused) += 1;
    spin_unlock(&lock);
    if (choice.tid != 0) /* figures: gain and cost in us */
        trace_note(moved ? "moves" : "cannot move", choice.tid, choice.kernel, (uint64_t)choice.gain / 1000,
                   choice.cost / 1000);
    else if (choice.considered)
        trace_note("lets all stay: too little to gain by a move", 0, choice.kernel, 0, choice.cost / 1000);
}

/* Scheduler hook: timer interrupt, at NOW, of a CPU with several threads. Any context. */
static void tick(uint64_t now)
{
    if (mode != BALANCE_ACTIVE || now < next_look || instance.kernels == 1)
        return;
    if (__atomic_exchange_n(&look_queued, true, __ATOMIC_SEQ_CST))
        return;
    work_submit(&look_work);
}

size_t balance_report(char *text, size_t size, uint64_t *cursor)
{
    struct load_view board;
    uint64_t draws[DRAW_RESULTS];
    int length;

    balance_draw_counts(draws);
    *cursor = 0;
    load_read(instance.kernel, &board);
    spin_lock(&lock);
    length = snprintf(
        text, size,
        "kernel %u balance %s place %s threads %u weight %lu free %lu looks %lu moves %lu refused %lu dear %lu nowhere "
        "%lu clones %lu elsewhere %lu forks %lu elsewhere %lu execs %lu elsewhere %lu cost %lu ns drawn %lu "
        "fixed %lu unsure %lu crowded %lu costly %lu asleep %lu\n",
        instance.kernel, modes[mode], placings[placing], load_count(board.load), (unsigned long)load_weight(board.load),
        (unsigned long)board.free, (unsigned long)looks, (unsigned long)moves, (unsigned long)refused,
        (unsigned long)too_dear, (unsigned long)nowhere, (unsigned long)placed[BALANCE_CLONE],
        (unsigned long)placed_elsewhere[BALANCE_CLONE], (unsigned long)placed[BALANCE_FORK],
        (unsigned long)placed_elsewhere[BALANCE_FORK], (unsigned long)placed[BALANCE_EXEC],
        (unsigned long)placed_elsewhere[BALANCE_EXEC], (unsigned long)cost_locked(), (unsigned long)draws[DRAW_ORDERED],
        (unsigned long)draws[DRAW_BOUND], (unsigned long)draws[DRAW_UNSURE], (unsigned long)draws[DRAW_CROWDED],
        (unsigned long)draws[DRAW_DEAR], (unsigned long)draws[DRAW_ASLEEP]);
    spin_unlock(&lock);
    return (size_t)length < size ? (size_t)length : size - 1;
}

void balance_init(void)
{
    for (uint32_t i = 0; i < instance.plan.cpu_count; i++) {
        if (instance.plan.cpus[i].kernel >= 0)
            cpus_of[instance.plan.cpus[i].kernel][i / 64] |= 1ull << i % 64;
    }
    look_work.run = run_look;
    sched_hooks.crowded = tick;
    option_add(&mode_option);
    option_add(&placing_option);
    balance_draw_init();
}
