/* Payloads of GROUP_HINT and SIGNAL_TAKE; tasks/signal/signal.md has the protocol. */
#ifndef TASKS_SIGNAL_WIRE_H
#define TASKS_SIGNAL_WIRE_H

#include <stdint.h>

#include "tasks/signal/queue/queue.h"

struct msg_group_hint { /* GROUP_HINT */
    uint64_t signals;   /* may be pending: threads are chosen for them */
    uint64_t forgets;   /* the process ignores them from now on: drop those that are pending for threads */
    uint32_t group;
    uint32_t busy; /* 1: the busiest threads that take SIGNALS are chosen; 0: the first */
};

struct msg_signal_take { /* SIGNAL_TAKE */
    uint64_t set;        /* signals that may be taken */
    uint32_t group;
    uint32_t pad;
};

struct msg_signal_taken { /* the reply to SIGNAL_TAKE: one slot for all that most signals and actions have */
    uint64_t hint;        /* signals that may still be pending */
    uint64_t handler : 48, signal : 8, taking : 8; /* enum signal_taking; both others with SIGNAL_WITH_ACTION */
    union {
        struct signal_info info; /* SIGNAL_TAKEN */
        struct {                 /* SIGNAL_WITH_ACTION: VALUE and EXTRA of the signal and MASK of the action are 0 */
            uint64_t restorer;
            uint64_t stamp; /* of the action: tasks/signal/action_cache.h; 0: not to be noted */
            uint32_t flags;
            int32_t code;
            uint32_t pid, uid;
        };
    };
};

_Static_assert(sizeof(struct msg_signal_taken) == 48, "one slot");

#endif
