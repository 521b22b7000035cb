/* Moving a thread to another kernel while it runs (Popcorn thesis 5.6). tasks/migrate/migration.md has the protocol. */
#ifndef TASKS_MIGRATE_MIGRATE_H
#define TASKS_MIGRATE_MIGRATE_H

#include <stdint.h>

#include "tasks/thread/thread.h"

void migrate_init(void);

/* Moves the current thread to KERNEL. On success this returns only when the thread is to go on here after all: because
 * it has come back (1; its frame and context are those it came back with), or because it could not leave: -EINVAL no
 * such kernel; -EAGAIN not started; -ENOMEM no memory there; -EBUSY it uses the memory of its parent (vfork); -ESRCH
 * the group is exiting. 0 when it is on KERNEL already. What it does when it goes back to user mode is in its frame
 * before. Waits for KERNEL. */
int migrate_thread(uint32_t kernel);

/* THREAD, present here, is to go to KERNEL when it next passes the way to user mode. Its group's lock is held. */
void migrate_order_locked(struct thread *thread, uint32_t kernel);
/* Does what was ordered for the current thread; it stays when it cannot leave. */
void migrate_ordered(struct thread *thread);

/* The home has answered that this kernel may host GROUP, or why not: lets in who waits for it, or sends them back. */
struct msg_group_joined;
void migrate_joined(struct group *group, const struct msg_group_joined *joined, int error);

#endif
