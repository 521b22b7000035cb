/* Zero-copy data of an operation on a file of another kernel: the bytes stay in the caller's memory and the request
 * carries their physical address. The file's kernel opens them (msg/lend.h) while it handles the request; the answer
 * ends its access. See kernel/file/files.md. */
#ifndef KERNEL_FILE_ZERO_COPY_H
#define KERNEL_FILE_ZERO_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZERO_COPY_MIN                                                                                                  \
    512u /* bytes: if a task has to do the operation, smaller data is copied together with the request */

/* The zero-copy data of one request, on the caller's side, until the answer has come. */
struct zero_copy {
    uint32_t how;     /* FILE_ZERO_COPY_*; 0: data and result data are sent */
    uint32_t size;    /* bytes */
    uint64_t address; /* physical */
    void *memory;     /* heap: a copy of memory that peers cannot map, such as a stack; or NULL */
    bool sent;        /* the result data, if any, have come with the answer */
    bool sure;        /* the request must not fail for lack of memory */
};

/* Makes SIZE bytes of DATA, or ROOM bytes at RESULT, zero-copy for an operation that has either data or a result, not
 * both. Does nothing if the bytes fit into a slot, or if peers cannot map the memory and it has ZERO_COPY_MIN bytes or
 * more. */
void zero_copy_begin(struct zero_copy *zero_copy, const void *data, size_t size, void *result, size_t room);
/* After the answer to a request with `memory`: copies COUNT bytes of result data from there to RESULT, and frees it. */
void zero_copy_end(struct zero_copy *zero_copy, void *result, size_t count);

#endif
