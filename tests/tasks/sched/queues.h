/* The run queues of a kernel with two CPUs for host tests, and stand-ins for what the scheduler calls. The test chooses
 * the calling CPU (test_cpu), the time and the CPU of a thread that wakes. A test that includes this has
 * tests/stand_in/overtake.c among its sources. Included once. */
#ifndef TESTS_SCHED_QUEUES_H
#define TESTS_SCHED_QUEUES_H

#include "tasks/sched/load.h"

#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/tlb.h"
#include "kernel/instance/instance.h"
#include "mm/frame/frame.h"
#include "msg/alive.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "tasks/sched/internal.h"
#include "tests/stand_in/overtake.h"
#include "tests/stand_in/panic.h"
#include "tests/test.h"

#define CPUS 2u
#define FREE 77u /* frames */

struct instance instance;
struct cpu *cpus[CPUS_MAX], *test_cpu;
bool cpu_several = true;

uint32_t cpu_total = CPUS;
static struct cpu cpu[CPUS];
static struct thread idle[CPUS];
static struct group group;
static struct cpu_queue *queues[CPUS]; /* a page each */
static uint64_t *board;                /* a page */
static uint64_t now;
static uint64_t shown; /* load on the board when CPU 1 was interrupted */

uint64_t clock_now(void)
{
    return now;
}

volatile uint64_t *msg_board_own(void)
{
    return board;
}

const volatile uint64_t *msg_board_of(uint32_t kernel)
{
    return kernel == instance.kernel ? board : NULL;
}

void frame_stats(struct frame_stats *out)
{
    *out = (struct frame_stats){.free = FREE, .total = 2 * FREE};
}

void apic_send(uint32_t target, uint8_t vector)
{
    CHECK(target == cpu[1 - test_cpu->index].apic_id && vector == VECTOR_WAKE);
    shown = board[MSG_BOARD_LOAD];
}

void apic_timer_arm(uint64_t ns)
{
    (void)ns;
}

uint64_t msg_due(void)
{
    return 0;
}

void msg_due_interrupt(void)
{
}

uint64_t alive_due(uint64_t at)
{
    return at + 1;
}

void alive_tick(uint64_t at)
{
    (void)at;
}

void cpu_relax(void)
{
    CHECK(test_cpu->flush_pending);
    test_cpu->flush_pending = false;
}

void tlb_tick(uint64_t at)
{
    (void)at;
}

bool place_allowed(const struct thread *thread, uint32_t index)
{
    (void)thread;
    (void)index;
    return true;
}

static uint32_t better = CPUS; /* CPU of a thread that wakes; CPUS: its own */

uint32_t place_wake(const struct thread *thread)
{
    return better < CPUS ? better : thread->cpu;
}

uint32_t place_new(const struct thread *thread)
{
    (void)thread;
    return 1;
}

void place_push(void)
{
}

/* CPU 0 calls; no CPU has a thread, and the board shows that. */
static void begin(void)
{
    instance.plan.kernels[0].memory = 1 << 30;
    if (board == NULL)
        board = overtake_memory(PAGE_SIZE);
    for (uint32_t i = 0; i < CPUS; i++) {
        if (queues[i] == NULL)
            queues[i] = overtake_memory(sizeof(struct cpu_queue));
        queues[i]->run.load = 0;
        load_publish(queues[i]);
        *queues[i] = (struct cpu_queue){.index = i, .idle = &idle[i]};
        list_init(&queues[i]->blocked);
        run_queue_init(&queues[i]->run);
        cpu[i] = (struct cpu){.index = i, .apic_id = 10 + i, .scheduler = queues[i], .thread = &idle[i]};
        cpus[i] = &cpu[i];
    }
    test_cpu = &cpu[0];
    better = CPUS;
    CHECK_EQ(board[MSG_BOARD_LOAD], 0);
}

#endif
