/* Data of an operation on a file of another kernel, which stay in the caller's memory: the caller lends the bytes with
 * its request, the file's kernel reaches them through a window while it handles that, and the answer ends the loan. See
 * kernel/file/files.md. */
#ifndef KERNEL_FILE_ZERO_COPY_H
#define KERNEL_FILE_ZERO_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZERO_COPY_MIN 512u /* bytes: of fewer the file's kernel makes a copy where it keeps the request */

/* Makes the window. Once; panics without memory. */
void zero_copy_init(void);

/* What an asker lends, until the answer has come. */
struct zero_copy {
    uint32_t how;     /* FILE_ZERO_COPY_*, 0: nothing, data and result data are sent */
    uint32_t size;    /* bytes */
    uint64_t address; /* physical */
    void *memory;     /* heap: in place of what cannot be lent, as a stack; or NULL */
    bool sent;        /* the result came with the answer nevertheless */
    bool sure;        /* the request is not to be lost for want of memory */
};

/* Lends SIZE bytes of DATA, or ROOM bytes at RESULT, for an operation that has the one or the other: when they would
 * not fit into a slot, and it is this kernel's memory or less than ZERO_COPY_MIN. */
void zero_copy_begin(struct zero_copy *zero_copy, const void *data, size_t size, void *result, size_t room);
/* Of one with other memory: the answer has come, with COUNT bytes of result data in that, which go to RESULT. */
void zero_copy_end(struct zero_copy *zero_copy, void *result, size_t count);

/* Handlers only, of which one runs at a time: what KERNEL lends, SIZE bytes at physical ADDRESS, to be written only if
 * WRITE; at most one loan until zero_copy_close. NULL: it is not KERNEL's memory, or more than FILE_CHUNK. */
void *zero_copy_open(uint32_t kernel, uint64_t address, size_t size, bool write);
void zero_copy_close(void);

#endif
