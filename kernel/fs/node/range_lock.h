/* The set of locks on ranges of a file, as fcntl and flock make them. Free of hardware. The caller holds the lock that
 * protects the list. Nothing waits. */
#ifndef KERNEL_FS_NODE_RANGE_LOCK_H
#define KERNEL_FS_NODE_RANGE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/file/lock.h"
#include "kernel/lib/list.h"

#define LOCK_LAST UINT64_MAX /* `last` of a range without an end */

struct range_lock {
    struct list node;
    uint64_t start, last; /* first and last byte of the range */
    uint32_t kind;        /* enum lock_kind */
    uint32_t type;        /* enum lock_type */
    uint64_t owner;       /* process or open file, by KIND */
    uint64_t file;        /* open file through which the lock was taken */
    uint32_t process;     /* process that took the lock */
    uint32_t uid;         /* the user who has it of QUOTA_LOCKS */
};

/* The first lock of LOCKS, by offset, that conflicts with WANTED, or NULL. */
const struct range_lock *range_lock_conflict(const struct list *locks, const struct range_lock *wanted);
/* Gives WANTED to its owner, in place of what the owner had in that range; LOCK_NONE removes locks. -ENOMEM, or
 * -ENOLCK, as the user has too many: unchanged.
 * *LESS: the owner gave up or downgraded a lock, or a part of one, so another owner may succeed now. */
int range_lock_set(struct list *locks, const struct range_lock *wanted, bool *less);
/* Removes the locks for which MATCHES returns true. Returns true if there was one. */
bool range_lock_drop(struct list *locks, bool (*matches)(const struct range_lock *lock, const void *context),
                     const void *context);

#endif
