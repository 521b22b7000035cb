/* Data of an operation on a file of another kernel, which stay in the caller's memory: the caller lends the bytes with
 * its request, the file's kernel reaches them through a window while it handles that, and the answer ends the loan. See
 * kernel/fs/files.md. */
#ifndef KERNEL_FS_LENT_H
#define KERNEL_FS_LENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes the window. Once; panics without memory. */
void lent_init(void);

/* True: SIZE bytes at MEMORY can be lent, and that costs less than sending them; their physical address is *ADDRESS.
 * They are the caller's until the answer has come. */
bool lent_find(const void *memory, size_t size, uint64_t *address);

/* Handlers only, of which one runs at a time: what KERNEL lends, SIZE bytes at physical ADDRESS, to be written only if
 * WRITE; at most one loan until lent_close. NULL: it is not KERNEL's memory, or more than FILE_CHUNK. */
void *lent_open(uint32_t kernel, uint64_t address, size_t size, bool write);
void lent_close(void);

#endif
