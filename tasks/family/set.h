/* Process groups: one thing done to every process of one, wherever it is at home; and, for tasks/family/session.h, a
 * look at one. */
#ifndef TASKS_FAMILY_SET_H
#define TASKS_FAMILY_SET_H

#include "tasks/family/wire.h"

/* Does OPERATION to every process of process group GROUP (0: every process), but EXCEPT, on every kernel. FOUND: how
 * many there are, and the session of one. Tasks only; waits. */
enum process_group_operation {
    PROCESS_GROUP_FIND,
    PROCESS_GROUP_SIGNAL,
    PROCESS_GROUP_SIGNAL_AS, /* from whom kill(2) holds to permissions: FOUND counts who got it, and its session is not
                               0 if there was one that did not */
    PROCESS_GROUP_LOOK
};
void process_group_call(enum process_group_operation operation, uint32_t group, uint32_t except,
                        const struct signal_info *info, struct msg_process_group_found *found);
/* How many are in GROUP of SESSION, stopped, and children of others in the session (tasks/family/session.h); but
 * EXCEPT. Tasks only; waits. */
void process_group_look(uint32_t group, uint32_t session, uint32_t except, struct msg_process_group_found *found);
/* A signal to a process group from a handler or an interrupt (the terminal). */
void process_group_signal(uint32_t group, uint32_t signal);

void process_set_init(void);

#endif
