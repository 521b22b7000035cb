/* Walks over the threads of a group, in parts between which threads come and go.
 * sources: tasks/thread/walk.c */
#include "tasks/thread/walk.h"

#include "msg/slice.h"
#include "tests/stand_in/panic.h"
#include "tests/test.h"

#define PART 128u
#define THREADS 400u
#define MORE 8u /* threads that come later */

static struct group group;
static struct thread threads[THREADS + MORE];
static uint32_t met[THREADS + MORE];
static uint32_t most, since; /* threads that were met without a turn for others between, and since the last one */
static uint32_t turns;
static void (*turn)(void); /* what others do in one */

uint64_t rdtsc_unordered(void)
{
    return SLICE_COUNTS + 1; /* every slice is over */
}

bool slice_pause(void)
{
    CHECK(!spin_held(&group.lock));
    turns++;
    since = 0;
    if (turn != NULL)
        turn();
    return false;
}

static void add(uint32_t i)
{
    threads[i] = (struct thread){.tid = i, .group = &group};
    list_append(&group.threads, &threads[i].group_node);
}

static void start(void (*others)(void))
{
    group = (struct group){0};
    list_init(&group.threads);
    list_init(&group.walks);
    for (uint32_t i = 0; i < THREADS; i++)
        add(i);
    for (uint32_t i = 0; i < THREADS + MORE; i++)
        met[i] = 0;
    most = since = turns = 0;
    turn = others;
}

static void meet(struct thread *thread, void *context)
{
    CHECK(spin_held(&group.lock) && context == &met);
    met[thread->tid]++;
    most = ++since > most ? since : most;
}

static void walk(void)
{
    group_each_thread(&group, meet, &met);
    CHECK(!spin_held(&group.lock) && list_empty(&group.walks));
}

/* Threads FROM to TO - 1 have been met COUNT times each. */
static void check_met(uint32_t from, uint32_t to, uint32_t count)
{
    for (uint32_t i = from; i < to; i++)
        CHECK_EQ(met[i], count);
}

TEST(parts, "a walk meets each thread once, and others have a turn after each 128 threads")
{
    start(NULL);
    walk();
    check_met(0, THREADS, 1);
    CHECK_EQ(most, PART);
    CHECK_EQ(turns, (THREADS - 1) / PART);
}

TEST(none, "a walk over no threads meets none")
{
    start(NULL);
    list_init(&group.threads);
    walk();
    CHECK_EQ(turns, 0);
}

static void remove_some(uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        group_remove_thread_locked(&group, &threads[i]);
}

/* The last that was met, those that come next, and one far behind them. */
static void go_away(void)
{
    if (turns == 1) {
        remove_some(PART - 1, PART + 3);
        remove_some(THREADS - 1, THREADS);
    }
}

TEST(gone, "threads that go between two parts are met no more, and all others once")
{
    start(go_away);
    walk();
    check_met(0, PART, 1);
    check_met(PART, PART + 3, 0);
    check_met(PART + 3, THREADS - 1, 1);
    check_met(THREADS - 1, THREADS, 0);
}

static void go_all(void)
{
    remove_some(0, THREADS);
}

TEST(all_gone, "a walk ends when all threads have gone")
{
    start(go_all);
    walk();
    check_met(0, PART, 1);
    check_met(PART, THREADS, 0);
    CHECK_EQ(turns, 1);
}

/* All that are left go, and then others come. */
static void replace(void)
{
    if (turns != 1)
        return;
    remove_some(PART, THREADS);
    for (uint32_t i = 0; i < MORE; i++)
        add(THREADS + i);
}

TEST(come, "threads that come during a walk are met once at most")
{
    start(replace);
    walk();
    check_met(0, PART, 1);
    check_met(PART, THREADS, 0);
    for (uint32_t i = THREADS; i < THREADS + MORE; i++)
        CHECK(met[i] <= 1);
}

static void walk_too(void)
{
    if (turns != 1)
        return;
    remove_some(PART, PART + 1);
    turn = NULL;
    group_each_thread(&group, meet, &met);
}

TEST(two, "two walks at once each meet each thread that stays")
{
    start(walk_too);
    group_each_thread(&group, meet, &met);
    check_met(0, PART, 2);
    check_met(PART, PART + 1, 0);
    check_met(PART + 1, THREADS, 2);
    CHECK(list_empty(&group.walks));
}
