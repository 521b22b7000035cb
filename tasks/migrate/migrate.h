/* Moving a thread to another kernel while it runs (Popcorn thesis 5.6). tasks/migrate/migration.md has the protocol. */
#ifndef TASKS_MIGRATE_MIGRATE_H
#define TASKS_MIGRATE_MIGRATE_H

#include <stdint.h>

#include "tasks/sched/due.h"

void migrate_init(void);

/* Moves the current thread to KERNEL. It returns only when the thread goes on here: because it has come back (1; its
 * frame and context are those it came back with), or because it could not leave: -EINVAL no such kernel; -EAGAIN not
 * started; -ENOMEM no memory there; -EBUSY it uses the memory of its parent (vfork); -ESRCH the group is exiting. 0: it
 * is on KERNEL already. The thread continues on KERNEL in user mode with its frame, which the caller must have
 * completed before. Waits for KERNEL. */
int migrate_thread(uint32_t kernel);

/* Performs the move that was ordered for the current thread; the thread stays if it cannot leave. */
void migrate_ordered(struct thread *thread);

#endif
