/* Payload of GROUP_EXIT; tasks/exit/exit.md has the protocol. */
#ifndef TASKS_KILL_WIRE_H
#define TASKS_KILL_WIRE_H

#include <stdint.h>

struct msg_group_exit { /* GROUP_EXIT */
    uint32_t group;
    uint32_t status; /* as waitpid's */
    uint32_t killed; /* not 0: because of a signal from outside or of the kernel; 0: because of the program itself */
    uint32_t unused;
};

#endif
