/* Moving a thread to another kernel while it runs (Popcorn thesis 5.6). tasks/migration.md has the protocol. */
#ifndef TASKS_MIGRATE_H
#define TASKS_MIGRATE_H

#include <stdint.h>

void migrate_init(void);

/* Moves the current thread to KERNEL: on success it goes on there in user mode with 0 in rax, and this call returns
 * here never, or when the thread has come back: then its frame already holds the state it came back with, and the
 * result is 1. Errors, with the thread still here: -EINVAL no such kernel; -EAGAIN not started; -ENOMEM no memory
 * there; -ESRCH the group is exiting. 0 when it is on KERNEL already. Waits for the home and for KERNEL. */
int migrate_thread(int64_t kernel);

#endif
