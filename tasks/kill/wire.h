/* Payload of GROUP_EXIT; tasks/exit/exit.md has the protocol. */
#ifndef TASKS_KILL_WIRE_H
#define TASKS_KILL_WIRE_H

#include <stdint.h>

struct msg_group_exit { /* GROUP_EXIT */
    uint32_t group;
    uint32_t status; /* in the format of waitpid(2) */
    uint32_t killed; /* nonzero: ended by a signal from another process or by the kernel; 0: by the program itself */
    uint32_t unused;
};

#endif
