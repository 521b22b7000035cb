/* Process groups: performing an operation on every process of a process group, on all kernels; and, for
 * tasks/family/session.h, counting the processes of a group. */
#ifndef TASKS_FAMILY_SET_H
#define TASKS_FAMILY_SET_H

#include "tasks/family/wire.h"

/* Performs TYPE (PROCESS_GROUP_FIND, _SIGNAL or _SIGNAL_AS) on every process of process group GROUP (0: every process)
 * except EXCEPT, on every kernel. FOUND: their number, and the session of one of them. For PROCESS_GROUP_SIGNAL_AS,
 * with which kill(2) checks permissions: the number of processes that were sent the signal, and a nonzero session if
 * permission was refused for some process. Tasks only; waits. */
void process_group_call(enum msg_type type, uint32_t group, uint32_t except, const struct signal_info *info,
                        struct msg_process_group_found *found);
/* Counts the processes in GROUP of SESSION, how many of them are stopped, and how many have a parent in the session
 * outside the group (tasks/family/session.h); EXCEPT is not counted. Tasks only; waits. */
void process_group_look(uint32_t group, uint32_t session, uint32_t except, struct msg_process_group_found *found);
/* Sends a signal from the kernel to a process group. For handlers and interrupts (the terminal); does not wait. A task
 * sends it later if programs are quiesced or there is no memory for a message. */
void process_group_signal(uint32_t group, uint32_t signal);
/* A kernel has died, and with it a process that may have kept process group GROUP of SESSION from being orphaned: has a
 * task do session_look_after when the death is cleaned up. Any context without locks. */
void process_look_later(uint32_t group, uint32_t session);
/* Has a task send a signal to a process, because there is no memory to ask its home now. */
void process_signal_later(uint32_t process, uint32_t signal);
/* Whether there is something that a task is to send later. */
bool process_later_waits(void);

void process_set_init(void);

#endif
