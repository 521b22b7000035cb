/* Reads of other kernels that find nothing to read, and are kept until the file's next event: then the read is done and
 * answered with its bytes, or, if these may not fit, with FILE_READY. kernel/file/files.md has the protocol. */
#ifndef KERNEL_FILE_KEPT_READ_H
#define KERNEL_FILE_KEPT_READ_H

#include <stdint.h>

#include "kernel/file/wire.h"
#include "tasks/remote/operation.h"

/* REQUEST is a FILE_READ with FILE_KEEP that was answered -EAGAIN, in ANSWER, for a file that is open here; a handler
 * serves it. Keeps it and returns true. False: the answer is to be sent, in which FILE_READY is set if the file has
 * counted an event meanwhile; the file's kind does not simply wait for its next event; or there is no memory. */
bool kept_read_begin(const struct remote_request *request, struct file_answer *answer);

#endif
