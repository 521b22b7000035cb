/* Which thread of a process is ordered to move to its memory.
 * sources: tasks/balance/draw.c tasks/balance/choice.c tasks/thread/walk.c kernel/lib/string.c tasks/sched/fair/fair.c
 * sources: tasks/sched/fair/time_queue.c */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "mm/seen/draw.h"
#include "mm/seen/wire.h"
#include "msg/slice.h"
#include "msg/trace.h"
#include "tasks/balance/balance.h"
#include "tasks/balance/internal.h"
#include "tasks/process/group.h"
#include "tasks/remote/operation.h"
#include "tasks/sched/cpu_mask.h"
#include "tasks/sched/internal.h"
#include "tests/stand_in/panic.h"
#include "tests/test.h"

#define THREADS 400u
#define SECOND 1000000000ull
#define COST 1000000ull /* ns, of a move */
#define HERE 0u
#define THERE 1u /* both the kernel and its node */

struct instance instance;
struct cpu *cpus[CPUS_MAX], *test_cpu;
bool cpu_several;
struct balance_hooks balance_hooks;

static struct cpu cpu;
static struct cpu_queue queue;
static struct group group;
static struct thread threads[THREADS], idle;
static remote_run serve;
static uint32_t ordered; /* the thread that was, or 0 */
static bool crowded;     /* no CPU is free there */
static void (*turn)(void);

uint64_t rdtsc_unordered(void)
{
    return SLICE_COUNTS + 1; /* every slice is over */
}

bool slice_pause(void)
{
    CHECK(!spin_held(&group.lock) && !spin_held(&queue.lock));
    if (turn != NULL)
        turn();
    return false;
}

uint64_t clock_now(void)
{
    return 0;
}

void trace_note(const char *what, uint32_t tid, uint32_t peer, uint64_t first, uint64_t second)
{
    (void)what;
    (void)tid;
    (void)peer;
    (void)first;
    (void)second;
}

bool cpu_mask_allows(const uint64_t mask[CPUS_MAX / 64], uint32_t kernel)
{
    return mask[0] == 0 || (mask[0] >> kernel & 1) != 0;
}

void balance_look(const uint64_t affinity[], struct balance_kernel kernels[])
{
    for (uint32_t k = 0; k < instance.kernels; k++)
        kernels[k] = (struct balance_kernel){.cpus = 1,
                                             .count = k == HERE || crowded ? 1 : 0,
                                             .distance = k == HERE ? 10 : 20,
                                             .allowed = cpu_mask_allows(affinity, k)};
}

uint64_t balance_cost(void)
{
    return COST;
}

struct group *group_find(uint32_t id)
{
    return id == group.id ? &group : NULL;
}

void group_put(struct group *who)
{
    CHECK(who == &group);
}

void remote_serve_task(enum msg_type type, enum work_rank rank, remote_run run, remote_room room, uint32_t size,
                       uint32_t result_size)
{
    CHECK(type == MSG_THREADS_DRAW && rank == WORK_LEAF && room == NULL && size == sizeof(struct msg_threads_draw) &&
          result_size == sizeof(struct msg_threads_drawn));
    serve = run;
}

static bool move(uint32_t tid, uint32_t kernel, bool drawn)
{
    CHECK(kernel == THERE && drawn && !spin_held(&group.lock));
    ordered = tid;
    return true;
}

/* All threads are ready, and have run so long that it pays to move: each a little longer than the one before. */
static void start(void)
{
    instance = (struct instance){.kernel = HERE, .kernels = 2};
    instance.plan.node_count = instance.plan.kernel_count = 2;
    instance.plan.kernels[THERE].node = THERE;
    cpu.thread = &idle;
    cpu.scheduler = &queue;
    cpus[0] = test_cpu = &cpu;
    queue = (struct cpu_queue){.index = 0};
    group = (struct group){.id = 7, .home = HERE};
    list_init(&group.threads);
    list_init(&group.walks);
    for (uint32_t i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){.tid = i + 1, .group = &group, .presence = THREAD_PRESENT, .state = THREAD_READY};
        share_set(&threads[i].share, POLICY_OTHER, 0);
        threads[i].share.ran = SECOND + i;
        list_append(&group.threads, &threads[i].group_node);
    }
    balance_hooks.move = move;
    crowded = false;
    turn = NULL;
    balance_draw_init();
}

static void sleep_all(uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        threads[i].state = THREAD_BLOCKED;
        threads[i].wait_end = WAIT_INTERRUPTIBLE;
    }
}

