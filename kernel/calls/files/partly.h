/* Reads and writes whose buffer becomes inaccessible before its end: as many bytes are moved as Linux moves. That
 * depends on the kind of file: bytes of regular files and terminals are taken one by one; a pipe gives whole parts of a
 * page and a stream whole packets, and the part that does not fit stays there; from other files the data is taken and
 * lost. */
#ifndef KERNEL_CALLS_FILES_PARTLY_H
#define KERNEL_CALLS_FILES_PARTLY_H

#include <stdint.h>

#include "kernel/file/wire.h"

/* REQUEST, a FILE_READ or FILE_READ_AT of *PART bytes to BUFFER, of which the program has room for GOOD only. *PART
 * becomes the number of bytes asked for. The result and ANSWER are those of file_call; -EFAULT. Waits only with WAITS,
 * and for sockets. */
int64_t partly_read(const struct file_request *request, uint64_t *part, uint64_t good, uint8_t *buffer, bool waits,
                    struct file_answer *answer);

/* For a write of PART bytes to FD (AT: pwrite's offset, or negative) of which only the first COUNT could be copied to
 * BUFFER. Returns how many to write; -EFAULT: none, or another error that takes precedence. */
int64_t partly_write(int64_t fd, int64_t at, uint8_t *buffer, uint64_t part, uint64_t count);

#endif
