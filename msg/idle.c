/* How long a CPU that has nothing else to do looks for messages before it halts, or blocks a task that waits for an
 * answer. Looking costs the others nothing here; halting costs an interrupt and a wake. So: look for about as long as
 * messages have recently taken to come, and never longer than the option poll= says. After Linux's halt polling (its
 * documentation, virt/kvm/halt-polling). */
#include "msg/idle.h"
#include "msg/call.h"
#include "msg/channel_internal.h"
#include "msg/inject.h"

#define BUDGET_LEAST 16u
#define SOON 50000ull /* ns: a message that comes so soon after we gave up was worth waiting for */

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

bool idle_poll_look(void)
{
    return msg_hinted() || inject_due_now();
}
