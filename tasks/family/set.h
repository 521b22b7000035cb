/* Process groups: an operation on every process of a group, wherever the processes are at home; and, for
 * tasks/family/session.h, counting a group's processes. */
#ifndef TASKS_FAMILY_SET_H
#define TASKS_FAMILY_SET_H

#include "tasks/family/wire.h"

/* Performs TYPE (PROCESS_GROUP_FIND, _SIGNAL or _SIGNAL_AS) on every process of process group GROUP (0: every process)
 * except EXCEPT, on every kernel. FOUND: their number, and the session of one of them. For PROCESS_GROUP_SIGNAL_AS,
 * with which kill(2) checks permissions: the number of processes that were sent the signal, and a session that is not 0
 * if some process was not. Tasks only; waits. */
void process_group_call(enum msg_type type, uint32_t group, uint32_t except, const struct signal_info *info,
                        struct msg_process_group_found *found);
/* Counts the processes in GROUP of SESSION, those of them that are stopped, and those whose parent is outside the group
 * in the session (tasks/family/session.h), without EXCEPT. Tasks only; waits. */
void process_group_look(uint32_t group, uint32_t session, uint32_t except, struct msg_process_group_found *found);
/* Sends a signal from the kernel to a process group, from a handler or an interrupt (the terminal). If it cannot be
 * sent now, because programs are quiesced or there is no memory for a message, it is sent later. */
void process_group_signal(uint32_t group, uint32_t signal);
/* Sends a signal to a process later, as there is no memory to ask its home now. */
void process_signal_later(uint32_t process, uint32_t signal);

void process_set_init(void);

#endif
