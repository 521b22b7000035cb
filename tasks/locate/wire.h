/* Payloads of THREAD_CALL; tasks/migrate/migration.md has the protocol. */
#ifndef TASKS_LOCATE_WIRE_H
#define TASKS_LOCATE_WIRE_H

#include <stdint.h>

#include "msg/message.h"
#include "tasks/signal/queue/queue.h"

struct msg_thread_call { /* THREAD_CALL */
    uint32_t thread;
    uint32_t operation; /* enum thread_operation */
    union {
        uint64_t words[5];
        struct {
            struct signal_info info;
            uint32_t group; /* the thread must be of this one, 0: of any */
            uint32_t pad;
        };
    };
};

struct msg_thread_result {
    int64_t value; /* or a negative errno; THREAD_ELSEWHERE: ask KERNEL */
    uint64_t words[4];
    uint32_t kernel;
    uint32_t group; /* its process */
};

_Static_assert(sizeof(struct msg_thread_call) == MSG_SHORT && sizeof(struct msg_thread_result) == MSG_SHORT,
               "one slot");

#endif
