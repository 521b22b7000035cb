/* The end of threads and of groups, over all kernels. An end is begun by tasks/kill/kill.h; tasks/exit/exit.md has the
 * protocol. */
#ifndef TASKS_EXIT_EXIT_H
#define TASKS_EXIT_EXIT_H

#include <stdint.h>

#include "tasks/kill/kill.h"

void exit_init(void);

/* exit(2): the current thread ends, and with the last one the group. */
_Noreturn void exit_thread(uint32_t code);
/* Kills every other thread of the current thread's group, whose home this kernel is, in the whole machine, and leaves
 * its memory on this kernel alone. -EAGAIN: the group is ending, or another thread is doing the same; then the current
 * thread is to die, too. Waits for all member kernels. */
int exit_others(void);
/* If the group uses its parent's memory (vfork), releases it and lets the parent go on. */
void exit_leave_host(struct group *group);
#endif
