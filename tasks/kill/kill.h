/* Beginning the end of a group or of one of its threads, at the group's home or at the request of another kernel. The
 * end itself is in tasks/exit. tasks/exit/exit.md has the protocol. */
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
 * thread of the group is in exec, only the current thread dies, as in Linux. */
_Noreturn void exit_group(uint32_t status);
/* Death by a signal from outside, or by the kernel: the same, but the group ends even if another thread is in exec. */
_Noreturn void exit_group_killed(uint32_t status);
/* Ends the group GROUP, whose home this kernel is, with STATUS. Any context without locks. */
void exit_group_other(struct group *group, uint32_t status);
/* The current thread dies as soon as the order to die has arrived: the home has already said that the group, or every
 * thread of it but one, is ending. The program does not see the error that the home returned. */
_Noreturn void exit_when_killed(void);

/* The ends themselves, defined by tasks/exit: that of the group of WORK (group->work), whose home this kernel is, with
 * a reference, which may wait; and that of the current thread, which is dying. */
void exit_run(struct work *work);
_Noreturn void exit_killed(void);

/* For tasks/exit, at the home: GROUP is to end with STATUS. With KILLED the end is honoured even while exec is removing
 * the other threads; without it, it is ignored then. */
void kill_begin(struct group *group, uint32_t status, bool killed);
/* Makes THREAD, or every thread of GROUP here, check whether it is to die; the group's lock is held. */
void kill_thread_locked(struct thread *thread);
void kill_threads_locked(struct group *group);

#endif
