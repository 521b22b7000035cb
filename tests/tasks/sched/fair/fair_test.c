/* Shares of a CPU: a simulated CPU runs threads by the run queue's rules.
 * sources: tasks/sched/fair/fair.c tasks/sched/fair/time_queue.c */
#include "tasks/sched/fair/fair.h"

#include "tests/test.h"

#define MANY 1000
#define MS 1000000ull

static struct run_queue queue;
static struct sched_entity shares[MANY];
static uint64_t got[MANY]; /* ns each has run */

static void begin(int count)
{
    memset(shares, 0, sizeof(shares));
    memset(got, 0, sizeof(got));
    run_queue_init(&queue);
    for (int i = 0; i < count; i++) {
        share_set(&shares[i], POLICY_OTHER, 0);
        share_new(&shares[i]);
    }
}

static void wake(int i, const struct sched_entity *running)
{
    share_attach(&shares[i], &queue);
    run_queue_wake(&queue, &shares[i], running, 0);
}

/* Runs for STEPS slices whoever is next. */
static void run(int steps)
{
    while (steps-- > 0) {
        struct sched_entity *share = run_queue_take(&queue);

        CHECK(share != NULL);
        share_charge(share, FAIR_SLICE);
        got[share - shares] += FAIR_SLICE;
        run_queue_slice_over(&queue, share);
        run_queue_put(&queue, share);
    }
}

TEST(fair_weights, "a nice level is a factor of 1.25, and what is out of range counts as the last in range")
{
    CHECK_EQ(fair_weight(0), FAIR_WEIGHT_NORMAL);
    for (int nice = FAIR_NICE_MIN; nice < FAIR_NICE_MAX; nice++) {
        CHECK(fair_weight(nice) * 100 > fair_weight(nice + 1) * 115);
        CHECK(fair_weight(nice) * 100 < fair_weight(nice + 1) * 135);
    }
    CHECK_EQ(fair_weight(-1000), fair_weight(FAIR_NICE_MIN));
    CHECK_EQ(fair_weight(1000), fair_weight(FAIR_NICE_MAX));
}

TEST(fair_equal, "a thousand equal threads get the same, to a slice")
{
    begin(MANY);
    for (int i = 0; i < MANY; i++)
        wake(i, NULL);
    run(5 * MANY);
    for (int i = 0; i < MANY; i++)
        CHECK_EQ(got[i], 5 * FAIR_SLICE);
}

TEST(fair_nice, "threads get time in proportion to their weights")
{
    static const int nice[4] = {-10, 0, 5, 19};
    uint64_t all = 0, weights = 0;

    begin(4);
    for (int i = 0; i < 4; i++) {
        share_set(&shares[i], POLICY_OTHER, nice[i]);
        share_new(&shares[i]);
        weights += fair_weight(nice[i]);
        wake(i, NULL);
    }
    CHECK_EQ(load_weight(queue.load), weights);
    CHECK_EQ(load_count(queue.load), 4);
    run(100000);
    for (int i = 0; i < 4; i++)
        all += got[i];
    for (int i = 0; i < 4; i++) {
        uint64_t due = all / weights * fair_weight(nice[i]);

        CHECK(got[i] > due - due / 20 - FAIR_SLICE && got[i] < due + due / 20 + FAIR_SLICE);
    }
}

TEST(fair_sleeper, "a thread that slept long is owed no more than the credit, and has the CPU at once")
{
    struct sched_entity *running;

    begin(2);
    wake(0, NULL);
    wake(1, NULL);
    run(1);
    running = run_queue_take(&queue); /* the other one: it runs alone for a long time, while the first sleeps */
    run_queue_remove(&queue, &shares[running == &shares[0]]);
    share_charge(running, 10000 * MS);
    CHECK(run_queue_wake(&queue, &shares[running == &shares[0]], running, FAIR_CREDIT));
    CHECK_EQ(running->position - shares[running == &shares[0]].position, FAIR_CREDIT);
}

