/* The children of a process, at its home: how they are made, the events that they report, waiting for them.
 * tasks/process/process.md has the protocol. */
#ifndef TASKS_FAMILY_CHILDREN_H
#define TASKS_FAMILY_CHILDREN_H

#include "tasks/process/process.h"

/* Which children PROCESS_WAIT means: the upper half of its selector; the lower is the id (0 with SELECT_GROUP: the
 * caller's own process group). Its options are those of waitid. */
enum process_select { SELECT_ANY, SELECT_PROCESS, SELECT_GROUP };
#define WAIT_NO_HANG 1u
#define WAIT_STOPPED 2u
#define WAIT_EXITED 4u
#define WAIT_CONTINUED 8u
#define WAIT_NO_REAP 0x01000000u
#define WAIT_NO_THREAD 0x20000000u
#define WAIT_ALL 0x40000000u
#define WAIT_CLONE 0x80000000u

/* Registers CHILD with PARENT, of any home, which is asked; *STATE is what the child inherits. -EAGAIN: the parent is
 * ending; -ENOMEM. Tasks only. */
int process_begin_child(uint32_t parent, uint32_t child, uint32_t exit_signal, struct msg_process_state *state);
/* The same for a child of SIBLING's parent (CLONE_PARENT) that inherits all, also its exit signal, from SIBLING. */
int process_begin_sibling(uint32_t sibling, uint32_t child, struct msg_process_state *state);
/* Undoes process_begin_child: the child is not going to exist. */
void process_cancel_child(uint32_t parent, uint32_t child);

/* PROCESS_WAIT, PROCESS_CHILD_EVENT, PROCESS_ADOPT, PROCESS_CHILD_GROUP. */
process_operation children_wait, children_event, children_adopt, children_set_group;
/* The end of process ID with the status and times of END. */
static inline struct child_event child_ended(uint32_t id, const struct msg_process_result *end)
{
    return (struct child_event){.child = id,
                                .code = (end->status & 0x7f) != 0 ? CLD_KILLED : CLD_EXITED,
                                .status = end->status & 0xffff,
                                .user_ns = end->user_ns,
                                .system_ns = end->system_ns};
}
/* Gives every remaining child of GROUP, which has ended, to the nearest reaper above it, or to init. In a task;
 * waits. */
void children_give_away(struct group *group);

void children_init(void);

#endif
