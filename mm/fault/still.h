/* Pages that move to other frames while programs read them: what each kernel that maps them does. The mover is in
 * mm/move, whose page has the protocol (mm/move/move.md). */
#ifndef MM_FAULT_STILL_H
#define MM_FAULT_STILL_H

#include <stdint.h>

#include "kernel/abi/limits.h"
#include "mm/fault/wire.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"

/* Perform SPACE_STILL, SPACE_REPLACE and SPACE_WRITABLE on this kernel: of the chosen pages they change the entries
 * that there are, and make none. 0, and from the home for the last two the kernels that may have one of the pages by
 * now (space_still_kernels); -EPROTO: no such range or frames; -EAGAIN, from the first only: a chosen page's entry is
 * pending free, so that no page may move. They allocate nothing. */
int64_t space_apply_still_locked(struct space *space, const struct msg_space_change *change);
int64_t space_apply_replace_locked(struct space *space, const struct msg_space_change *change);
int64_t space_apply_writable_locked(struct space *space, const struct msg_space_change *change);

/* The number of the pages of CHANGE that move. */
static inline uint32_t space_still_count(const struct msg_space_change *change)
{
    return change->length / PAGE_SIZE > SPACE_CHOSEN_MAX ? (uint32_t)(change->length / PAGE_SIZE)
                                                         : kernel_set_count(change->still.chosen);
}

/* A set of kernels without HOME as a number that is not negative, and back. */
static inline int64_t space_still_answer(kernel_set set, uint32_t home)
{
    uint64_t below = (1ull << home) - 1;

    return (int64_t)((set & below) | (set >> 1 & ~below));
}
static inline kernel_set space_still_kernels(int64_t answer, uint32_t home)
{
    uint64_t below = (1ull << home) - 1;

    return ((uint64_t)answer & below) | ((uint64_t)answer & ~below) << 1;
}

/* At the home, asked for PAGE in AREA, which is locked: if the page moves and the asker only reads, GOT becomes
 * SPACE_MOVES. False: the asker has to wait for the lock. */
bool space_still_answer_locked(struct space *space, uint64_t page, const struct area *area,
                               const struct msg_space_get *ask, struct msg_space_got *got);
/* Makes the entry for PAGE that SPACE_MOVES brings. */
uint64_t space_still_entry_locked(struct space *space, uint64_t page, const struct msg_space_got *got);
/* The caller has the lock of PAGE, so that it does not move: a mark that a failed move has left goes. */
void space_still_end_locked(struct space *space, uint64_t page);

#endif
