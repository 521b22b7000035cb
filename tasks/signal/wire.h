/* Payload of GROUP_HINT; tasks/signal/signal.md has the protocol. */
#ifndef TASKS_SIGNAL_WIRE_H
#define TASKS_SIGNAL_WIRE_H

#include <stdint.h>

enum hint_kind {
    HINT_ANY,    /* the first thread that takes them is chosen */
    HINT_FORGET, /* the process ignores them from now on: drop those that are pending for threads */
    HINT_BUSY    /* the busiest thread that takes them is chosen */
};

struct msg_group_hint { /* GROUP_HINT */
    uint64_t signals;
    uint32_t group;
    uint32_t kind; /* enum hint_kind */
};

#endif
