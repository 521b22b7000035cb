/* Polling of a word before its waiter queues at another kernel, or at this one for wakers on others. To queue, to be
 * woken and to leave cost messages, and a thread of a parallel program often waits for others that are almost there: at
 * a barrier, or for a lock that is held for a few instructions. As long as this CPU has nothing else to do, it looks at
 * the word as often as an idle CPU looks for messages before it halts (msg/idle.c), and takes messages meanwhile. Who
 * waits longer than that queues.
 *
 * No wake can be lost by that: the thread is in no queue yet, as if it had come later. */
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/silence.h"
#include "kernel/instance/instance.h"
#include "mm/space/space.h"
#include "mm/user/user_copy.h"
#include "msg/call.h"
#include "msg/idle.h"
#include "tasks/futex/internal.h"
#include "tasks/process/group.h"

/* Whether a wake may come from another kernel. Elsewhere than at home, the members that are known here do not matter:
 * the word's queue is not here. */
static bool wakers_abroad(const struct futex_place *place)
{
    return place->owner != instance.kernel || thread_current()->group->space->members != 1ull << instance.kernel;
}

/* Whether the thread should queue now, because the CPU has other work or the wait may be over for another reason. */
static inline bool has_other_work(const struct futex_expected *expected)
{
    return !wait_ops.alone() || wait_ops.ended(WAIT_INTERRUPTIBLE) ||
           (expected->deadline != 0 && clock_now() >= expected->deadline);
}

static __attribute__((noinline)) bool idle_poll_word(const struct futex_expected *expected)
{
    uint32_t left = msg_idle_budget();
    uint32_t value = expected->value;

    if (left > IDLE_LOOKS_MAX)
        left = IDLE_LOOKS_MAX;
    for (; left > 0 && !has_other_work(expected); left--) {
        silence_end((uint64_t)__builtin_return_address(0));
        if (!idle_poll_look() || !msg_poll())
            cpu_relax();
        wait_ops.breathe(); /* timers, which may be this thread's */
        if (user_read(&value, expected->address, sizeof(value)) != 0 || value != expected->value)
            break;
    }
    silence_begin();
    return value != expected->value;
}

bool futex_poll(const struct futex_expected *expected, const struct futex_place *place)
{
    return wakers_abroad(place) && idle_poll_word(expected);
}
