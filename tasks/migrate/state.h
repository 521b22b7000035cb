/* The state of a thread as it travels: one form, in which it leaves and arrives. tasks/migrate/migration.md. */
#ifndef TASKS_MIGRATE_STATE_H
#define TASKS_MIGRATE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "msg/channel.h"
#include "tasks/migrate/wire.h"
#include "tasks/thread/thread.h"

/* The most bytes that the message of THREAD can take. The group's lock is held. */
uint32_t state_bound(const struct thread *thread);
/* Puts THREAD, whose registers are all in its structures, into MESSAGE, for its way to KERNEL. As there. */
void state_fill(struct thread *thread, uint32_t kernel, struct msg_migrate *message);
/* Bytes of MESSAGE and what follows it. */
uint32_t state_length(const struct msg_migrate *message);
/* M is a whole message, in range but for what is packed. */
bool state_valid(const struct msg *m);
/* Puts the state of MESSAGE into THREAD, which does not run; what would fault in the kernel is brought into range. 0;
 * -EPROTO, -ENOMEM. */
int state_install(struct thread *thread, const struct msg_migrate *message);

void state_init(void);

#endif
