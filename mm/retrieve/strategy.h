/* The retrieval strategy of a space: one of the implementations of struct space_retrieval (mm/space/strategy.h), which
 * may change while the space is in use. mm/retrieve/retrieval.md. */
#ifndef MM_RETRIEVE_STRATEGY_H
#define MM_RETRIEVE_STRATEGY_H

#include <stddef.h>
#include <stdint.h>

#include "mm/space/space.h"

/* Registers the message handlers and the options retrieve= and prefetch=, which kettle_control may change for new
 * spaces. Once. */
void space_retrieve_init(void);

/* Returns the strategy with number INDEX, from 0 on, or NULL; and the number of the strategy NAME, or a number without
 * a strategy. */
const struct space_retrieval *space_strategy(uint32_t index);
uint32_t space_strategy_find(const char *name);
/* The file /proc/kettle/strategies: a line for each strategy, with its name, `directory` or `asking`, and whom it asks
 * (mm/retrieve/strategies.def). Writes at most SIZE bytes and returns how many; sets *CURSOR to 0. */
size_t space_strategy_report(char *bytes, size_t size, uint64_t *cursor);
/* At the home only: changes the strategy of SPACE on every kernel, while its threads run. -EINVAL; -ENOMEM: nothing has
 * changed. Waits for the members. */
int space_retrieve_switch(struct space *space, uint32_t strategy);

/* At the home only: NUMA is the space's policy for memory that follows its users (struct space: numa), on every kernel,
 * while its threads run. -EINVAL; -ENOMEM: nothing has changed. Waits for the members. */
int space_numa_switch(struct space *space, uint32_t numa);

/* Gives a new space the mode that the options choose. */
void space_mode_start(struct space *space);
/* Records the space's mode as its home reports it, when this kernel joins or the mode changes. */
void space_mode_note(struct space *space, uint64_t mode);
/* With space->lock held: the same; and, at the home, changes the strategy and returns the new mode. */
void space_mode_note_locked(struct space *space, uint64_t mode);
uint64_t space_mode_next_locked(struct space *space, uint32_t strategy);
/* The same for the policy. */
uint64_t space_mode_numa_locked(struct space *space, uint32_t numa);

#endif
