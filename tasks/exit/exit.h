/* The end of threads and of groups, over all kernels. tasks/kill/kill.h begins an end; tasks/exit/exit.md has the
 * protocol. */
#ifndef TASKS_EXIT_EXIT_H
#define TASKS_EXIT_EXIT_H

#include <stdint.h>

#include "tasks/kill/kill.h"

void exit_init(void);

/* exit(2): ends the current thread, and the group with its last thread. */
_Noreturn void exit_thread(uint32_t code);
/* Kills every other thread of the current thread's group on all kernels and removes the group's memory from all other
 * kernels; for exec, at the group's home. Waits for all member kernels. -EAGAIN: the group is ending, or another thread
 * is in exec; the current thread is to die, too. -EINPROGRESS: no other thread is left, and other processes use the
 * memory (vfork); the caller is to let go of all that nobody else knows of, call exit_others_wait, and begin exec
 * again. */
int exit_others(void);
/* Waits until no other process uses the memory, or the current thread is to die. Programs are quiesced meanwhile, and
 * their kernels stopped, as if this thread slept in its program. */
void exit_others_wait(void);
/* Exec that has begun again has failed, and the program has lost its other threads: the group is to end by SIGKILL, as
 * on Linux, or for what it was going to end. */
void exit_others_fail(void);
/* If GROUP uses its parent's memory (vfork), releases this memory and wakes the parent. */
void exit_leave_host(struct group *group);
#endif
