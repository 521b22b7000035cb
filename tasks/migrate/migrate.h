/* Moving a thread to another kernel while it runs (Popcorn thesis 5.6). tasks/migrate/migration.md has the protocol. */
#ifndef TASKS_MIGRATE_MIGRATE_H
#define TASKS_MIGRATE_MIGRATE_H

#include <stdint.h>

#include "tasks/sched/due.h"

void migrate_init(void);

/* Moves the current thread to KERNEL. On success this returns only when the thread is to go on here after all: because
 * it has come back (1; its frame and context are those it came back with), or because it could not leave: -EINVAL no
 * such kernel; -EAGAIN not started; -ENOMEM no memory there; -EBUSY it uses the memory of its parent (vfork); -ESRCH
 * the group is exiting. 0 when it is on KERNEL already. What it does when it goes back to user mode is in its frame
 * before. Waits for KERNEL. */
int migrate_thread(uint32_t kernel);

/* Does what was ordered for the current thread; it stays when it cannot leave. */
void migrate_ordered(struct thread *thread);

#endif
