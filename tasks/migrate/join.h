/* Becoming a member of a group: its first thread has arrived here, and the home has to agree before the thread runs.
 * tasks/migrate/migration.md has the protocol. */
#ifndef TASKS_MIGRATE_JOIN_H
#define TASKS_MIGRATE_JOIN_H

#include "tasks/process/group.h"

void join_init(void);
/* Asks the home of GROUP, which is joining. Called by a handler; migrate_joined gets the reply. */
void join_ask(struct group *group);
/* Removes GROUP, which was made for a thread that could not be taken in. */
void join_undo(struct group *group);

#endif
