/* Reads and writes over memory that ends within what was asked for: as much is moved as Linux moves. What decides is
 * the kind of file: bytes of regular files and terminals are taken one by one; a pipe's by parts of a page, a stream's
 * by what was sent at once, and the part that does not fit stays there; other things are taken, and lost. */
#ifndef KERNEL_CALLS_FILES_PARTLY_H
#define KERNEL_CALLS_FILES_PARTLY_H

#include <stdint.h>

#include "kernel/file/wire.h"

/* REQUEST, a FILE_READ or FILE_READ_AT of *PART bytes to BUFFER, of which the program has room for GOOD only. *PART
 * becomes how many were asked for. Returns, and ANSWER is, as file_call; -EFAULT. Waits only with WAITS, and for
 * sockets. */
int64_t partly_read(const struct file_request *request, uint64_t *part, uint64_t good, uint8_t *buffer, bool waits,
                    struct file_answer *answer);

/* Of a write to FD (AT: pwrite's offset, or negative) PART bytes are to be in BUFFER, and only the first COUNT are.
 * Returns how many to write; -EFAULT: none, or another error that comes before it. */
int64_t partly_write(int64_t fd, int64_t at, uint8_t *buffer, uint64_t part, uint64_t count);

#endif
