/* Threads that are switched to, woken on another CPU, and changed: whose FPU state the registers hold, and what other
 * CPUs see meanwhile.
 * sources: tasks/sched/wake.c tasks/sched/load.c tasks/sched/load_average.c tasks/sched/fair/fair.c
 * sources: tasks/sched/fair/time_queue.c tests/stand_in/overtake.c */
#define sched_yield kernel_sched_yield /* the sanitizer calls the C library's */
#include "tasks/sched/sched.c"

#include "kernel/arch/x86_64/traps.h"
#include "mm/space/space.h"
#include "msg/slice.h"
#include "tests/stand_in/heap.h"
#include "tests/tasks/sched/queues.h"

struct wait_ops wait_ops;

/* The registers of each CPU, and what a thread that does not run has of them: one word. */
static uint64_t registers[CPUS];

void fpu_save(void *area)
{
    *(uint64_t *)area = registers[test_cpu->index];
}

void fpu_restore(const void *area)
{
    registers[test_cpu->index] = *(const uint64_t *)area;
}

/* Nothing runs on the stacks: the caller goes on as if it were the thread that is switched to. */
void context_switch(uint64_t *old, uint64_t new)
{
    (void)old;
    (void)new;
}

/* --- not used here --- */

void cpu_set_kernel_stack(uint64_t top)
{
    (void)top;
}

void tlb_load(uint64_t root)
{
    (void)root;
}

void tlb_load_own(void)
{
}

void tlb_keep(void)
{
}

void place_add_cpu(void)
{
}

uint64_t rdtsc_unordered(void)
{
    return 0;
}

bool slice_pause(void)
{
    return false;
}

/* --- */

static struct thread thread;
static uint64_t area; /* of the thread's FPU state */

static const struct wait_reason reason = {.what = "the test"};

/* The thread, of a program, is blocked on CPU 0, and has never run. */
static void begin_thread(void)
{
    begin();
    area = 0;
    thread = (struct thread){.state = THREAD_BLOCKED, .group = &group, .fpu = &area, .fpu_cpu = UINT32_MAX};
    share_new(&thread.share);
    share_set(&thread.share, POLICY_OTHER, 0);
    list_append(&queues[0]->blocked, &thread.queue_node);
}

/* The thread, blocked, wakes on the CPU with INDEX, which runs it. */
static void run_on(uint32_t index)
{
    better = index;
    sched_wake(&thread);
    test_cpu = &cpu[index];
    sched_reschedule();
    CHECK(thread_current() == &thread && thread.cpu == index && thread.state == THREAD_RUNNING);
}

static void block(void)
{
    sched_block(NULL, &reason, WAIT_FIRM, 0);
    CHECK(thread_current() != &thread && thread.state == THREAD_BLOCKED);
}

static void end(void)
{
    if (thread_current() == &thread)
        block();
    list_remove(&thread.queue_node);
    share_detach(&thread.share, &queues[thread.cpu]->run);
}

TEST(fpu_kept, "a thread that goes on where it ran last, and no other did, has its registers there still")
{
    begin_thread();
    run_on(0);
    registers[0] = 1;
    block();
    CHECK_EQ(area, 1);
    registers[0] = 2; /* a mark: they are not loaded */
    run_on(0);
    CHECK_EQ(registers[0], 2);
    end();
}

TEST(fpu_moved, "a thread that has run on another CPU of its kernel does not find its old registers at its return")
{
    begin_thread();
    run_on(0);
    registers[0] = 1;
    block();
    run_on(1);
    CHECK_EQ(registers[1], 1);
    registers[1] = 2;
    block();
    run_on(0);
    CHECK_EQ(registers[0], 2);
    end();
}

TEST(fpu_refilled,
     "a shadow that is refilled on a CPU where it ran before loads its new state and saves nothing over it")
{
    begin_thread();
    run_on(1);
    registers[1] = 1;
    block();
    run_on(0);
    cpu[0].fpu_owner = NULL; /* it departs */
    thread.fpu_cpu = UINT32_MAX;
    thread.presence = THREAD_SHADOW;
    block();
    area = 2; /* its return */
    run_on(1);
    thread.presence = THREAD_PRESENT;
    block(); /* it gives way before it has loaded its state */
    CHECK_EQ(area, 2);
    run_on(1);
    CHECK_EQ(registers[1], 2);
    end();
}

static bool seen_wrong; /* a moment at which CPU 1 would take the thread for one that is in a queue of its */

static void look(void)
{
    if (thread.cpu == 1 && !spin_held(&queues[1]->lock) && queues[1]->run.ready_count == 0 &&
        (thread.state != THREAD_READY || !thread.transit))
        seen_wrong = true;
}

static void wake(void *context)
{
    sched_wake(context);
}

TEST(carry_order, "a thread that goes to another CPU is neither blocked nor in a queue when that CPU may look at it")
{
    begin_thread();
    thread.wake_at = 1000; /* and a deadline: the other CPU would remove it from its sleepers, too */
    thread.share.node.key = thread.wake_at;
    time_queue_add(&queues[0]->sleepers, &thread.share.node);
    better = 1;
    seen_wrong = false;
    CHECK(overtake_everywhere(wake, &thread, look) > 100);
    CHECK(!seen_wrong);
    CHECK(thread.cpu == 1 && thread.state == THREAD_READY && queues[1]->run.ready_count == 1);
    test_cpu = &cpu[1];
    sched_reschedule();
    end();
}

TEST(share_dead, "a change of a dead thread's share leaves the threads alone that are ready on its CPU")
{
    static struct thread dead;

    begin_thread();
    dead = (struct thread){.state = THREAD_DEAD, .group = &group, .context.nice = 5};
    share_new(&dead.share);
    share_set(&dead.share, POLICY_OTHER, 0);
    sched_wake(&thread);
    sched_share_changed(&dead);
    CHECK(queues[0]->run.ready_count == 1 && dead.share.load == load_of(fair_weight(5)));
    sched_reschedule();
    CHECK(thread_current() == &thread);
    end();
}
