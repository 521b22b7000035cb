/* The doorbell of an instance: when the first CPU wants to be interrupted for messages, and what it does then. See
 * "Doorbells" and the table of the first CPU in msg/PROTOCOL.md. All but msg_due runs on the first CPU, interrupts off.
 */
#include "msg/channel_internal.h"
#include "msg/idle.h"
#include "msg/inject.h"

#define LEAVE_POLLS 16u /* that find messages one after another, before programs have their turn */
#define LEAVE_NS 50000u /* the least time for programs; else as long as the polls have taken */

/* [a] ns, as clock_now: when the first CPU looks for messages again; 0: when it is rung */
static volatile uint64_t look_due;

uint64_t msg_due(void)
{
    uint64_t look = look_due, held = inject_due;

    return look == 0 || (held != 0 && held < look) ? held : look;
}

void msg_doorbell_disarm(void)
{
    uint64_t word = msg_own_head->doorbell;

    if ((word & 1) != 0)
        msg_own_head->doorbell = word + 1;
}

bool msg_doorbell_arm(void)
{
    uint64_t word = msg_own_head->doorbell;

    msg_own_head->doorbell = (word & 1) != 0 ? word + 2 : word + 1;
    memory_fence(); /* the doorbell is armed before the hints are read: see announce_locked in msg/send.c */
    if (!msg_hinted() && !inject_due_now())
        return true;
    msg_doorbell_disarm();
    return false;
}

static void look_at(uint64_t due)
{
    look_due = due;
    wait_ops.due_changed();
}

void msg_look_later(void)
{
    if (look_due == 0)
        look_at(clock_now() + LEAVE_NS);
}

/* There are messages. Takes some until the doorbell can be armed, or else has a timer replace it. Where a message takes
 * long, as on an emulator that shares its clock among many CPUs, the polls end with the time of one. */
static __attribute__((noinline)) void leave_messages(void)
{
    uint64_t start = clock_now(), end = msg_ticks() + MSG_POLL_TICKS, taken;

    for (uint32_t polls = 0; polls < LEAVE_POLLS && (polls == 0 || msg_ticks() <= end); polls++) {
        msg_poll();
        cpu_relax(); /* another CPU may be polling, and its handler may wait for a TLB shootdown of this CPU */
        if (msg_doorbell_arm()) {
            look_due = 0;
            return;
        }
    }
    taken = clock_now() - start;
    msg_stats.looks_later++;
    look_at(start + taken + (taken > LEAVE_NS ? taken : LEAVE_NS));
}

void msg_doorbell_leave(void)
{
    if (msg_doorbell_arm())
        look_due = 0;
    else
        leave_messages();
}

void msg_doorbell_interrupt(void)
{
    msg_stats.doorbells_received++;
    msg_poll();
    msg_doorbell_leave();
    cpu_pause(); /* who rang polls for the answer, and may share the core, or an emulator's thread */
}

void msg_due_interrupt(void)
{
    bool any = msg_poll();

    if ((!cpu_several || cpu_index() == 0) && look_due != 0 && clock_now() >= look_due)
        msg_doorbell_leave();
    if (any)
        cpu_pause(); /* as above */
}
