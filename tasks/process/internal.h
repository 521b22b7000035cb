/* What the files about processes share. */
#ifndef TASKS_PROCESS_INTERNAL_H
#define TASKS_PROCESS_INTERNAL_H

#include "msg/message.h"
#include "tasks/process/process.h"

/* PROCESS_CHILD_EVENT: which child, what (CLD_*), its status. */
#define CHILD_EVENT(id, code, status) ((uint64_t)(id) | (uint64_t)(code) << 32 | (uint64_t)((status)&0xffffu) << 40)
#define CHILD_ENDED(id, status) CHILD_EVENT(id, ((status)&0x7fu) != 0 ? CLD_KILLED : CLD_EXITED, status)
#define CHILD_CANCELLED 255u /* it was never started */
#define CLOCK_TICK_NS 10000000u

/* Does CALL on GROUP, whose home this kernel is. Any context without locks. */
int64_t process_operate(struct group *group, const struct msg_process_call *call, struct msg_process_result *result);
/* As process_call, but nobody waits for the answer. Any context without locks. */
void process_tell(const struct msg_process_call *call);

void process_set_init(void);

/* May a sender of effective user EUID, real user UID and SESSION send SIGNAL to PROCESS? Its lock is held. */
bool process_may_signal_locked(const struct process *process, uint32_t euid, uint32_t uid, uint32_t signal,
                               uint32_t session);
/* PROCESS_SET_IDS, PROCESS_MAY_SIGNAL, PROCESS_MAY_REACH */
int64_t process_set_ids(struct group *group, const struct msg_process_call *call);
int64_t process_may_signal(struct group *group, const struct msg_process_call *call);
int64_t process_may_reach(struct group *group, const struct msg_process_call *call);

/* Operations on GROUP, whose home this kernel is, each in one step: see enum process_operation. */
int64_t children_wait(struct group *group, const struct msg_process_call *call, struct msg_process_result *result);
int64_t children_event(struct group *group, const struct msg_process_call *call, struct msg_process_result *result);
int64_t children_adopt(struct group *group, const struct msg_process_call *call, struct msg_process_result *result);
int64_t children_set_group(struct group *group, const struct msg_process_call *call);
int64_t process_take_signal(struct group *group, const struct msg_process_call *call,
                            struct msg_process_result *result);
int64_t process_take_action(struct group *group, uint64_t signal, struct msg_process_result *result);
int64_t process_set_action(struct group *group, const struct msg_process_call *call, struct msg_process_result *result);
int64_t process_signal(struct group *group, const struct msg_process_call *call);
int64_t alarm_operate(struct group *group, const struct msg_process_call *call, struct msg_process_result *result);

/* PROCESS_BEGIN, answered by the home of the parent. */
void children_handle_begin(const struct msg *m);
/* Every child that GROUP, which is over, has left belongs to the nearest reaper above it, or to init. In a task; waits.
 */
void children_give_away(struct group *group);
/* The process's timer has come to its end; and: it is over. */
void alarm_fire(struct timer *timer);
void alarm_end(struct group *group);

#endif
