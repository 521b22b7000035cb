/* Hooks of a file's events: few and many, exclusive or not, and what is left to a worker.
 * sources: kernel/file/events.c */
#include "kernel/file/events.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/wait/work.h"
#include "msg/slice.h"
#include "tests/test.h"

#define HOOKS 200u
#define AT_ONCE 64u

struct one { /* a hook, and what it notes */
    struct poll_hook hook;
    struct poll_notified note;
    uint32_t fired, notified, taken;
    bool takes, notes;
};

static struct file_events events;
static struct one ones[HOOKS];
static struct work *submitted;
static uint64_t now;
static uint32_t counted;

uint64_t rdtsc_unordered(void)
{
    return now;
}

bool slice_pause(void)
{
    return false;
}

void work_submit(struct work *work)
{
    CHECK(submitted == NULL && spin_held(&poll_lock));
    submitted = work;
}

void watch_init(struct watch_source *source)
{
    memset(source, 0, sizeof(*source));
}

void watch_event(struct watch_source *source)
{
    (void)source;
    counted++;
}

static void run_work(void)
{
    struct work *work = submitted;

    CHECK(work != NULL);
    submitted = NULL;
    work->run(work);
}

static void note(struct poll_notified *notified)
{
    CHECK(!spin_held(&poll_lock));
    container_of(notified, struct one, note)->notified++;
}

static bool fire(struct poll_hook *hook, struct list *notified)
{
    struct one *one = container_of(hook, struct one, hook);

    CHECK(spin_held(&poll_lock) && file_events_polled(&events)); /* it is in one list or the other */
    one->fired++;
    if (one->notes)
        list_append(notified, &one->note.node);
    if (one->takes && hook->exclusive)
        one->taken++;
    return one->takes;
}

static void add(uint32_t from, uint32_t to, bool exclusive)
{
    for (uint32_t i = from; i < to; i++) {
        ones[i] = (struct one){.hook = {.exclusive = exclusive, .fire = fire}, .note = {.notify = note}};
        poll_hook_add(&events, &ones[i].hook);
    }
}

static void start(void)
{
    now = 0;
    counted = 0;
    submitted = NULL;
    file_events_init(&events);
    for (uint32_t i = 0; i < HOOKS; i++)
        list_init(&ones[i].hook.node);
}

static void end(void)
{
    for (uint32_t i = 0; i < HOOKS; i++) {
        if (!list_empty(&ones[i].hook.node))
            poll_hook_remove(&events, &ones[i].hook);
    }
    CHECK(!file_events_polled(&events) && list_empty(&events.owing) && events.untaken == 0);
}

static uint32_t fired(uint32_t from, uint32_t to)
{
    uint32_t sum = 0;

    for (uint32_t i = from; i < to; i++)
        sum += ones[i].fired;
    return sum;
}

static void set_all(bool takes, bool notes)
{
    for (uint32_t i = 0; i < HOOKS; i++) {
        ones[i].takes = takes;
        ones[i].notes = notes;
        ones[i].fired = ones[i].notified = ones[i].taken = 0;
    }
}

TEST(none, "an event without hooks is counted, and calls nobody")
{
    start();
    CHECK(!file_events_polled(&events));
    file_event(&events);
    CHECK(counted == 1 && submitted == NULL);
}

TEST(few, "an event of 64 hooks calls each once itself, those that are not exclusive first")
{
    start();
    add(0, AT_ONCE - 1, false);
    add(AT_ONCE - 1, AT_ONCE, true);
    set_all(false, true);
    file_event(&events);
    for (uint32_t i = 0; i < AT_ONCE; i++)
        CHECK(ones[i].fired == 1 && ones[i].notified == 1);
    CHECK(submitted == NULL && list_empty(&events.owing) && file_events_polled(&events));
    end();
}

TEST(many, "an event of many hooks calls 64 and a worker the others, each once")
{
    start();
    add(0, HOOKS, false);
    set_all(false, true);
    file_event(&events);
    CHECK(fired(0, AT_ONCE) == AT_ONCE && fired(AT_ONCE, HOOKS) == 0 && file_events_polled(&events));
    run_work();
    for (uint32_t i = 0; i < HOOKS; i++)
        CHECK(ones[i].fired == 1 && ones[i].notified == 1);
    CHECK(submitted == NULL && list_empty(&events.owing));
    end();
}

TEST(many_twice, "hooks that are owed a call are called once for all events until then, and the work is submitted once")
{
    start();
    add(0, HOOKS, false);
    set_all(false, false);
    file_event(&events);
    file_event(&events); /* the next 64 */
    CHECK(fired(0, 2 * AT_ONCE) == 2 * AT_ONCE && fired(2 * AT_ONCE, HOOKS) == 0);
    run_work();
    CHECK(fired(2 * AT_ONCE, HOOKS) == HOOKS - 2 * AT_ONCE); /* once for both */
    for (uint32_t i = 0; i < AT_ONCE; i++)
        CHECK_EQ(ones[i].fired, 2);
    CHECK(submitted == NULL);
    end();
}

TEST(notes_late, "in a long silence an event calls one note and a worker the others, in their order")
{
    start();
    add(0, 10, false);
    set_all(false, true);
    now = SLICE_COUNTS + 1;
    file_event(&events);
    CHECK(fired(0, 10) == 10 && ones[0].notified == 1 && ones[1].notified == 0);
    run_work();
    for (uint32_t i = 0; i < 10; i++)
        CHECK_EQ(ones[i].notified, 1);
    end();
}

