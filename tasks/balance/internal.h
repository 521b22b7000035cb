/* What the two ways to move threads share: balance.c, and draw.c. */
#ifndef TASKS_BALANCE_INTERNAL_H
#define TASKS_BALANCE_INTERNAL_H

#include <stdint.h>

#include "tasks/balance/choice.h"

/* Fills KERNELS, one for each kernel of the machine, with its load, for a thread with AFFINITY (all zero: any CPU). */
void balance_look(const uint64_t affinity[], struct balance_kernel kernels[]);
/* ns: what a move of a thread and the pages that it fetches afterwards have cost here lately. */
uint64_t balance_cost(void);

/* Serves THREADS_DRAW from now on. Once. */
void balance_draw_init(void);
/* What has become of requests that a thread moves to its memory. */
enum balance_drawn {
    DRAW_ORDERED,
    DRAW_BOUND,   /* no thread here may move */
    DRAW_UNSURE,  /* it may be another thread that uses the memory */
    DRAW_CROWDED, /* no CPU is free there */
    DRAW_DEAR,    /* it would not pay */
    DRAW_ASLEEP,  /* all threads here sleep */
    DRAW_RESULTS
};
void balance_draw_counts(uint64_t counts[DRAW_RESULTS]);

#endif
