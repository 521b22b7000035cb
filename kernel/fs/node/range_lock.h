/* Locks on ranges of a file, as fcntl's and flock's: which are there, and what one more does to them. Free of hardware;
 * the caller holds the lock that protects the list. Nothing waits. */
#ifndef KERNEL_FS_NODE_RANGE_LOCK_H
#define KERNEL_FS_NODE_RANGE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/file/lock.h"
#include "kernel/lib/list.h"

#define LOCK_LAST UINT64_MAX /* a range that goes on to the end of all files */

struct range_lock {
    struct list node;
    uint64_t start, last; /* bytes, both in it */
    uint32_t kind;        /* enum lock_kind */
    uint32_t type;        /* enum lock_type */
    uint64_t owner;       /* the process, or the open file */
    uint64_t file;        /* the open file by way of which it came */
    uint32_t process;     /* who asked for it */
};

/* The first lock of LOCKS that WANTED has to wait for, or NULL. */
const struct range_lock *range_lock_conflict(const struct list *locks, const struct range_lock *wanted);
/* WANTED's owner has that from now on, in place of what it had in the range; LOCK_NONE: nothing. -ENOMEM: unchanged.
 * *LESS: somebody else may get a lock now. */
int range_lock_set(struct list *locks, const struct range_lock *wanted, bool *less);
/* Takes away all of LOCKS that MATCHES says. True: there was one. */
bool range_lock_drop(struct list *locks, bool (*matches)(const struct range_lock *lock, const void *context),
                     const void *context);

#endif
