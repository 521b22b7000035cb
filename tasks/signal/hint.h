/* Telling the members of a process of the signals that are pending at its home, or that it ignores from now on. A
 * member has at most one unanswered GROUP_HINT of each process; what it is to learn meanwhile is merged into the next
 * one, so that the memory for hints does not grow with the number of signals. tasks/signal/signal.md has the
 * protocol. */
#ifndef TASKS_SIGNAL_HINT_H
#define TASKS_SIGNAL_HINT_H

#include <stdbool.h>
#include <stdint.h>

#include "msg/message.h"

struct group;

void hint_init(void);

/* Makes the kernels MEMBERS, but for this one, which is the home of GROUP, check whether a thread there takes SIGNALS
 * that are pending here. BUSY: the busiest such thread is chosen, else the first. Any context without locks; never
 * waits. */
void hint_members(struct group *group, kernel_set members, uint64_t signals, bool busy);
/* Drops SIGNALS, which the process ignores from now on, from the queues of its threads on all other kernels, soon. As
 * above. */
void hint_forget(struct group *group, uint64_t signals);

#endif
