/* Arriving: a thread comes to this kernel, for the first time or back. tasks/migrate/migration.md has the protocol. */
#ifndef TASKS_MIGRATE_ARRIVE_H
#define TASKS_MIGRATE_ARRIVE_H

#include "tasks/migrate/wire.h"
#include "tasks/thread/group.h"

/* The home has answered that this kernel may host GROUP, or why not: lets in who waits for it, or sends them back. */
void migrate_joined(struct group *group, const struct msg_group_joined *joined, int error);

void arrive_init(void);

#endif
