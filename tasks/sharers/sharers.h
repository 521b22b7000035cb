/* Spaces of any kernel that share a page which moves: each takes part through its home. mm/move/move.md has the
 * protocol; mm/move/shared.c is the mover. */
#ifndef TASKS_SHARERS_SHARERS_H
#define TASKS_SHARERS_SHARERS_H

#include <stdint.h>

struct group;

/* Registers the operations, and with mm/move how it reaches other spaces. Once. */
void sharers_init(void);
/* KERNEL has died: what it had locked in spaces at home here may be written to again, and is unlocked. Calls END for
 * each group in which pages were moving: others that share them may have another frame now. Waits. */
void sharers_lost(uint32_t kernel, void (*end)(struct group *group));

#endif
