/* Moving a thread to another kernel while it runs (Popcorn thesis 5.6). tasks/migrate/migration.md has the protocol. */
#ifndef TASKS_MIGRATE_MIGRATE_H
#define TASKS_MIGRATE_MIGRATE_H

#include <stdint.h>

#include "tasks/sched/due.h"

void migrate_init(void);

/* Moves the current thread to KERNEL, where it continues in user mode with its frame, which the caller must have
 * completed before. Waits for KERNEL. Returns 0 if KERNEL is this kernel, and otherwise only when the thread continues
 * here: 1: it has come back, with its current frame and context. A negative errno: it could not leave. -EINVAL: no such
 * kernel; -EAGAIN: KERNEL has not started; -ENOMEM: no memory, here or there; -EBUSY: the thread uses the memory of its
 * parent (vfork). */
int migrate_thread(uint32_t kernel);

/* Performs the move that was ordered for the current thread; the thread stays if it cannot leave. */
void migrate_ordered(struct thread *thread);

#endif
