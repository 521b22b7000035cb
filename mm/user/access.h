/* Access to the memory of a space that need not be loaded on this CPU. */
#ifndef MM_USER_ACCESS_H
#define MM_USER_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/space.h"

/* Copies SIZE bytes at ADDRESS of SPACE to BYTES; with WRITE, from BYTES to ADDRESS, if the program itself may write
 * there. SPACE is the current program's, or the caller keeps it from ending. Returns how many bytes were copied, or
 * -EFAULT if none. Tasks only: waits for pages. */
int64_t space_access(struct space *space, uint64_t address, void *bytes, uint64_t size, bool write);

/* Atomically replaces the word at ADDRESS of SPACE, a multiple of four, by VALUE if it is *EXPECTED. 0; -EAGAIN: it is
 * not, and is in *EXPECTED; -EFAULT. As space_access otherwise. */
int space_swap(struct space *space, uint64_t address, uint32_t *expected, uint32_t value);

#endif
