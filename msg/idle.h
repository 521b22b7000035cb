/* The option poll=: how often an idle CPU polls for messages before it halts. See msg/idle.c. */
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

/* Sets the greatest number of polls; 0: halt at once. */
void idle_set_polls(uint32_t polls);

#endif
