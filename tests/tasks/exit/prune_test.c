/* Exec at the home of a group of many threads, which others interrupt between the slices in which it dooms them.
 * sources: tasks/exit/prune.c tasks/thread/walk.c */
#include "tasks/exit/exit.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "mm/space/space.h"
#include "msg/slice.h"
#include "tasks/exit/internal.h"
#include "tasks/futex/futex.h"
#include "tasks/kill/kill.h"
#include "tasks/process/process.h"
#include "tasks/process/vfork.h"
#include "tasks/remote/work.h"
#include "tasks/role/adopted.h"
#include "tasks/signal/action_cache.h"
#include "tasks/signal/signal.h"
#include "tasks/thread/walk.h"
#include "tests/stand_in/panic.h"
#include "tests/test.h"

#define THREADS 400u /* more than are doomed without a turn for others */
#define EXECS 3u     /* the thread that calls exec first */

struct instance instance;
struct group_hooks group_hooks;
static struct cpu cpu;
struct cpu *test_cpu = &cpu;
static struct space space;
static struct process process;
static struct group group;
static struct thread threads[THREADS];
static uint32_t kicks;
static uint32_t rounds;    /* first rounds of exec or the end */
static uint32_t submitted; /* ends of the group that a worker is to run */
static void (*turn)(void); /* what others do in the first turn */

uint64_t rdtsc_unordered(void)
{
    return SLICE_COUNTS + 1; /* every slice is over */
}

bool slice_pause(void)
{
    void (*now)(void) = turn;

    CHECK(!spin_held(&group.lock));
    turn = NULL;
    if (now != NULL)
        now();
    return false;
}

void kill_thread_locked(struct thread *thread)
{
    CHECK(spin_held(&group.lock) && thread->doomed != 0);
    kicks++;
}

/* The doomed threads die in it. */
void exit_kill_round(struct group *of)
{
    CHECK(of == &group && process.pruning && group.quiet_count == 1);
    rounds++;
}

void work_submit(struct work *work)
{
    CHECK(work == &group.work);
    submitted++;
}

bool group_has_pins_locked(const struct group *of)
{
    (void)of;
    return false;
}

static void ending(void)
{
}

/* --- not used here --- */

void exit_free_round(struct group *of)
{
    (void)of;
}

void exit_group_other(struct group *of, uint32_t status)
{
    (void)of;
    (void)status;
    CHECK(false);
}

void action_cache_changed(uint32_t id)
{
    (void)id;
}

void adopted_forget_group(uint32_t id)
{
    (void)id;
}

void completion_signal(struct completion *c)
{
    (void)c;
}

void futex_forget_all_robust(struct group *of)
{
    (void)of;
}

void futex_release_thread(bool exec)
{
    (void)exec;
}

void group_get(struct group *of)
{
    (void)of;
}

void signal_mask_changed(struct thread *thread)
{
    (void)thread;
}

bool vfork_wait(struct completion *c, const struct wait_reason *reason)
{
    (void)c;
    (void)reason;
    CHECK(false);
    return false;
}

/* --- */

static void start(void (*others)(void))
{
    process = (struct process){.group = &group, .live = THREADS};
    group = (struct group){.process = &process, .space = &space, .count = THREADS};
    list_init(&group.threads);
    list_init(&group.walks);
    for (uint32_t i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){.tid = i + 1, .group = &group, .presence = THREAD_PRESENT};
        list_append(&group.threads, &threads[i].group_node);
    }
    group_hooks.ending = ending;
    kicks = rounds = submitted = 0;
    turn = others;
    cpu.thread = &threads[EXECS];
}

static int exec_of(uint32_t which)
{
    int error;

    cpu.thread = &threads[which];
    error = exit_others();
    cpu.thread = &threads[EXECS];
    return error;
}

static uint32_t doomed(void)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < THREADS; i++)
        count += threads[i].doomed != 0;
    return count;
}

TEST(others_doomed, "exec dooms all threads but its own, and is the only one left")
{
    start(NULL);
    CHECK_EQ(exit_others(), 0);
    CHECK(doomed() == THREADS - 1 && threads[EXECS].doomed == 0 && kicks == THREADS - 1);
    CHECK(rounds == 1 && submitted == 0 && !process.pruning && process.live == 1);
}

static int met_error, unmet_error; /* of two that exec in the midst of the walk */
static uint32_t met_before;

static void two_exec(void)
{
    met_before = doomed();
    CHECK(threads[0].doomed != 0 && threads[THREADS - 1].doomed == 0);
    met_error = exec_of(0);
    unmet_error = exec_of(THREADS - 1);
    CHECK(threads[THREADS - 1].doomed != 0); /* at once: it would run on in its program until the walk is there */
    CHECK_EQ(doomed(), met_before + 1);
}

TEST(exec_twice,
     "a thread that execs while another one dooms its threads is doomed at once, and does not see the error")
{
    start(two_exec);
    CHECK_EQ(exit_others(), 0);
    CHECK(turn == NULL && met_error == -EAGAIN && unmet_error == -EAGAIN);
    CHECK(doomed() == THREADS - 1 && threads[EXECS].doomed == 0 && rounds == 1);
}

static void kill_all(void)
{
    group.exiting = true;
}

TEST(exec_killed, "the end of a group that is killed meanwhile begins when exec has ended, and once")
{
    start(kill_all);
    CHECK_EQ(exit_others(), -EAGAIN);
    CHECK(rounds == 1 && submitted == 1 && !process.pruning);
    CHECK_EQ(exit_others(), -EAGAIN);
    CHECK(rounds == 1 && submitted == 1 && threads[EXECS].doomed == 0);
}
