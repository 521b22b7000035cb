/* A look whether programs are quiesced, which others interrupt between its slices.
 * sources: tasks/freeze/freeze.c tasks/thread/walk.c */
#include "tasks/freeze/freeze.h"

#include "kernel/abi/errno.h"
#include "msg/quiet.h"
#include "msg/slice.h"
#include "tasks/process/process.h"
#include "tasks/remote/work.h"
#include "tasks/sched/cpu_mask.h"
#include "tasks/sched/due.h"
#include "tasks/sched/waitq.h"
#include "tasks/timer/timer.h"
#include "tests/stand_in/panic.h"
#include "tests/test.h"

#define THREADS 400 /* more than a look takes without a turn for others */

static struct group first, second;
static struct thread threads[THREADS], other; /* of the first group, and of the second one */
static uint64_t woken, taken;
static uint32_t busy, unanswered;
static bool firing;
static uint32_t turns;     /* of others, in the present look */
static void (*turn)(void); /* what they do */

uint64_t rdtsc_unordered(void)
{
    return SLICE_COUNTS + 1; /* every slice is over */
}

bool slice_pause(void)
{
    CHECK(!spin_held(&first.lock) && !spin_held(&second.lock));
    turns++;
    if (turn != NULL)
        turn();
    return false;
}

bool sched_waits(const struct thread *thread, enum wait_end *end)
{
    *end = thread->wait_end;
    return thread->state == THREAD_BLOCKED;
}

uint64_t sched_woken(void)
{
    return woken;
}

void group_each(bool (*each)(struct group *group, void *context), void *context)
{
    each(&first, context);
    each(&second, context);
}

uint64_t group_total(void)
{
    return 2;
}

void thread_counts(struct thread_counts *out)
{
    *out = (struct thread_counts){.threads = THREADS + 1};
}

struct thread *thread_find(uint32_t tid)
{
    struct thread *thread = tid <= THREADS ? &threads[tid - 1] : &other;

    return list_empty(&thread->group_node) ? NULL : thread;
}

void thread_set_due(struct thread *thread, uint32_t flag)
{
    thread->due |= flag;
}

uint64_t msg_taken(void)
{
    return taken;
}

uint32_t msg_unanswered(void)
{
    return unanswered;
}

uint32_t work_busy(void)
{
    return busy;
}

bool timer_firing(void)
{
    return firing;
}

void timer_hold(bool hold)
{
    (void)hold;
}

/* --- not used here --- */

void waitq_wait(struct waitq *queue, struct spinlock *lock, const struct wait_reason *reason, enum wait_end end,
                uint64_t deadline)
{
    (void)queue;
    (void)lock;
    (void)reason;
    (void)end;
    (void)deadline;
    panic("a thread quiesces");
}

void waitq_wake_some(struct waitq *queue, uint32_t most)
{
    (void)queue;
    (void)most;
}

void thread_order_move_locked(struct thread *thread, uint32_t kernel)
{
    (void)thread;
    (void)kernel;
}

int64_t cpu_mask_nearest_other(const uint64_t mask[CPUS_MAX / 64])
{
    (void)mask;
    return -1;
}

void cpu_mask_all(uint64_t mask[CPUS_MAX / 64])
{
    (void)mask;
}

/* --- */

static void add(struct group *group, struct thread *thread, uint32_t tid)
{
    *thread = (struct thread){.tid = tid, .group = group, .presence = THREAD_PRESENT};
    thread->state = THREAD_BLOCKED;
    thread->wait_end = WAIT_KILLABLE;
    list_append(&group->threads, &thread->group_node);
}

/* All threads are at rest, and nothing is under way. */
static void start(void)
{
    freeze_init();
    list_init(&first.threads);
    list_init(&second.threads);
    for (uint32_t i = 0; i < THREADS; i++)
        add(&first, &threads[i], i + 1);
    add(&second, &other, THREADS + 1);
    woken = taken = busy = unanswered = 0;
    firing = false;
    turn = NULL;
}

static struct freeze_state look(void)
{
    struct freeze_state state;

    turns = 0;
    freeze_look(&state);
    return state;
}

static bool is_quiet(const struct freeze_state *state)
{
    return state->moving == 0 && state->ending == 0 && state->working == 0 && state->unanswered == 0;
}

/* Before the first thread is looked at, it wakes the other one, and blocks; before that one is, it does the same. */
static void chase(void)
{
    if (turns != 1 && turns != 4)
        return;
    threads[0].state = turns == 4 ? THREAD_READY : THREAD_BLOCKED;
    other.state = turns == 4 ? THREAD_BLOCKED : THREAD_READY;
    woken++;
}

TEST(rest, "two looks at a kernel at rest agree, and others have turns meanwhile")
{
    struct freeze_state before, after;

    start();
    before = look();
    CHECK(turns >= THREADS / 128);
    after = look();
    CHECK(is_quiet(&before) && is_quiet(&after) && before.events == after.events);
    CHECK(freeze_look_is_long());
}

TEST(overtaken, "what goes on behind each of two looks, and rests when it is looked at, shows between them")
{
    struct freeze_state before, after;

    start();
    turn = chase;
    before = look();
    CHECK_EQ(threads[0].state, THREAD_READY);
    after = look();
    CHECK(is_quiet(&before) && is_quiet(&after)); /* no look alone can tell */
    CHECK_EQ(after.events - before.events, 2);
}

static void leave(void)
{
    if (turns != 2)
        return;
    list_remove(&threads[128].group_node);
    threads[THREADS - 1].state = THREAD_RUNNING;
}

TEST(gone, "the look begins again when the thread has gone behind which it goes on, and misses none")
{
    struct freeze_state state;

    start();
    turn = leave;
    state = look();
    CHECK_EQ(state.moving, 1);
    CHECK((threads[THREADS - 1].due & THREAD_DUE_FREEZE) != 0);
}

TEST(on_its_way, "a thread that quiesces or has become a shadow is at rest when it has blocked, and not before")
{
    struct freeze_state state;

    start();
    threads[5].frozen = true;
    threads[5].state = THREAD_RUNNING;
    threads[6].presence = THREAD_SHADOW;
    threads[6].state = THREAD_RUNNING;
    state = look();
    CHECK_EQ(state.moving, 2);
    threads[5].state = THREAD_BLOCKED;
    threads[6].state = THREAD_BLOCKED;
    state = look();
    CHECK(is_quiet(&state));
}

static void submit(void)
{
    if (turns != 2)
        return;
    busy = 1;
    unanswered = 1;
    taken++;
}

TEST(late, "work and requests that come during a look show in it; a message that is taken then, in the next")
{
    struct freeze_state before, after;

    start();
    turn = submit;
    before = look();
    turn = NULL;
    CHECK(before.working == 1 && before.unanswered == 1 && before.events == 0);
    after = look();
    CHECK_EQ(after.events, 1);
    firing = true;
    after = look();
    CHECK_EQ(after.working, 2);
}
