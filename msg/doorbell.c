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

static bool is_first(void)
{
    return !cpu_several || cpu_index() == 0;
}

/* Another CPU than the first could only find that due what that one alone does, again and again. */
uint64_t msg_due(void)
{
    uint64_t look = is_first() ? look_due : 0, held = inject_due;

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

/* A poll with interrupts off. The look counts as a beat: what a poll takes is bounded, and the timer's turn comes. */
static bool poll(void)
{
    msg_note_look();
    return msg_poll();
}

/* There are messages. Takes some until the doorbell can be armed, or else has a timer replace it. START: msg_ticks when
 * this CPU began to take messages. Where one takes long, as on an emulator whose CPUs share a clock, it was enough. */
static __attribute__((noinline)) void leave_messages(uint64_t start)
{
    uint64_t taken;

    for (uint32_t polls = 0; polls < LEAVE_POLLS && msg_ticks() - start <= MSG_POLL_TICKS; polls++) {
        poll();
        cpu_relax(); /* another CPU may be polling, and its handler may wait for a TLB shootdown of this CPU */
        if (msg_doorbell_arm()) {
            look_due = 0;
            return;
        }
    }
    taken = msg_ticks_to_ns(msg_ticks() - start);
    msg_stats.looks_later++;
    look_at(clock_now() + (taken > LEAVE_NS ? taken : LEAVE_NS));
}

void msg_doorbell_leave(void)
{
    if (msg_doorbell_arm())
        look_due = 0;
    else
        leave_messages(msg_ticks());
}

/* What an interrupt does: takes messages, and leaves. Returns whether there were any. */
static bool take_and_leave(void)
{
    uint64_t start = msg_ticks();
    bool any = poll();

    if (msg_doorbell_arm())
        look_due = 0;
    else
        leave_messages(start);
    return any;
}

/* This CPU has left its messages to a timer: until then the time is that of its programs, whoever rings. Then that
 * timer is set, and the sender of a ring that comes late, or the CPU of this kernel that has left messages, needs no
 * other. */
static bool has_left(void)
{
    return (msg_own_head->doorbell & 1) == 0 && look_due != 0 && clock_now() < look_due;
}

void msg_doorbell_interrupt(void)
{
    if (has_left())
        return;
    take_and_leave();
    cpu_pause(); /* who rang polls for the answer, and may share the core, or an emulator's thread */
}

void msg_due_interrupt(void)
{
    bool leaves = is_first() && look_due != 0 && clock_now() >= look_due;

    if (leaves ? take_and_leave() : msg_poll())
        cpu_pause(); /* as above */
}
