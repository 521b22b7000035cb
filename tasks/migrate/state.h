/* The state of a moving thread: the format of MIGRATE. tasks/migrate/migration.md has the protocol. */
#ifndef TASKS_MIGRATE_STATE_H
#define TASKS_MIGRATE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "msg/channel.h"
#include "tasks/migrate/wire.h"
#include "tasks/thread/thread.h"

/* The maximal size, in bytes, of the MIGRATE message for THREAD. The group's lock is held. */
uint32_t state_bound(const struct thread *thread);
/* Writes the state of THREAD, whose registers have all been saved, into MESSAGE for its move to KERNEL. The group's
 * lock is held. */
void state_fill(struct thread *thread, uint32_t kernel, struct msg_migrate *message);
/* The size of MESSAGE with the data that follows it, in bytes. */
uint32_t state_length(const struct msg_migrate *message);
/* Whether M is a complete message whose fields are in range, apart from the state. */
bool state_valid(const struct msg *m);
/* Installs the state of MESSAGE in THREAD, which does not run. Values that would fault in the kernel are refused or
 * replaced. 0, -EPROTO, -ENOMEM. */
int state_install(struct thread *thread, const struct msg_migrate *message);

void state_init(void);

#endif
