/* Large pages for the memory of programs: when 2 MiB of an area get one frame of 2 MiB. See mm/fault/huge.md. */
#ifndef MM_FAULT_HUGE_H
#define MM_FAULT_HUGE_H

#include "mm/fault/wire.h"
#include "mm/space/space.h"

/* Registers the option huge=, which kettle_control changes too. Once. */
void huge_init(void);

/* space->lock is held; nothing is mapped at PAGE, which is in AREA, on any kernel, and nobody is about to change that:
 * the 2 MiB around it may be one large page. */
bool huge_wanted_locked(const struct space *space, const struct area *area, uint64_t page);

/* Maps the 2 MiB around PAGE as one large page filled with zeros, if they still are wanted for ACCESS (AREA_*) then.
 * False: there is no such frame, or the page is to be looked at again. Tasks only; takes messages. */
bool huge_map(struct space *space, uint64_t page, uint32_t access);

/* 2 MiB of zeros, each frame of which one space has; 0: there are none. Tasks only; takes messages. */
uint64_t huge_block(void);
/* Gives back the frames of BLOCK but KEEP, which may be 0. */
void huge_block_release(uint64_t block, uint64_t keep);

/* space->lock is held, for the rest: those of questions and answers of mm/fault/get.c.
 *
 * The asker has nothing in PAGE's table, and may be answered for all of it. */
bool huge_may_take_locked(const struct space *space, uint64_t page, const uint64_t *leaf);
/* The home, which wants a large page there: SPACE_WANTS_BLOCK; SPACE_TAKEN_BLOCK, and the asker's is mapped;
 * SPACE_AREA: there is no memory for it. */
uint16_t huge_answer_locked(struct space *space, const struct area *area, const struct msg_space_get *ask);
/* The asker: the 2 MiB around PAGE have BLOCK, which is ours to hold. */
void huge_hold_block_locked(struct space *space, uint64_t page, uint64_t block, uint32_t prot);
/* 512 entries around PAGE have come: one large page, if that is allowed. */
void huge_show_locked(struct space *space, uint64_t page, uint32_t prot);

#endif
