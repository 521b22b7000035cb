/* Which retrieval strategy a space has: one of those that there are (struct space_retrieval of mm/space/strategy.h),
 * which may change while it is in use. mm/retrieve/retrieval.md. */
#ifndef MM_RETRIEVE_STRATEGY_H
#define MM_RETRIEVE_STRATEGY_H

#include <stdint.h>

#include "mm/space/space.h"

/* Registers the messages and the options retrieve= and prefetch=, of which kettle_control changes what new spaces have.
 * Once. */
void space_retrieve_init(void);

/* The strategies by number, from 0 on; NULL: there is none. And the number of one, or one that has none. */
const struct space_retrieval *space_strategy(uint32_t index);
uint32_t space_strategy_find(const char *name);
/* Home only: SPACE has that strategy from now on, on every kernel. -EINVAL; -ENOMEM: nothing has changed. Its threads
 * run on. Waits for the members. */
int space_retrieve_switch(struct space *space, uint32_t strategy);

/* The mode of a new space: what the options say. */
void space_mode_start(struct space *space);
/* The space's mode at its home, when this kernel joined or later. */
void space_mode_note(struct space *space, uint64_t mode);
/* space->lock is held: as space_mode_note; and, at the home, the mode after a change to STRATEGY, which it has now. */
void space_mode_note_locked(struct space *space, uint64_t mode);
uint64_t space_mode_next_locked(struct space *space, uint32_t strategy);

#endif
