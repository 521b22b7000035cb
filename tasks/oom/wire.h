/* The payloads of OOM_LARGEST. */
#ifndef TASKS_OOM_WIRE_H
#define TASKS_OOM_WIRE_H

#include <stdint.h>

#include "msg/message.h"

#define OOM_LARGEST_MAX 5u

struct msg_oom_look {
    uint64_t place; /* of the table of groups, from which on the receiver looks at some (tasks/thread/group.h) */
};

struct msg_oom_largest { /* the answer: of the groups that have been looked at */
    struct oom_size {
        uint32_t process; /* 0: none */
        uint32_t pages;   /* that it has through this kernel */
    } largest[OOM_LARGEST_MAX];
    uint64_t next : 62;  /* the place where the next look goes on; 0: there are no more groups */
    uint64_t ending : 1; /* a process that has memory here is about to end */
    uint64_t lacks : 1;  /* the kernel has only its reserve */
};

_Static_assert(sizeof(struct msg_oom_largest) == MSG_SHORT, "one slot");

#endif
