/* Reads and writes whose buffer becomes inaccessible before its end. As many bytes are moved as on Linux, which depends
 * on the kind of file: regular files are read up to the inaccessible byte; a pipe is read in whole parts of a page and
 * a stream in whole packets, and a part that does not fit stays there; other files lose data that does not fit. A write
 * to a regular file uses all accessible bytes, a write to a pipe or a terminal only whole parts, and one to a socket
 * none. */
#ifndef KERNEL_CALLS_FILES_PARTLY_H
#define KERNEL_CALLS_FILES_PARTLY_H

#include <stdint.h>

#include "kernel/file/wire.h"

/* Performs REQUEST, a FILE_READ or FILE_READ_AT of *PART bytes to BUFFER, of which only GOOD can be stored in the
 * program's memory. *PART becomes the number of bytes requested from the file. The result and ANSWER are those of
 * file_call, or -EFAULT. Waits for the file only if it is a socket and WAITS is true. */
int64_t partly_read(const struct file_request *request, uint64_t *part, uint64_t good, uint8_t *buffer, bool waits,
                    struct file_answer *answer);

/* For a write of PART bytes to FD (AT: pwrite's offset, or negative) of which only the first COUNT could be copied to
 * BUFFER. Returns how many bytes to write; -EFAULT: none; or another error that takes precedence. */
int64_t partly_write(int64_t fd, int64_t at, uint8_t *buffer, uint64_t part, uint64_t count);

#endif
