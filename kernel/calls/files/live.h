/* Reads, writes and listings that the caller performs itself because the file answered FILE_YOURS:
 * kernel/fs/proc/live.h. ANSWER is the file's answer. All wait for the process's home. */
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

/* With FILE_YOURS_WEIGHT: sets a node's weight to the text in BUFFER; errors as sys_set_weight. Else
 * copies SIZE bytes between BUFFER and the process's memory at AT or, if AT is negative, at the offset of FD, which
 * advances. Returns how many; 0: the process no longer has that memory (it ended, or has called exec), or the caller
 * may not access it any more; -EIO: nothing is mapped there, or the process itself has no such access. */
int64_t live_memory(int64_t fd, const struct file_answer *answer, int64_t at, uint8_t *buffer, uint64_t size,
                    bool write);
/* Writes whole entries, as getdents64 does, for the process's current descriptors, from FD's offset on, which advances.
 * Returns the bytes written. -EINVAL: no room for one entry; -ENOENT: the process no longer exists; -ENOMEM. */
int64_t live_entries(int64_t fd, const struct file_answer *answer, uint8_t *buffer, size_t room);

#endif
