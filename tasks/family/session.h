/* Sessions and their process groups on all kernels: which groups are orphaned, and the signals to groups that become
 * orphaned. A group is orphaned if no process of its session outside the group is the parent of a process in it: then
 * no process could continue processes that a terminal stops. The homes of the parents know their children's groups, so
 * one request to all kernels decides this. tasks/process/process.md has the protocol. */
#ifndef TASKS_FAMILY_SESSION_H
#define TASKS_FAMILY_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "tasks/process/operation.h"

struct msg_process_group;
struct msg_process_group_found;

/* Whether process group GROUP of SESSION is orphaned. Tasks only; waits for all kernels. */
bool session_is_orphaned(uint32_t group, uint32_t session);
/* To be called when a process has ended that may have kept GROUP of SESSION from being orphaned: if the group is
 * orphaned now, and a process of it is stopped, all its processes get SIGHUP and SIGCONT. EXCEPT is a process that is
 * not counted, because it is ending. Tasks only; waits for all kernels. */
void session_look_after(uint32_t group, uint32_t session, uint32_t except);
/* Sends SIGNAL from the kernel to process ID, of any home. Any context without locks. */
void session_signal_process(uint32_t id, uint32_t signal);

/* Serves PROCESS_GROUP_LOOK for one GROUP that has a process: adds to FOUND its part in the process group that ASKED
 * names. A task looks at many children in slices. */
void session_look(struct group *group, const struct msg_process_group *asked, struct msg_process_group_found *found);

/* PROCESS_SET_GROUP, PROCESS_SET_SESSION. */
process_operation session_set_group, session_set_leader;

#endif