TEST(exclusive_taken, "an event whose first exclusive hook takes it asks no other, and leaves nothing to a worker")
{
    start();
    add(0, HOOKS, true);
    set_all(true, false);
    for (uint32_t i = 0; i < 2 * HOOKS; i++) {
        file_event(&events);
        CHECK(submitted == NULL && list_empty(&events.owing) && events.untaken == 0);
        CHECK_EQ(fired(0, HOOKS), i + 1);
    }
    for (uint32_t i = 0; i < HOOKS; i++)
        CHECK_EQ(ones[i].taken, 2); /* in turn */
    end();
}

TEST(exclusive_far, "an event that many exclusive hooks do not take is asked on by the worker, until one takes it")
{
    start();
    add(0, HOOKS, true);
    set_all(false, false);
    ones[100].takes = ones[150].takes = true;
    file_event(&events);
    CHECK(fired(0, AT_ONCE) == AT_ONCE && fired(AT_ONCE, HOOKS) == 0);
    run_work();
    CHECK(ones[100].taken == 1 && fired(0, 101) == 101 && fired(101, HOOKS) == 0);
    CHECK(events.untaken == 0 && list_empty(&events.owing));
    file_event(&events); /* goes on behind */
    CHECK(ones[150].taken == 1 && fired(0, 101) == 101 && submitted == NULL);
    end();
}

TEST(exclusive_each, "as many exclusive hooks take events as there are events, those that come between two steps, too")
{
    start();
    add(0, HOOKS, true);
    set_all(false, false);
    for (uint32_t i = 2 * AT_ONCE; i < HOOKS; i++)
        ones[i].takes = true;
    file_event(&events);
    file_event(&events);
    CHECK(fired(0, HOOKS) == 2 * AT_ONCE && events.untaken == 2);
    run_work();
    CHECK(fired(0, HOOKS) == 2 * AT_ONCE + 2 && ones[2 * AT_ONCE].taken == 1 && ones[2 * AT_ONCE + 1].taken == 1);
    end();
}

TEST(exclusive_none, "an event that nobody takes is over when all have been asked, and wakes nobody later")
{
    start();
    add(0, HOOKS, true);
    set_all(false, false);
    for (uint32_t i = 0; i < 1000; i++)
        file_event(&events); /* faster than the worker */
    CHECK(events.untaken <= HOOKS);
    run_work();
    CHECK(events.untaken == 0 && list_empty(&events.owing));
    set_all(true, false);
    file_event(&events);
    CHECK_EQ(fired(0, HOOKS), 1);
    end();
}

TEST(passed, "an event that is passed on goes to another exclusive hook, and to no other")
{
    start();
    add(0, 100, false);
    add(100, HOOKS, true);
    set_all(true, false);
    file_event(&events);
    run_work();
    CHECK(fired(0, 100) == 100 && ones[100].taken == 1 && fired(100, HOOKS) == 1);
    file_event_pass(&events);
    CHECK(fired(0, 100) == 100 && ones[101].taken == 1 && fired(100, HOOKS) == 2 && submitted == NULL);
    end();
}

TEST(passed_owed, "an event that is passed on while hooks are owed calls is one more that is untaken")
{
    start();
    add(0, 100, false);
    add(100, HOOKS, true);
    set_all(true, false);
    file_event(&events);
    CHECK_EQ(fired(0, HOOKS), AT_ONCE);
    file_event_pass(&events);
    run_work();
    CHECK(fired(0, 100) == 100 && ones[100].taken == 1 && ones[101].taken == 1 && fired(100, HOOKS) == 2);
    end();
}

TEST(removed, "with the last hook that is owed a call the events leave the worker's list, and it does not touch them")
{
    start();
    add(0, HOOKS, false);
    set_all(false, false);
    file_event(&events);
    for (uint32_t i = HOOKS - 1; i >= AT_ONCE; i--) {
        CHECK(!list_empty(&events.owing));
        poll_hook_remove(&events, &ones[i].hook);
    }
    CHECK(list_empty(&events.owing) && file_events_polled(&events));
    for (uint32_t i = 0; i < AT_ONCE; i++)
        poll_hook_remove(&events, &ones[i].hook);
    CHECK(!file_events_polled(&events));
    memset(&events, 0xee, sizeof(events));
    run_work();
    CHECK(submitted == NULL);
}

TEST(removed_exclusive, "an untaken event goes on to the exclusive hooks that are left, and ends with the last of them")
{
    start();
    add(0, HOOKS, true);
    set_all(false, false);
    file_event(&events);
    file_event(&events);
    for (uint32_t i = 2 * AT_ONCE; i < HOOKS - 1; i++)
        poll_hook_remove(&events, &ones[i].hook);
    ones[HOOKS - 1].takes = true;
    CHECK_EQ(events.untaken, 2);
    run_work();
    CHECK_EQ(ones[HOOKS - 1].taken, 1);
    CHECK(events.untaken == 0 && list_empty(&events.owing));
    file_event(&events);
    for (uint32_t i = 0; i < HOOKS; i++) {
        if (!list_empty(&ones[i].hook.node))
            poll_hook_remove(&events, &ones[i].hook);
    }
    memset(&events, 0xee, sizeof(events));
    if (submitted != NULL)
        run_work();
}

/* Another CPU asks whether there are hooks, and another event comes, when the lock is released. */
static bool event_at_release;

void spin_released(struct spinlock *lock)
{
    (void)lock;
    if (!event_at_release || !list_empty(&events.owing) || submitted != NULL)
        return;
    event_at_release = false;
    file_event(&events);
}

TEST(again, "an event that comes when the worker is about to end has the work done once more, and submits it once")
{
    start();
    add(0, HOOKS, false);
    set_all(false, false);
    file_event(&events);
    event_at_release = true;
    run_work();
    CHECK(!event_at_release && submitted != NULL && fired(0, HOOKS) == HOOKS + AT_ONCE);
    file_event(&events);
    run_work();
    CHECK(submitted == NULL && list_empty(&events.owing));
    end();
}
