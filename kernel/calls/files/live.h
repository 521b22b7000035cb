/* What the caller of a read, a write or a listing does itself, because the file said so (FILE_YOURS):
 * kernel/fs/proc/live.h. ANSWER is the file's. All wait for the process's home. */
#ifndef KERNEL_CALLS_FILES_LIVE_H
#define KERNEL_CALLS_FILES_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/abi/errno.h"
#include "kernel/file/wire.h"

static inline bool live_is(int64_t result, const struct file_answer *answer)
{
    return result == -EAGAIN && (answer->flags & (FILE_YOURS | FILE_MAY_WAIT)) == FILE_YOURS;
}

/* SIZE bytes of the process's memory at AT, or at the offset of FD, which moves on, if that is negative; to or from
 * BUFFER. Returns how many; 0: the process has that memory no more (it ended, or has called exec), or the caller may
 * not look at it any more; -EIO: there is nothing, or the process itself may not do that with it. */
int64_t live_memory(int64_t fd, const struct file_answer *answer, int64_t at, uint8_t *buffer, uint64_t size,
                    bool write);
/* Whole entries, as getdents64 gives them: the process's descriptors as they are now, from FD's offset on, which moves.
 * -EINVAL: no room for one; -ENOENT: there is no such process any more; -ENOMEM. */
int64_t live_entries(int64_t fd, const struct file_answer *answer, uint8_t *buffer, size_t room);

#endif
