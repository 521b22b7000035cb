/* Declarations that the files of mm/move share. */
#ifndef MM_MOVE_INTERNAL_H
#define MM_MOVE_INTERNAL_H

#include <stdint.h>

#include "mm/space/space.h"

/* Sets WORDS to what the space has at each of COUNT pages from START on, which are of one leaf table and locked: a
 * frame with MOVE_* bits, or the bits alone: no frame, or the page of zeros; 0 for pages of the vDSO. -ENOMEM, -EPROTO.
 * Waits. */
int move_find(struct space *space, uint64_t start, uint32_t count, uint64_t *words);
/* Registers the message by which move_find asks. */
void move_find_init(void);

#endif
