/* Operations on a process wherever its home is: any kernel calls process_call, and the home performs each operation in
 * one step. The operations are the rows PROCESS_PARENT to PROCESS_LIMIT of msg/messages.def; their payloads are in
 * wire.h. tasks/process/process.md has the protocol. */
#ifndef TASKS_PROCESS_CALL_H
#define TASKS_PROCESS_CALL_H

#include "tasks/process/operation.h"
#include "tasks/process/wire.h"

#define PROCESS_UMASK_ASK 01000u
#define PROCESS_LIMIT_SET 1u
#define PROCESS_LIMIT_LOWER 2u /* the same for a caller other than root: -EPERM if the hard limit rises */

/* The kernel that has the role in which process or thread ID was born; KERNELS_MAX: there is none. */
uint32_t process_home(uint32_t id);

/* Performs CALL on the process CALL->id. Returns its value; -ESRCH: there is no such process; -ENOMEM. Tasks only;
 * waits for the home's answer, which comes without delay. */
int64_t process_call(const struct msg_process_call *call, struct msg_process_result *result);
/* The same for an operation that must not be lost: it is retried without memory, as remote_call does with SURE. */
int64_t process_call_surely(const struct msg_process_call *call, struct msg_process_result *result);
/* As process_call, but does not wait for the reply. -ENOMEM: the home is another kernel, and the request was not sent.
 * Any context without locks. */
int process_notify(const struct msg_process_call *call);

#define PROCESS_FIRST MSG_PROCESS_PARENT
#define PROCESS_OPERATIONS (MSG_PROCESS_LIMIT + 1 - PROCESS_FIRST)
/* Indexed by type - PROCESS_FIRST. Defined in tasks/operations.c, because many rooms serve the operations. */
extern process_operation *const process_operations[PROCESS_OPERATIONS];

void process_call_init(void);

#endif
