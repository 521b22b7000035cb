/* Helpers shared by the System V calls. */
#ifndef KERNEL_CALLS_IPC_IPC_H
#define KERNEL_CALLS_IPC_IPC_H

#include <stdint.h>

#include "kernel/ipc/sysv/ipc.h"

#define IPC_COMMAND_64 0x100u /* IPC_64: obsolete, but some programs set it */

struct linux_perm {
    int32_t key;
    uint32_t uid, gid, cuid, cgid, mode;
    uint16_t sequence, pad;
    uint64_t unused[2];
};

_Static_assert(sizeof(struct linux_perm) == 48, "Linux ABI");

/* Returns a request for OPERATION on ID by the current thread's process and user. */
struct ipc_call ipc_begin(enum ipc_operation operation, int32_t id);
/* Fills *LINUX_PERM with owner and mode from FACTS. */
void ipc_fill_perm(const struct ipc_facts *facts, struct linux_perm *perm);

#endif
