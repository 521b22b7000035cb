/* Payloads of PROCESS_BEGIN, whose reply is a struct msg_process_state, and of PROCESS_GROUP_...;
 * tasks/process/process.md has the protocol. */
#ifndef TASKS_FAMILY_WIRE_H
#define TASKS_FAMILY_WIRE_H

#include <stdint.h>

#include "msg/message.h"
#include "tasks/process/wire.h"

struct msg_process_begin { /* PROCESS_BEGIN */
    uint32_t parent;
    uint32_t child; /* 0: none; only the state is wanted */
    uint32_t exit_signal;
    uint32_t group; /* the child's process group, 0: the parent's */
};

struct msg_process_group { /* PROCESS_GROUP_... */
    uint32_t type;         /* enum msg_type: the type of the message */
    uint32_t group;        /* process group, or 0: every process */
    uint32_t except;       /* process */
    uint32_t session;      /* LOOK: the group's; SIGNAL_AS: the sender's; info.extra is its effective user */
    struct signal_info info;
};

struct msg_process_group_found {
    uint32_t count;   /* matching processes on this kernel */
    uint32_t session; /* of one of them */
    uint32_t stopped; /* LOOK: how many of them are stopped */
    uint32_t parents; /* LOOK: children in the group whose parents, on this kernel, are in its session outside the
                       * group */
};

_Static_assert(sizeof(struct msg_process_group) == MSG_SHORT, "one slot");

#endif
