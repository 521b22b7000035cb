/* Telling a group, or one of its threads, to end: how an end begins, at the group's home or asked for from elsewhere.
 * The end itself is tasks/exit's. tasks/exit/exit.md has the protocol. */
#ifndef TASKS_KILL_KILL_H
#define TASKS_KILL_KILL_H

#include <stdbool.h>
#include <stdint.h>

#include "tasks/process/group.h"

/* Status words as waitpid gives them. */
#define EXIT_STATUS(code) (((uint32_t)(code)&0xffu) << 8)
#define EXIT_SIGNAL(signal) ((uint32_t)(signal)&0x7fu)

void kill_init(void);

/* exit_group(2), or death by a fault: the current thread's group ends with STATUS, on every kernel. While another
 * thread of it begins a program (exec), only the current one dies, as in Linux. */
_Noreturn void exit_group(uint32_t status);
/* Death by a signal from outside, or by the kernel: the same, and exec does not win. */
_Noreturn void exit_group_killed(uint32_t status);
/* Ends the group GROUP, whose home this kernel is, with STATUS. Any context without locks. */
void exit_group_other(struct group *group, uint32_t status);
/* The current thread dies, as soon as it has been told: the home has said already that the group is ending, or that all
 * its threads but one are. The program does not see that it was refused something meanwhile. */
_Noreturn void exit_when_killed(void);

/* The end itself, filled in by tasks/exit. Of the group of WORK (group->work), whose home this kernel is, with a
 * reference: may wait. And of the current thread, which is dying. */
void exit_run(struct work *work);
_Noreturn void exit_killed(void);

/* For tasks/exit. Home: GROUP is to end with STATUS, even while exec prunes it if KILLED. */
void kill_begin(struct group *group, uint32_t status, bool killed);
/* THREAD, or every thread of GROUP here, has to look whether it is to die; the group's lock is held. */
void kill_thread_locked(struct thread *thread);
void kill_threads_locked(struct group *group);

#endif
