/* Arrival of a thread on this kernel, for the first time or back again. tasks/migrate/migration.md has the protocol. */
#ifndef TASKS_MIGRATE_ARRIVE_H
#define TASKS_MIGRATE_ARRIVE_H

#include "tasks/migrate/wire.h"
#include "tasks/thread/group.h"

/* The home has replied (ERROR, and JOINED if that is 0) whether this kernel may host GROUP: starts the waiting threads,
 * or sends them back. */
void migrate_joined(struct group *group, const struct msg_group_joined *joined, int error);

void arrive_init(void);

#endif
