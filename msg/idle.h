/* Polling for messages: of an idle CPU before it halts, and of a task before it blocks. See msg/idle.c. */
#ifndef MSG_IDLE_H
#define MSG_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#define IDLE_POLLS_DEFAULT 400u
#define IDLE_POLLS_ALWAYS UINT32_MAX /* never halt */
#define IDLE_LOOKS_MAX 10000u        /* polls by a waiting task, during which interrupts are off */

/* False: another CPU of this kernel hangs, so the looks of the first one are no beats. The first CPU's: msg/alive.c
 * sets it. */
extern bool idle_looks_count;

/* The option poll=: sets the greatest number of polls; 0: halt at once. */
void idle_set_polls(uint32_t polls);

/* The number of polls of an idle CPU, or of one whose task waits for an answer, before it halts or blocks. It adapts,
 * up to the option poll=: the caller of msg_idle_gave_up passes how many NANOSECONDS after it gave up a message or its
 * answer arrived. */
uint32_t msg_idle_budget(void);
void msg_idle_gave_up(uint64_t nanoseconds);
/* True if msg_poll has work. Reads one or two cache lines of this kernel's own memory. */
bool idle_poll_look(void);
/* Whether this CPU did not run for some time since *LAST (its counter; 0: since the start, so true), which is set to
 * now: then it is not to poll any longer. */
bool idle_poll_away(uint64_t *last);

/* Before a task blocks for an event that a message may bring soon: polls for messages for a while, unless another
 * thread is ready, until OVER says of CONTEXT that the wait is over, as handlers and other CPUs make it. It ends early
 * where peers send without a pause, as interrupts are off. OVER takes no lock. Tasks only. */
void idle_poll_event(bool (*over)(const void *context), const void *context);

#endif
