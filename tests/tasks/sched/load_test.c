/* The load board shows what all CPUs of the kernel have, whichever CPU publishes it and whatever others do meanwhile;
 * and what a CPU does at its timer's interrupt.
 * sources: tasks/sched/load.c tasks/sched/wake.c tasks/sched/fair/fair.c tasks/sched/fair/time_queue.c
 * sources: tests/stand_in/overtake.c */
#include "tests/tasks/sched/queues.h"

struct sched_hooks sched_hooks;

static void publish(void *queue)
{
    load_publish(queue);
}

static void check_board(uint64_t load)
{
    struct load_view view;

    load_read(0, &view);
    CHECK_EQ(view.load, load);
    CHECK_EQ(view.time, now);
}

TEST(load_sum, "the board shows the sum of the loads of all CPUs, and the free frames from time to time")
{
    struct load_view view;

    begin();
    queues[0]->run.load = load_of(1024);
    load_publish(queues[0]);
    check_board(load_of(1024));
    queues[1]->run.load = load_of(15) + load_of(1);
    load_publish(queues[1]);
    check_board(load_of(1024) + load_of(15) + load_of(1));
    load_read(0, &view);
    CHECK_EQ(view.free, 0);
    now += 1000000000;
    queues[0]->run.load = 0;
    load_publish(queues[0]);
    check_board(load_of(15) + load_of(1));
    load_read(0, &view);
    CHECK_EQ(view.free, FREE);
}

TEST(load_overtaken, "of two CPUs that publish at once, the slower one does not take the other's load off the board")
{
    begin();
    queues[0]->run.load = load_of(1024);
    queues[1]->run.load = load_of(15);
    overtake_at(board, publish, queues[1]);
    load_publish(queues[0]);
    check_board(load_of(1024) + load_of(15));
}

TEST(load_once, "the load of a CPU that two publish at once counts once")
{
    begin();
    queues[1]->run.load = load_of(1024);
    overtake_at(queues[1], publish, queues[1]);
    load_publish(queues[1]);
    check_board(load_of(1024));
}

static void leave(void *context)
{
    struct cpu_queue *queue = context;

    queue->run.load = 0;
    load_publish(queue);
}

TEST(load_gone, "a thread that has left its CPU before another one has published it is not on the board")
{
    begin();
    queues[1]->run.load = load_of(1024);
    overtake_at(queues[1], leave, queues[1]);
    load_publish(queues[1]);
    check_board(0);
}

TEST(load_started, "a thread that is started on another CPU is on the board before that CPU is told of it")
{
    struct thread thread = {.state = THREAD_BLOCKED, .group = &group};

    begin();
    shown = 0;
    sched_start(&thread);
    CHECK_EQ(thread.cpu, 1);
    CHECK_EQ(shown, load_of(FAIR_WEIGHT_NORMAL));
    check_board(load_of(FAIR_WEIGHT_NORMAL));
    run_queue_remove(&queues[1]->run, &thread.share);
    share_detach(&thread.share, &queues[1]->run);
}

TEST(load_hidden, "a thread of a program that a kernel's thread gives way to is on the board at once, and only then")
{
    static struct thread worker;
    struct thread thread = {.state = THREAD_BLOCKED, .group = &group},
                  other = {.state = THREAD_BLOCKED, .group = &group};

    begin();
    share_new(&worker.share);
    share_set_kernel(&worker.share);
    share_new(&thread.share);
    share_set(&thread.share, POLICY_OTHER, 0);
    share_new(&other.share);
    share_set(&other.share, POLICY_OTHER, 0);
    cpu[0].thread = &worker;
    worker.state = THREAD_RUNNING;
    list_append(&queues[0]->blocked, &thread.queue_node);
    sched_wake(&thread);
    check_board(load_of(FAIR_WEIGHT_NORMAL));
    list_append(&queues[0]->blocked, &other.queue_node);
    sched_wake(&other);
    CHECK_EQ(queues[0]->run.load, 2 * load_of(FAIR_WEIGHT_NORMAL));
    check_board(load_of(FAIR_WEIGHT_NORMAL)); /* whoever runs next publishes it: a wake is to stay cheap */
    run_queue_remove(&queues[0]->run, &thread.share);
    run_queue_remove(&queues[0]->run, &other.share);
    share_detach(&thread.share, &queues[0]->run);
    share_detach(&other.share, &queues[0]->run);
}

/* The interrupt of a shootdown waits until no timer is due: for ever, where each is due again when the one before ends.
 */
TEST(timer_flush, "a CPU that its timer interrupts flushes if another one waits for that")
{
    begin();
    sched_timer_interrupt();
    cpu[0].flush_pending = true;
    sched_timer_interrupt();
    CHECK(!cpu[0].flush_pending);
}
