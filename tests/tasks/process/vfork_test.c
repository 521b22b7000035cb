/* A thread that waits for processes that use its memory.
 * sources: tasks/process/vfork.c */
#include "tasks/process/vfork.h"

#include "kernel/arch/x86_64/cpu.h"
#include "tasks/remote/watch.h"
#include "tasks/thread/group.h"
#include "tasks/thread/thread.h"
#include "tests/test.h"

static struct thread thread;
static struct group group;
static struct cpu cpu = {.thread = &thread};
struct cpu *test_cpu = &cpu;
static uint32_t events, waits;
static bool signals;

void watch_event(struct watch_source *source)
{
    CHECK(source == &group.moves && !spin_held(&group.lock));
    CHECK(thread.in_vfork && waits == 0); /* who looks again must find that nothing is to be waited for */
    events++;
}

bool completion_wait_until(struct completion *c, const struct wait_reason *reason, enum wait_end end, uint64_t deadline)
{
    (void)c;
    (void)reason;
    CHECK(thread.in_vfork && events == 1 && end == WAIT_KILLABLE && deadline == 0 && !spin_held(&group.lock));
    waits++;
    return signals;
}

TEST(told, "who waits for the thread's move learns that it waits, before it does")
{
    static const struct wait_reason reason = {.what = "test", .kernel = -1};
    struct completion done;

    completion_init(&done);
    thread = (struct thread){.group = &group};
    for (int turn = 0; turn < 2; turn++) {
        events = waits = 0;
        signals = turn == 1;
        CHECK(vfork_wait(&done, &reason) == signals);
        CHECK(events == 1 && waits == 1 && !thread.in_vfork);
    }
}
