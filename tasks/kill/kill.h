/* Beginning the end of a group or of one of its threads, at the group's home or at the request of another kernel. The
 * end itself is in tasks/exit. tasks/exit/exit.md has the protocol. */
#ifndef TASKS_KILL_KILL_H
#define TASKS_KILL_KILL_H

#include <stdbool.h>
#include <stdint.h>

#include "tasks/process/group.h"

/* Status words in the format of waitpid(2). */
#define EXIT_STATUS(code) (((uint32_t)(code)&0xffu) << 8)
#define EXIT_SIGNAL(signal) ((uint32_t)(signal)&0x7fu)

void kill_init(void);

/* exit_group(2), or death by a fault: the current thread's group ends with STATUS, on every kernel. While another
 * thread of the group is in exec, only the current thread dies, as in Linux. */
_Noreturn void exit_group(uint32_t status);
/* Death by a signal from another process or by the kernel: the same, but the group ends even if another thread is in
 * exec. */
_Noreturn void exit_group_killed(uint32_t status);
/* Ends the group GROUP, whose home this kernel is, with STATUS. Any context without locks. */
void exit_group_other(struct group *group, uint32_t status);
/* The same for a group whose home may be another kernel, which is told. Tasks only; waits. -ENOMEM; or -EHOSTDOWN or
 * -EAGAIN: that kernel has died. */
int exit_group_from(struct group *group, uint32_t status);
/* Waits until this kernel has marked the current thread as dying, and ends it. For threads whose request the home has
 * refused because the group, or every thread of it but one, is ending. The program does not see that error. */
_Noreturn void exit_when_killed(void);

/* Defined by tasks/exit. exit_run ends the group of WORK (group->work), whose home this kernel is; it consumes a
 * reference to the group and may wait. exit_killed ends the current thread, which is dying. */
void exit_run(struct work *work);
_Noreturn void exit_killed(void);

/* For tasks/exit, at the home: begins the end of GROUP with STATUS. While exec is removing the other threads, the end
 * is accepted with KILLED and ignored without it. */
void kill_begin(struct group *group, uint32_t status, bool killed);
/* Makes THREAD check whether it is to die. The group's lock is held. */
void kill_thread_locked(struct thread *thread);
/* The same for every thread of GROUP on this kernel, in parts, without the lock: GROUP is ending, so none is added.
 * Tasks only. */
void kill_threads(struct group *group);
/* The same, also for a handler: kills the first of them itself, and has a worker kill the rest. */
void kill_threads_soon(struct group *group);

#endif
