/* Counts reads and writes of the calling thread as Linux does: each counts, whatever its result, once its descriptor
 * and buffer address were valid. */
#ifndef KERNEL_CALLS_FILES_COUNT_H
#define KERNEL_CALLS_FILES_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/errno.h"
#include "tasks/thread/thread.h"

/* Returns whether the call failed before that point, or continues later and is counted then. */
static inline bool count_not(int64_t result)
{
    if (result >= 0)
        return false;
    if (result == -ERESTARTSYS)
        return (thread_current()->due & THREAD_DUE_SIGNAL) == 0; /* without a signal the call is restarted */
    return result == -EBADF || result == -EFAULT || result == -EINVAL || result == -ESPIPE ||
           result == -ERESTART_RESTARTBLOCK;
}

/* Count vectored calls, whatever their RESULT. */
static inline int64_t count_read_any(int64_t result)
{
    struct account_io *io = &thread_current()->account.io;

    io->reads++;
    if (result > 0)
        io->read_bytes += (uint64_t)result;
    return result;
}

static inline int64_t count_write_any(int64_t result)
{
    struct account_io *io = &thread_current()->account.io;

    io->writes++;
    if (result > 0)
        io->write_bytes += (uint64_t)result;
    return result;
}

static inline int64_t count_read(int64_t result)
{
    return count_not(result) ? result : count_read_any(result);
}

static inline int64_t count_write(int64_t result)
{
    return count_not(result) ? result : count_write_any(result);
}

#endif
