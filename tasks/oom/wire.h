/* The payload of the answer to OOM_LARGEST. */
#ifndef TASKS_OOM_WIRE_H
#define TASKS_OOM_WIRE_H

#include <stdint.h>

#include "msg/message.h"

#define OOM_LARGEST_MAX 5u

struct msg_oom_largest { /* OOM_LARGEST */
    struct oom_size {
        uint32_t process; /* 0: none */
        uint32_t pages;   /* that it has through this kernel */
    } largest[OOM_LARGEST_MAX];
    uint32_t ending; /* 1: a process that has memory here is about to end */
    uint32_t lacks;  /* 1: the kernel has only its reserve */
};

_Static_assert(sizeof(struct msg_oom_largest) == MSG_SHORT, "one slot");

#endif
