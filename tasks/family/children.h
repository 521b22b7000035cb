/* The children of a process, at its home: making them, the events that they report, waiting for them.
 * tasks/process/process.md has the protocol. */
#ifndef TASKS_FAMILY_CHILDREN_H
#define TASKS_FAMILY_CHILDREN_H

#include "tasks/process/process.h"

/* The children that PROCESS_WAIT selects: the upper half of its selector; the lower half is the id (0 with
 * SELECT_GROUP: the caller's own process group). Its options are those of waitid(2). */
enum process_select { SELECT_ANY, SELECT_PROCESS, SELECT_GROUP };
#define WAIT_NO_HANG 1u
#define WAIT_STOPPED 2u
#define WAIT_EXITED 4u
#define WAIT_CONTINUED 8u
#define WAIT_NO_REAP 0x01000000u
#define WAIT_NO_THREAD 0x20000000u
#define WAIT_ALL 0x40000000u
#define WAIT_CLONE 0x80000000u

/* Registers CHILD at the home of PARENT; *STATE is the state that the child inherits. -EAGAIN: the parent is ending;
 * -ENOMEM. Tasks only; waits for that home. */
int process_begin_child(uint32_t parent, uint32_t child, uint32_t exit_signal, struct msg_process_state *state);
/* The same for a child of SIBLING's parent (CLONE_PARENT), which inherits everything, including its exit signal, from
 * SIBLING. If that parent is ending, or is init, the parent is init. */
int process_begin_sibling(uint32_t sibling, uint32_t child, struct msg_process_state *state);
/* Undoes process_begin_child if the child could not be made. Tasks only; waits. */
void process_cancel_child(uint32_t parent, uint32_t child);

/* PROCESS_WAIT, PROCESS_CHILD_EVENT, PROCESS_ADOPT, PROCESS_CHILD_GROUP. */
process_operation children_wait, children_event, children_adopt, children_set_group;
/* Returns the event that reports the end of process ID, with the status and times of END. */
static inline struct child_event child_ended(uint32_t id, const struct msg_process_result *end)
{
    return (struct child_event){.child = id,
                                .code = (end->status & 0x7f) != 0 ? CLD_KILLED : CLD_EXITED,
                                .status = end->status & 0xffff,
                                .uid = end->uid,
                                .user_ns = end->user_ns,
                                .system_ns = end->system_ns};
}
/* Gives every remaining child of GROUP, which has ended, to its nearest ancestor that is a reaper, or to init. In a
 * task; waits. */
void children_give_away(struct group *group);

/* KERNEL has died: the children there of processes at home here have ended, by SIGKILL; the children here of processes
 * there have init as their parent. Tasks only; does not wait. */
void children_lost(uint32_t kernel);

/* LOST have died, and all programs are quiesced: releases the zombies here whose parents have no entry of them any
 * more, as a thread there was about to say REAPED; and forgets the children that a process there was giving to one here
 * and has not told of it. 0; -ENOMEM, -EAGAIN: not all of them. Tasks only; waits for the homes of the parents and of
 * the children; may be repeated. */
int children_lost_waits(kernel_set lost);

void children_init(void);

#endif