TEST(fair_new, "a new thread is owed nothing")
{
    struct sched_entity *running;

    begin(2);
    wake(0, NULL);
    running = run_queue_take(&queue);
    share_charge(running, 10000 * MS);
    run_queue_raise_floor(&queue, running);
    share_attach(&shares[1], &queue);
    CHECK(!run_queue_wake(&queue, &shares[1], running, 0));
    CHECK_EQ(shares[1].position, running->position);
}

TEST(fair_yield, "a thread that yields comes behind the next one and loses nothing else")
{
    struct sched_entity *running;

    begin(3);
    for (int i = 0; i < 3; i++)
        wake(i, NULL);
    run(30);
    running = run_queue_take(&queue);
    run_queue_yield(&queue, running);
    CHECK(running->position > run_queue_first(&queue)->position);
    CHECK(running->position <= run_queue_first(&queue)->position + 1);
}

TEST(fair_ranks, "kernel threads come before real priorities, those before all others")
{
    begin(5);
    share_set_kernel(&shares[1]);
    share_set(&shares[2], POLICY_FIFO | 10 << POLICY_PRIORITY_SHIFT, 0);
    share_set(&shares[3], POLICY_RR | 99 << POLICY_PRIORITY_SHIFT, 0);
    share_set_kernel(&shares[4]);
    for (int i = 0; i < 5; i++)
        wake(i, NULL);
    CHECK(run_queue_take(&queue) == &shares[1]);
    CHECK(run_queue_take(&queue) == &shares[4]);
    CHECK(run_queue_take(&queue) == &shares[3]);
    CHECK(run_queue_take(&queue) == &shares[2]);
    CHECK(run_queue_take(&queue) == &shares[0]);
    CHECK(run_queue_take(&queue) == NULL);
}

TEST(fair_preempt, "a higher rank or priority takes the CPU, an equal one does not")
{
    begin(4);
    share_set(&shares[1], POLICY_FIFO | 10 << POLICY_PRIORITY_SHIFT, 0);
    share_set(&shares[2], POLICY_FIFO | 10 << POLICY_PRIORITY_SHIFT, 0);
    share_set_kernel(&shares[3]);
    wake(0, NULL);
    CHECK(run_queue_take(&queue) == &shares[0]);
    CHECK(run_queue_wake(&queue, &shares[1], &shares[0], 0));
    CHECK(run_queue_take(&queue) == &shares[1]);
    CHECK(!run_queue_wake(&queue, &shares[2], &shares[1], 0));
    CHECK(run_queue_wake(&queue, &shares[3], &shares[1], 0));
}

TEST(fair_rounds, "SCHED_RR takes turns within a priority, SCHED_FIFO keeps the CPU")
{
    begin(4);
    for (int i = 0; i < 4; i++) {
        share_set(&shares[i],
                  (uint32_t)((i < 2 ? POLICY_RR : POLICY_FIFO) | (i < 2 ? 20 : 10) << POLICY_PRIORITY_SHIFT), 0);
        wake(i, NULL);
    }
    run(10);
    CHECK_EQ(got[0], 5 * FAIR_SLICE);
    CHECK_EQ(got[1], 5 * FAIR_SLICE);
    run_queue_remove(&queue, &shares[0]);
    run_queue_remove(&queue, &shares[1]);
    run(10);
    CHECK_EQ(got[2], 10 * FAIR_SLICE);
    CHECK_EQ(got[3], 0);
}

TEST(fair_move, "a thread is owed on another CPU what it was owed on the first")
{
    struct run_queue other;
    struct sched_entity far = {0};

    begin(2);
    share_set(&far, POLICY_OTHER, 0);
    share_new(&far);
    run_queue_init(&other);
    share_attach(&far, &other);
    run_queue_wake(&other, &far, NULL, 0);
    CHECK(run_queue_take(&other) == &far);
    share_charge(&far, 500 * MS); /* the other CPU's clock is far ahead */
    run_queue_raise_floor(&other, &far);
    wake(0, NULL);
    CHECK(run_queue_take(&queue) == &shares[0]);
    share_charge(&shares[0], 2 * MS);
    share_detach(&shares[0], &queue);
    share_attach(&shares[0], &other);
    CHECK_EQ(shares[0].position - far.position, 2 * MS);
}

