/* Signal actions on kernels that are not the home of the process. A home has counts on its board (msg/channel.h), which
 * all kernels read without a message: the count of a process, which others may share, grows whenever an action of it
 * changes. An action that the home has told is used as long as the count is what it was then. tasks/signal/signal.md
 * has the protocol. */
#ifndef TASKS_SIGNAL_ACTION_CACHE_H
#define TASKS_SIGNAL_ACTION_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "tasks/signal/queue/queue.h"
#include "tasks/thread/group.h"

/* At the home, under the lock under which an action of process ID has changed, or must be asked for again. */
void action_cache_changed(uint32_t id);
/* At the home, under that lock: what the count is now. Not 0. */
uint64_t action_cache_stamp(uint32_t id);

/* Elsewhere: finds the action of SIGNAL, 1 to 64, as it is now. False: the home must be asked. */
bool action_cache_find(struct group *group, uint32_t signal, struct signal_action *action);
/* Elsewhere: whether the actions of all SIGNALS are known as they are now. */
bool action_cache_knows(struct group *group, uint64_t signals);
/* Notes what the home has answered, with its stamp; 0: it is not to be noted. Without memory nothing is noted. */
void action_cache_note(struct group *group, uint32_t signal, const struct signal_action *action, uint64_t stamp);

#endif
