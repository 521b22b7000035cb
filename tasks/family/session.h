/* Sessions and their process groups over all kernels: which groups are orphaned, and what is done to those that become
 * so. A group is orphaned when no process outside it, in its session, is the parent of a process in it: then nobody
 * could continue what a terminal stops. As the parents' homes know their children's groups, one question to all kernels
 * tells. tasks/process/process.md has the protocol. */
#ifndef TASKS_FAMILY_SESSION_H
#define TASKS_FAMILY_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "tasks/process/operation.h"

struct msg_process_group;
struct msg_process_group_found;

/* Process group GROUP of SESSION is orphaned. Tasks only; asks all kernels. */
bool session_is_orphaned(uint32_t group, uint32_t session);
/* Something has ended that may have been what kept GROUP of SESSION from being orphaned: if it is now, and a process of
 * it is stopped, all of it get SIGHUP and SIGCONT. EXCEPT: a process that is as good as gone. Tasks only; asks all. */
void session_look_after(uint32_t group, uint32_t session, uint32_t except);
/* SIGNAL of the kernel for process ID, of any home. Any context without locks. */
void session_signal_process(uint32_t id, uint32_t signal);

/* Adds to FOUND what GROUP, with a process, is to the group that was ASKED for: PROCESS_GROUP_LOOK. */
void session_look(struct group *group, const struct msg_process_group *asked, struct msg_process_group_found *found);

/* PROCESS_SET_GROUP, PROCESS_SET_SESSION. */
process_operation session_set_group, session_set_leader;

#endif
