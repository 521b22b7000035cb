/* The type of the functions that serve operations on a process: each room serves some of those that msg/messages.def
 * lists, and tasks/operations.c has the table. */
#ifndef TASKS_PROCESS_OPERATION_H
#define TASKS_PROCESS_OPERATION_H

#include <stdint.h>

struct group;
struct msg_process_call;
struct msg_process_result;

/* Performs CALL on GROUP, whose home this kernel is. Returns its value; RESULT, all zero before, gets the rest of the
 * answer. Any context without locks; never waits. */
typedef int64_t process_operation(struct group *group, const struct msg_process_call *call,
                                  struct msg_process_result *result);

#endif
