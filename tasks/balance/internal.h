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
/* How often a thread was ordered to move to its memory, and how often none was. */
void balance_draw_counts(uint64_t *drawn, uint64_t *stayed);

#endif
