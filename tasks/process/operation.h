/* The form of an operation on a process: each room does some of those that msg/messages.def lists, and
 * tasks/operations.c says which. */
#ifndef TASKS_PROCESS_OPERATION_H
#define TASKS_PROCESS_OPERATION_H

#include <stdint.h>

struct group;
struct msg_process_call;
struct msg_process_result;

/* Does CALL on GROUP, whose home this kernel is. Its value; RESULT, all zero before, has what else is answered. Any
 * context without locks; never waits. */
typedef int64_t process_operation(struct group *group, const struct msg_process_call *call,
                                  struct msg_process_result *result);

#endif
