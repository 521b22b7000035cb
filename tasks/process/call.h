/* Operations on a process wherever its home is: every kernel asks by process_call, and the home does each in one step.
 * They are the rows PROCESS_PARENT to PROCESS_LIMIT of msg/messages.def, and what they take and give is in wire.h.
 * tasks/process/process.md has the protocol. */
#ifndef TASKS_PROCESS_CALL_H
#define TASKS_PROCESS_CALL_H

#include "tasks/process/operation.h"
#include "tasks/process/wire.h"

#define PROCESS_UMASK_ASK 01000u
#define PROCESS_LIMIT_SET 1u
#define PROCESS_LIMIT_LOWER 2u /* the same for who is not root: EPERM if the hard limit rises */

/* Kernel that the process, or the thread, ID is known at; KERNELS_MAX: nobody can know it. */
uint32_t process_home(uint32_t id);

/* Does CALL to the process CALL->id. Its value, or -ESRCH: there is no such process, or -ENOMEM. Tasks only; waits for
 * the home's answer, which comes at once. */
int64_t process_call(const struct msg_process_call *call, struct msg_process_result *result);
/* The same for an operation that must not be lost: as remote_call with SURE. */
int64_t process_call_surely(const struct msg_process_call *call, struct msg_process_result *result);
/* As process_call, but nobody waits for the answer. -ENOMEM: the home is another kernel and is not told. Any context
 * without locks. */
int process_tell(const struct msg_process_call *call);

#define PROCESS_FIRST MSG_PROCESS_PARENT
#define PROCESS_OPERATIONS (MSG_PROCESS_LIMIT + 1 - PROCESS_FIRST)
/* By type, from PROCESS_FIRST on; filled in by tasks (tasks/operations.c), as the operations are those of many rooms.
 */
extern process_operation *const process_operations[PROCESS_OPERATIONS];

void process_call_init(void);

#endif
