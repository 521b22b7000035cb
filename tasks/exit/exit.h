/* The end of threads and of groups, over all kernels. tasks/kill/kill.h is how one begins; tasks/exit/exit.md has the
 * protocol. */
#ifndef TASKS_EXIT_EXIT_H
#define TASKS_EXIT_EXIT_H

#include <stdint.h>

#include "tasks/kill/kill.h"

void exit_init(void);

/* exit(2): the current thread ends, and with the last one the group. */
_Noreturn void exit_thread(uint32_t code);
/* The current thread is to be the only one of its group, whose home this kernel is, in the whole machine, and its
 * memory on this kernel alone: every other thread dies. -EAGAIN: the group is ending, or another thread is at it; then
 * the current thread is to die, too. Waits for all member kernels. */
int exit_others(void);
/* The group no longer uses its parent's memory (vfork), if it did: the parent goes on. */
void exit_leave_host(struct group *group);
#endif
