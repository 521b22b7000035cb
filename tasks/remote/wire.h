/* Payload of WATCH; tasks/remote/watch.md has the protocol. */
#ifndef TASKS_REMOTE_WIRE_H
#define TASKS_REMOTE_WIRE_H

#include <stdint.h>

struct msg_watch { /* WATCH */
    uint64_t id;
    uint64_t seen; /* events */
    uint32_t kind; /* enum watch_kind */
    uint32_t pad;
};

_Static_assert(sizeof(struct msg_watch) == 24, "wire format");

#endif
