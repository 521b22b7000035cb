/* The distributed lock: ranges of a space that a task has for itself in the whole machine, by the strategy that the
 * boot option lock= chooses (struct space_locking of mm/space/strategy.h). mm/lock/home.md, mm/lock/lamport.md. */
#ifndef MM_LOCK_LOCK_H
#define MM_LOCK_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/space.h"

/* Registers the message handlers and chooses the strategy: boot options lock= and ranges=. Once. */
void lock_init(void);

/* [i] False, with ranges=off: tasks lock one page or, for all that is more, all of them, as published. */
extern bool space_ranges;
/* The distributed lock of RANGE, by the strategy. While a task here has one or waits, nobody is alone. -ENOMEM. Tasks
 * only; space_acquire waits. */
int space_acquire(struct space *space, struct space_range range);
void space_release(struct space *space, struct space_range range);
/* Takes the lock of [START, END) over all kernels and gives it back: for measuring. -ENOMEM. Waits. */
int space_lock_once(struct space *space, uint64_t start, uint64_t end);
/* How many requests for distributed locks this kernel keeps, granted or not: as the home, or with lock=lamport as
 * whoever asks or hosts the space. */
uint64_t space_lock_count(void);

#endif
