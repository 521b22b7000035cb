/* Where a thread begins, by the threads that are here, on a machine whose other kernels are idle.
 * sources: tasks/balance/balance.c tasks/balance/choice.c */
#include <stdarg.h>
#include <stdlib.h>

#include "boot/options/control.h"
#include "boot/options/options.h"
#include "kernel/arch/x86_64/clock.h"
#include "msg/channel.h"
#include "msg/trace.h"
#include "tasks/balance/balance.h"
#include "tasks/balance/internal.h"
#include "tasks/remote/work.h"
#include "tasks/sched/internal.h"
#include "tasks/sched/load.h"
#include "tests/test.h"

#define CPUS 16u
#define READY 64u /* threads of a CPU, at the most */

struct instance instance; /* kernel 0 */
struct cpu *cpus[CPUS_MAX];
uint32_t cpu_total;
struct sched_hooks sched_hooks;

static struct cpu cpu[CPUS];
static struct cpu_queue queues[CPUS];
static struct thread running[CPUS], ready[CPUS][READY];
static uint32_t ready_count[CPUS];
static struct group group;
static uint32_t looks; /* at ready threads behind the first one of a CPU */

static const uint64_t anywhere[CPUS_MAX / 64];

struct time_node *time_queue_next(const struct time_node *node)
{
    looks++;
    for (uint32_t i = 0; i < cpu_total; i++) {
        for (uint32_t k = 0; k + 1 < ready_count[i]; k++) {
            if (node == &ready[i][k].share.node)
                return &ready[i][k + 1].share.node;
        }
    }
    return NULL;
}

void balance_draw_init(void)
{
}

void balance_draw_counts(uint64_t counts[DRAW_RESULTS])
{
    (void)counts;
}

void load_read(uint32_t kernel, struct load_view *view)
{
    (void)kernel;
    *view = (struct load_view){.load = 0};
}

bool msg_peer_started(uint32_t kernel)
{
    return kernel < instance.kernels;
}

void trace_note(const char *what, uint32_t tid, uint32_t peer, uint64_t first, uint64_t second)
{
    (void)what;
    (void)tid;
    (void)peer;
    (void)first;
    (void)second;
}

int option_add(struct option *option)
{
    (void)option;
    return 0;
}

uint32_t option_index(const char *name, const char *value)
{
    (void)name;
    (void)value;
    return 0;
}

uint64_t clock_now(void)
{
    return 0;
}

void work_submit(struct work *work)
{
    (void)work;
    abort();
}

static void add_thread(uint32_t i, struct thread *thread)
{
    thread->group = &group;
    thread->presence = THREAD_PRESENT;
    thread->share.load = 1ull << LOAD_SHIFT | 1;
    queues[i].run.load += thread->share.load;
}

/* KERNELS kernels, of which this one has COUNT CPUs and the others one each, and a thread that runs on CPU 0. */
static void begin(uint32_t kernels, uint32_t count)
{
    instance = (struct instance){.kernels = kernels};
    instance.plan.cpu_count = count + kernels - 1;
    for (uint32_t i = 0; i < instance.plan.cpu_count; i++)
        instance.plan.cpus[i].kernel = i < count ? 0 : (int32_t)(i - count + 1);
    for (uint32_t k = 0; k < kernels; k++)
        instance.plan.kernels[k].cpu_count = k == 0 ? count : 1;
    instance.plan.distance[0][0] = 10;
    cpu_total = count;
    for (uint32_t i = 0; i < count; i++) {
        running[i] = (struct thread){.tid = 1 + i};
        cpu[i] = (struct cpu){.scheduler = &queues[i], .thread = &running[i]};
        cpus[i] = &cpu[i];
        queues[i] = (struct cpu_queue){.index = i};
        ready_count[i] = 0;
    }
    add_thread(0, &running[0]);
    looks = 0;
    balance_init();
}

/* Another ready thread of CPU I, which is to leave for kernel TARGET unless that is 0. */
static void make_ready(uint32_t i, uint32_t target)
{
    struct thread *thread = &ready[i][ready_count[i]++];

    *thread = (struct thread){.target = target, .due = target != 0 ? THREAD_DUE_MOVE : 0};
    add_thread(i, thread);
    queues[i].run.ready.first = &ready[i][0].share.node;
}

static uint32_t place(void)
{
    return balance_place(&running[0], anywhere, BALANCE_CLONE, NULL);
}

TEST(begins_leaving, "a thread that is about to leave counts where it goes")
{
    begin(3, 1);
    make_ready(0, 1);
    CHECK_EQ(place(), 2);
    make_ready(0, 2);
    CHECK_EQ(place(), 0);
}

TEST(begins_staying, "threads that stay count here")
{
    begin(2, 2);
    CHECK_EQ(place(), 0);
    make_ready(1, 0);
    CHECK_EQ(place(), 1);
}

TEST(begins_alone, "where there is one kernel no queue is locked and no thread looked at")
{
    begin(1, 4);
    for (uint32_t i = 0; i < 4; i++) {
        make_ready(i, 0);
        make_ready(i, 0);
        spin_lock(&queues[i].lock); /* a second time ends the program */
    }
    CHECK_EQ(place(), 0);
    CHECK_EQ(looks, 0);
}

TEST(begins_idle, "the queues of idle CPUs are not locked")
{
    begin(2, 4);
    for (uint32_t i = 1; i < 4; i++)
        spin_lock(&queues[i].lock);
    CHECK_EQ(place(), 0);
}

TEST(begins_bounded, "however many threads are ready on however many CPUs, some are looked at")
{
    begin(2, CPUS);
    for (uint32_t i = 0; i < CPUS; i++) {
        for (uint32_t k = 0; k < READY; k++)
            make_ready(i, k % 2);
    }
    CHECK_EQ(place(), 1);
    CHECK_EQ(looks, 64);
}