/* The home asks; OWN of DRAW_WHOLE is used here alone. Returns what is counted. */
static enum balance_drawn ask(uint32_t own)
{
    struct msg_threads_draw message = {.process = 7, .node = THERE, .part = DRAW_WHOLE / 2, .own = own};
    struct remote_request request = {.kernel = HERE, .task = true, .length = sizeof(message), .data = &message};
    struct msg_threads_drawn answer;
    uint64_t before[DRAW_RESULTS], after[DRAW_RESULTS];
    enum balance_drawn became = DRAW_RESULTS;

    ordered = 0;
    balance_draw_counts(before);
    CHECK_EQ(serve(&request, &answer), (int)sizeof(answer));
    balance_draw_counts(after);
    for (uint32_t i = 0; i < DRAW_RESULTS; i++)
        became = after[i] != before[i] ? (enum balance_drawn)i : became;
    CHECK_EQ(answer.thread, ordered);
    return became;
}

TEST(draw_most, "the thread is drawn that has run most, wherever it is among the others")
{
    start();
    CHECK_EQ(ask(0), DRAW_ORDERED);
    CHECK_EQ(ordered, THREADS);
    threads[200].share.ran = 2 * SECOND;
    CHECK_EQ(ask(0), DRAW_ORDERED);
    CHECK_EQ(ordered, 201);
    crowded = true;
    CHECK_EQ(ask(0), DRAW_CROWDED);
}

TEST(draw_asleep, "a thread that sleeps is not drawn, however long it has run, nor if none runs")
{
    start();
    threads[3].share.ran = 3 * SECOND;
    sleep_all(3, 4);
    CHECK_EQ(ask(0), DRAW_ORDERED);
    CHECK_EQ(ordered, THREADS);
    sleep_all(0, THREADS);
    CHECK_EQ(ask(0), DRAW_ASLEEP);
    CHECK_EQ(ordered, 0);
    threads[5].wait_end = WAIT_FIRM; /* as for a page */
    CHECK_EQ(ask(0), DRAW_ORDERED);
    CHECK_EQ(ordered, 6);
}

TEST(draw_unsure, "threads that have run nearly as long count also where they sleep, and such as have not do not")
{
    start();
    sleep_all(1, THREADS);
    CHECK_EQ(ask(DRAW_WHOLE / 4), DRAW_UNSURE);
    for (uint32_t i = 1; i < THREADS; i++)
        threads[i].share.ran = SECOND / 16;
    CHECK_EQ(ask(DRAW_WHOLE / 4), DRAW_ORDERED);
    CHECK_EQ(ordered, 1);
}

TEST(draw_bound, "none is drawn that has chosen its kernel, is bound, is to move already or uses its parent's memory")
{
    start();
    sleep_all(4, THREADS);
    threads[0].context.chosen = 1;
    threads[1].context.affinity[0] = 1ull << HERE;
    threads[2].due = THREAD_DUE_MOVE;
    threads[3].presence = THREAD_LEAVING;
    CHECK_EQ(ask(0), DRAW_BOUND);
    threads[3].presence = THREAD_PRESENT;
    group.pinned = &group;
    CHECK_EQ(ask(0), DRAW_BOUND);
    group.pinned = NULL;
    CHECK_EQ(ask(0), DRAW_ORDERED);
    CHECK_EQ(ordered, 4);
}

static void all_sleep(void)
{
    sleep_all(0, THREADS);
}

TEST(draw_parts, "others have turns while threads are looked at, and may send those to sleep that were not")
{
    start();
    threads[THREADS - 1].share.ran = 3 * SECOND;
    turn = all_sleep;
    CHECK_EQ(ask(0), DRAW_ORDERED);
    CHECK_EQ(ordered, 128);
}

TEST(draw_refused, "a request not from the home, or for a node that there is not, is refused")
{
    struct msg_threads_draw message = {.process = 7, .node = THERE};
    struct remote_request request = {.kernel = HERE, .task = true, .length = sizeof(message), .data = &message};
    struct msg_threads_drawn answer;

    start();
    request.kernel = THERE;
    CHECK_EQ(serve(&request, &answer), -EPROTO);
    request.kernel = HERE;
    message.node = 2;
    CHECK_EQ(serve(&request, &answer), -EPROTO);
    message.process = 8;
    CHECK_EQ(serve(&request, &answer), -ESRCH);
}
