/* Large pages of programs: 2 MiB of an area that get one block of frames. See mm/fault/huge.md. */
#ifndef MM_FAULT_HUGE_H
#define MM_FAULT_HUGE_H

#include "mm/fault/wire.h"
#include "mm/space/space.h"

/* Registers the option huge=, which kettle_control changes too. Once. */
void huge_init(void);

/* True when the 2 MiB around PAGE may become one large page for ACCESS (AREA_*). PAGE lies in AREA and is mapped on no
 * kernel, and no operation under way can change that. */
bool huge_wanted_locked(const struct space *space, const struct area *area, uint64_t page, uint32_t access);

/* Maps the 2 MiB around PAGE, in an area with PROT, as one zeroed large page, if that is still wanted, for ACCESS
 * (AREA_*), when the block has been zeroed. False: there is no block, or the caller has to resolve the fault again.
 * Tasks only; polls for messages; waits for other kernels if the mempolicy wants their memory. */
bool huge_map(struct space *space, uint64_t page, uint32_t prot, uint32_t access);

/* Allocates a zeroed block of 2 MiB for the page around PAGE, in an area with PROT, by the mempolicy, of this kernel or
 * another one. Each frame has one reference. 0: there is none. As huge_map. */
uint64_t huge_block(struct space *space, uint32_t prot, uint64_t page);
/* Drops the reference to each frame of BLOCK except KEEP, which may be 0. Tasks only; may wait for its owner. */
void huge_block_release(uint64_t block, uint64_t keep);

/* --- for the fast path (mm/fault/get.c, mm/fault/answer.c) --- */

/* The asker: true when this kernel has no entry in LEAF, the table of a page or NULL, and the answer may be for all of
 * it. AREA: that of the page, or NULL: not known here. */
bool huge_may_take(const struct area *area, uint64_t page, const uint64_t *leaf);
/* The home, when a large page is wanted: SPACE_WANTS_BLOCK; SPACE_TAKEN_BLOCK: the asker's block is mapped here;
 * SPACE_AREA: ASK's block is not usable, or there is no memory for the table. */
uint16_t huge_answer_locked(struct space *space, const struct area *area, const struct msg_space_get *ask);
/* The asker: maps BLOCK around PAGE by owning entries. */
void huge_hold_block_locked(struct space *space, uint64_t page, uint64_t block, uint32_t prot);
/* Makes the 512 entries around PAGE one large page, if that is allowed and they are those of a block. */
void huge_show_locked(struct space *space, uint64_t page, uint32_t prot);

#endif
