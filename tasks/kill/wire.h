/* Payload of GROUP_EXIT; tasks/exit/exit.md has the protocol. */
#ifndef TASKS_KILL_WIRE_H
#define TASKS_KILL_WIRE_H

#include <stdint.h>

struct msg_group_exit { /* GROUP_EXIT */
    uint32_t group;
    uint32_t status; /* as waitpid's */
    uint32_t killed; /* not 0: by a signal from outside or by the kernel; 0: by what the program itself did */
    uint32_t unused;
};

#endif
