/* The end of threads and of groups, over all kernels. tasks/exit/exit.md has the protocol. */
#ifndef TASKS_EXIT_EXIT_H
#define TASKS_EXIT_EXIT_H

#include <stdint.h>

#include "tasks/process/group.h"

/* Status words as waitpid gives them. */
#define EXIT_STATUS(code) (((uint32_t)(code)&0xffu) << 8)
#define EXIT_SIGNAL(signal) ((uint32_t)(signal)&0x7fu)

void exit_init(void);

/* exit(2): the current thread ends, and with the last one the group. */
_Noreturn void exit_thread(uint32_t code);
/* exit_group(2), or death by a fault: the current thread's group ends with STATUS, on every kernel. While another
 * thread of it begins a program (exec), only the current one dies, as in Linux. */
_Noreturn void exit_group(uint32_t status);
/* Death by a signal from outside, or by the kernel: the same, and exec does not win. */
_Noreturn void exit_group_killed(uint32_t status);
/* The current thread is to be the only one of its group, whose home this kernel is, in the whole machine, and its
 * memory on this kernel alone: every other thread dies. -EAGAIN: the group is ending, or another thread is at it; then
 * the current thread is to die, too. Waits for all member kernels. */
int exit_others(void);
/* The group no longer uses its parent's memory (vfork), if it did: the parent goes on. */
void exit_leave_host(struct group *group);
/* See group_count_down_locked. */
void exit_answer(struct group *group, bool answer);
/* The current thread's group is exiting: the thread dies. */
_Noreturn void exit_killed(void);
/* The same, as soon as it has been told: the home has said already that the group is ending, or that all its threads
 * but one are. The program does not see that it was refused something meanwhile. */
_Noreturn void exit_when_killed(void);
/* Ends the group GROUP, whose home this kernel is, with STATUS. Any context without locks. */
void exit_group_other(struct group *group, uint32_t status);

/* Called by the scheduler when a dead thread's stack is no longer in use. Must not wait. */
void exit_reap(struct thread *thread);

#endif