TEST(fair_alone, "a thread that ran alone for long and then goes to another CPU is not behind all there")
{
    struct run_queue other;

    begin(2);
    run_queue_init(&other);
    wake(0, NULL);
    CHECK(run_queue_take(&queue) == &shares[0]);
    share_charge(&shares[0], 10000 * MS);
    run_queue_reach(&queue, &shares[0]);
    share_detach(&shares[0], &queue);
    share_attach(&shares[0], &other);
    CHECK(shares[0].position <= other.floor + FAIR_SLICE);
}

TEST(fair_stopped_cpu,
     "a thread that a stopped CPU kept from giving way in time does not wait many times as long for it")
{
    uint64_t waited = 0;

    begin(2);
    wake(0, NULL);
    wake(1, NULL);
    CHECK(run_queue_take(&queue) == &shares[0]);
    share_charge(&shares[0], 10000 * MS);
    run_queue_forgive(&queue, &shares[0]);
    run_queue_put(&queue, &shares[0]);
    while (run_queue_first(&queue) != &shares[0]) {
        struct sched_entity *other = run_queue_take(&queue);

        share_charge(other, FAIR_SLICE);
        run_queue_forgive(&queue, other);
        run_queue_put(&queue, other);
        waited += FAIR_SLICE;
    }
    CHECK(waited >= FAIR_BEHIND / 2 && waited <= FAIR_BEHIND + FAIR_SLICE);
}

TEST(fair_forgive_alone, "what a thread ran alone is forgotten, and a slice of a light thread is not")
{
    uint64_t position;

    begin(2);
    share_set(&shares[1], POLICY_OTHER, 19);
    wake(0, NULL);
    CHECK(run_queue_take(&queue) == &shares[0]);
    share_charge(&shares[0], 10000 * MS);
    run_queue_forgive(&queue, &shares[0]);
    CHECK_EQ(shares[0].position, queue.floor); /* whoever comes now is not before it */
    wake(1, &shares[0]);
    run_queue_put(&queue, &shares[0]);
    while (run_queue_first(&queue) != &shares[1]) {
        struct sched_entity *other = run_queue_take(&queue);

        share_charge(other, FAIR_SLICE);
        run_queue_put(&queue, other);
    }
    CHECK(run_queue_take(&queue) == &shares[1]);
    share_charge(&shares[1], 2 * FAIR_SLICE);
    position = shares[1].position;
    run_queue_forgive(&queue, &shares[1]);
    CHECK_EQ(shares[1].position, position);
}

TEST(fair_change, "a thread's weight, policy and place in the queue change together")
{
    begin(2);
    wake(0, NULL);
    wake(1, NULL);
    run(20);
    run_queue_change(&queue, &shares[0], true, POLICY_OTHER, 19);
    CHECK_EQ(load_weight(queue.load), FAIR_WEIGHT_NORMAL + fair_weight(19));
    run_queue_change(&queue, &shares[1], true, POLICY_FIFO | 1 << POLICY_PRIORITY_SHIFT, 0);
    CHECK(run_queue_first(&queue) == &shares[1]);
    run_queue_change(&queue, &shares[1], true, POLICY_IDLE, 0);
    CHECK_EQ(load_weight(queue.load), FAIR_WEIGHT_IDLE + fair_weight(19));
    CHECK_EQ(load_count(queue.load), 2);
    CHECK(share_rank(&shares[1]) == RANK_FAIR && shares[1].position >= queue.floor);
    run_queue_remove(&queue, &shares[0]);
    run_queue_remove(&queue, &shares[1]);
    CHECK_EQ(queue.load, 0);
    CHECK_EQ(queue.ready_count, 0);
}

TEST(fair_balance, "a thread is given away only if that does not turn the difference around")
{
    uint64_t one = load_of(FAIR_WEIGHT_NORMAL);

    CHECK(!fair_better(one, 0, one));
    CHECK(fair_better(2 * one, 0, one));
    CHECK(!fair_better(2 * one, one, one));
    CHECK(fair_better(3 * one, one, one));
    CHECK(!fair_better(one, 3 * one, one));
}
