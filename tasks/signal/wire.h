/* Payload of GROUP_HINT; tasks/signal/signal.md has the protocol. */
#ifndef TASKS_SIGNAL_WIRE_H
#define TASKS_SIGNAL_WIRE_H

#include <stdint.h>

struct msg_group_hint { /* GROUP_HINT */
    uint64_t signals;
    uint32_t group;
    uint32_t forget; /* 1: the process ignores them from now on: drop those that are pending for threads */
};

#endif
