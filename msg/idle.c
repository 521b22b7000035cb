/* How long a CPU without other work polls for messages before it halts, or blocks a task that waits for an answer.
 * Polling costs other threads nothing here; halting costs an interrupt and a wakeup. So a CPU polls for about as long
 * as messages have recently taken to arrive, up to the option poll=. After Linux's halt polling (its documentation,
 * virt/kvm/halt-polling). Where a look took longer than looks do, the host ran something else meanwhile, and polling
 * takes its time from those who are waited for: then the CPU halts at once. So does a CPU of an emulator that gives
 * CPUs their turns, and ends a turn at PAUSE: a look takes as long as the others' turns, with interrupts off. */
#include "msg/idle.h"
#include "kernel/arch/x86_64/base/instructions.h"
#include "msg/channel_internal.h"
#include "msg/inject.h"

bool idle_looks_count = true;

#define BUDGET_LEAST 16u
#define SOON 50000ull /* ns: a message that arrives sooner after giving up was worth polling for */

static uint32_t most = IDLE_POLLS_DEFAULT; /* option poll= */
static uint32_t budget = IDLE_POLLS_DEFAULT;

void idle_set_polls(uint32_t polls)
{
    most = polls;
    budget = polls;
}

uint32_t msg_idle_budget(void)
{
    return budget;
}

void msg_idle_gave_up(uint64_t nanoseconds)
{
    uint64_t next = nanoseconds < SOON ? 2ull * budget : budget / 2;

    if (most == 0 || most == IDLE_POLLS_ALWAYS)
        return;
    if (next < BUDGET_LEAST)
        next = BUDGET_LEAST;
    budget = next < most ? (uint32_t)next : most;
}

__attribute__((noinline)) void msg_note_look_several(void)
{
    if (cpu_index() != 0)
        cpu_self()->idle_polls++;
    else if (idle_looks_count)
        __atomic_fetch_add(&msg_own_head->board[MSG_BOARD_LOOKS], 1, __ATOMIC_RELAXED);
}

#define AWAY_SHIFT 12u /* a part of a second, 244 us: no look takes as long while the CPU runs */

bool idle_poll_away(uint64_t *last)
{
    uint64_t now = rdtsc_unordered();
    bool away = now - *last > instance.rates.tsc_hz >> AWAY_SHIFT;

    *last = now;
    return away;
}

bool idle_poll_look(void)
{
    msg_note_look();
    return msg_hinted() || inject_due_now();
}
