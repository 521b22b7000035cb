/* The state of a moving thread: the format in which it leaves and arrives. tasks/migrate/migration.md. */
#ifndef TASKS_MIGRATE_STATE_H
#define TASKS_MIGRATE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "msg/channel.h"
#include "tasks/migrate/wire.h"
#include "tasks/thread/thread.h"

/* The most bytes that the message with THREAD can take. The group's lock is held. */
uint32_t state_bound(const struct thread *thread);
/* Puts the state of THREAD, whose registers are all in its structures, into MESSAGE for KERNEL. The group's lock is
 * held. */
void state_fill(struct thread *thread, uint32_t kernel, struct msg_migrate *message);
/* Bytes of MESSAGE and of the data that follows it. */
uint32_t state_length(const struct msg_migrate *message);
/* Whether M is a complete message whose fields are in range, apart from the packed words. */
bool state_valid(const struct msg *m);
/* Puts the state of MESSAGE into THREAD, which does not run; values that would fault in the kernel are brought into
 * range. 0; -EPROTO, -ENOMEM. */
int state_install(struct thread *thread, const struct msg_migrate *message);

void state_init(void);

#endif
