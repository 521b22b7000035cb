/* Becoming a host of a group: the first of its threads has arrived here, and the home has to agree before it runs.
 * tasks/migrate/migration.md has the protocol. */
#ifndef TASKS_MIGRATE_JOIN_H
#define TASKS_MIGRATE_JOIN_H

#include "tasks/process/group.h"

void join_init(void);
/* Asks the home of GROUP, which is joining, in a handler. The answer goes to migrate_joined. */
void join_ask(struct group *group);
/* Removes GROUP, which was made for a thread that could not be taken in. */
void join_undo(struct group *group);

#endif
