/* What the files about processes share. */
#ifndef TASKS_PROCESS_INTERNAL_H
#define TASKS_PROCESS_INTERNAL_H

#include "tasks/process.h"

/* PROCESS_CHILD_EVENT: which child, what (CLD_*), its status. */
#define CHILD_EVENT(id, code, status) ((uint64_t)(id) | (uint64_t)(code) << 32 | (uint64_t)((status)&0xffffu) << 40)
#define CHILD_CANCELLED 255u /* it was never started */
#define CLOCK_TICK_NS 10000000u

/* Does CALL on GROUP, whose home this kernel is. Any context without locks. */
int64_t process_operate(struct group *group, const struct msg_process_call *call, struct msg_process_result *result);
/* As process_call, but nobody waits for the answer. Any context without locks. */
void process_tell(const struct msg_process_call *call);

void process_set_init(void);

#endif
