/* Process groups: one thing done to every process of one, wherever it is at home; and, for tasks/family/session.h, a
 * look at one. */
#ifndef TASKS_FAMILY_SET_H
#define TASKS_FAMILY_SET_H

#include "tasks/family/wire.h"

/* Does TYPE (PROCESS_GROUP_FIND, _SIGNAL or _SIGNAL_AS) to every process of process group GROUP (0: every process), but
 * EXCEPT, on every kernel. FOUND: how many there are, and the session of one; of PROCESS_GROUP_SIGNAL_AS, by which
 * kill(2) holds to permissions: how many got it, and its session is not 0 if there was one that did not. Tasks only;
 * waits. */
void process_group_call(enum msg_type type, uint32_t group, uint32_t except, const struct signal_info *info,
                        struct msg_process_group_found *found);
/* How many are in GROUP of SESSION, stopped, and children of others in the session (tasks/family/session.h); but
 * EXCEPT. Tasks only; waits. */
void process_group_look(uint32_t group, uint32_t session, uint32_t except, struct msg_process_group_found *found);
/* A signal of the kernel's to a process group, from a handler or an interrupt (the terminal). What cannot be sent now,
 * because programs are quiesced or there is no memory to tell another kernel, is sent later. */
void process_group_signal(uint32_t group, uint32_t signal);
/* The same for a process, later: there is no memory to tell its home. */
void process_signal_later(uint32_t process, uint32_t signal);

void process_set_init(void);

#endif
