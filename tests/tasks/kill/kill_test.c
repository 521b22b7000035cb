/* The walks that kill the threads of a group, which others interrupt between their slices.
 * sources: tasks/kill/kill.c tasks/thread/walk.c */
#include "tasks/kill/kill.h"

#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/slice.h"
#include "tasks/remote/work.h"
#include "tasks/sched/sched.h"
#include "tasks/thread/walk.h"
#include "tests/stand_in/groups.h"
#include "tests/stand_in/messages.h"
#include "tests/stand_in/panic.h"
#include "tests/test.h"

#define THREADS 400 /* more than are killed without a turn for others */

struct instance instance;
struct group_hooks group_hooks;
static struct group group;
static struct thread threads[THREADS];
static uint32_t kicks[THREADS];
static uint32_t turns;
static void (*turn)(void); /* what others do between two slices */

uint64_t rdtsc_unordered(void)
{
    return SLICE_COUNTS + 1; /* every slice is over */
}

bool slice_pause(void)
{
    CHECK(!spin_held(&group.lock));
    turns++;
    if (turn != NULL)
        turn();
    return false;
}

void sched_kick(struct thread *thread)
{
    CHECK(spin_held(&group.lock));
    kicks[thread->tid - 1]++;
}

void sched_wake(struct thread *thread)
{
    sched_kick(thread);
}

/* --- not used here --- */

void sched_block(struct spinlock *lock, const struct wait_reason *reason, enum wait_end end, uint64_t deadline)
{
    (void)lock;
    (void)reason;
    (void)end;
    (void)deadline;
    panic("a thread waits");
}

void exit_killed(void)
{
    panic("a thread dies");
}

void exit_run(struct work *work)
{
    (void)work;
}

void log_line(const char *format, ...)
{
    (void)format;
}

bool msg_peer_reachable(uint32_t kernel)
{
    (void)kernel;
    return true;
}

void completion_signal(struct completion *c)
{
    (void)c;
}

int msg_call_within(const struct msg_policy *policy, uint32_t kernel, enum msg_type type, const void *data,
                    uint32_t length, void *reply, uint32_t room, const char *why, uint64_t key)
{
    (void)policy;
    (void)kernel;
    (void)type;
    (void)data;
    (void)length;
    (void)reply;
    (void)room;
    (void)why;
    (void)key;
    return 0;
}

/* --- */

static void start(void)
{
    list_init(&group.threads);
    list_init(&group.walks);
    for (uint32_t i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){.tid = i + 1, .group = &group, .presence = THREAD_PRESENT};
        list_append(&group.threads, &threads[i].group_node);
        kicks[i] = 0;
    }
    turns = 0;
    turn = NULL;
}

static uint32_t missed(void)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < THREADS; i++)
        count += kicks[i] == 0;
    return count;
}

/* All that have been killed die. */
static void die(void)
{
    for (uint32_t i = 0; i < THREADS; i++) {
        if (kicks[i] > 0)
            group_remove_thread_locked(&group, &threads[i]);
    }
}

/* The thread dies at which the walk is to go on. */
static void next_dies(void)
{
    for (uint32_t i = 0; i < THREADS && turns == 1; i++) {
        if (kicks[i] == 0) {
            kicks[i]++;
            group_remove_thread_locked(&group, &threads[i]);
            break;
        }
    }
}

/* Another task kills the same threads, and is interrupted by the first one in turn: as deep as they may meet. */
static void other_walks(void)
{
    if (turns < 3)
        kill_threads(&group);
}

TEST(all, "each thread is killed, once if none dies, and again by another walk meanwhile, and both end")
{
    start();
    kill_threads(&group);
    CHECK(missed() == 0 && turns > 1);
    for (uint32_t i = 0; i < THREADS; i++)
        CHECK_EQ(kicks[i], 1);
    start();
    turn = other_walks;
    kill_threads(&group);
    CHECK(missed() == 0 && turns < 4 * THREADS / 64);
}

TEST(gone, "none is missed when those die that have been killed, or that at which the walk goes on")
{
    start();
    turn = die;
    kill_threads(&group);
    CHECK_EQ(missed(), 0);
    start();
    turn = next_dies;
    kill_threads(&group);
    CHECK_EQ(missed(), 0);
    CHECK_EQ(kicks[0], 1); /* no walk begins anew */
}
