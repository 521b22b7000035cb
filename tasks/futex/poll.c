/* Polling of a word before its waiter queues at another kernel, or at this one for wakers on others. To queue, to be
 * woken and to leave cost messages, and a thread of a parallel program often waits for others that are almost there: at
 * a barrier, or for a lock that is held for a few instructions. As long as this CPU has nothing else to do, it looks at
 * the word as often as an idle CPU looks for messages before it halts (msg/idle.c), and takes messages meanwhile. Who
 * waits longer than that queues.
 *
 * No wake can be lost by that: the thread is in no queue yet, as if it had come later. */
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/silence.h"
#include "kernel/arch/x86_64/tlb.h"
#include "kernel/arch/x86_64/traps.h"
#include "kernel/instance/instance.h"
#include "mm/space/space.h"
#include "msg/channel.h"
#include "msg/idle.h"
#include "tasks/futex/internal.h"
#include "tasks/process/group.h"

#define LOOKS_BETWEEN_INTERRUPTS 8u

/* Whether a wake may come from another kernel. Elsewhere than at home, the members that are known here do not matter:
 * the word's queue is not here. */
static bool wakers_abroad(const struct futex_place *place)
{
    return place->owner != instance.kernel || thread_current()->group->space->members != 1ull << instance.kernel;
}

/* Whether the thread should queue now, because the CPU has other work or the wait may be over for another reason. Takes
 * interrupts: timers may be this thread's. */
static __attribute__((noinline)) bool has_other_work(const struct futex_expected *expected)
{
    wait_ops.breathe();
    return !wait_ops.alone() || wait_ops.ended(WAIT_INTERRUPTIBLE) ||
           (expected->deadline != 0 && clock_now() >= expected->deadline);
}

static __attribute__((noinline)) bool idle_poll_word(const struct futex_expected *expected)
{
    const uint32_t *word = (const uint32_t *)expected->address; /* of a program: futex_find has checked it */
    uint32_t looks = msg_idle_budget();
    uint32_t value = expected->value;
    uint64_t last = rdtsc_unordered();
    bool came = false, away = false;

    if (looks > IDLE_LOOKS_MAX)
        looks = IDLE_LOOKS_MAX;
    for (uint32_t i = 1; i <= looks && value == expected->value; i++) {
        if ((came || away || i % LOOKS_BETWEEN_INTERRUPTS == 1) && has_other_work(expected))
            break;
        silence_end((uint64_t)__builtin_return_address(0));
        came = idle_poll_look() && msg_poll();
        cpu_pause();
        if (cpu_self()->flush_pending)
            tlb_interrupt();
        away = idle_poll_away(&last); /* its timers may have expired */
        if (idle_poll_load(&value, word) != 0)
            break; /* the thread finds out when it has queued */
    }
    silence_begin();
    return value != expected->value;
}

bool futex_poll(const struct futex_expected *expected, const struct futex_place *place)
{
    return wakers_abroad(place) && idle_poll_word(expected);
}
