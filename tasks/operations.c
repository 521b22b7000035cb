/* What a process is asked at its home (tasks/process/call.h): which room does which operation. */
#include "tasks/family/children.h"
#include "tasks/family/end.h"
#include "tasks/family/session.h"
#include "tasks/process/attribute.h"
#include "tasks/process/call.h"
#include "tasks/process/limit.h"
#include "tasks/process/permission.h"
#include "tasks/process/process.h"
#include "tasks/process/stop.h"
#include "tasks/signal/action.h"
#include "tasks/signal/signal.h"
#include "tasks/timer/process/alarm.h"
#include "tasks/timer/process/process_timer.h"

#define ROW(name) [MSG_PROCESS_##name - PROCESS_FIRST]

process_operation *const process_operations[PROCESS_OPERATIONS] = {
    ROW(PARENT) = process_id,
    ROW(GET_GROUP) = process_id,
    ROW(GET_SESSION) = process_id,
    ROW(SET_GROUP) = session_set_group,
    ROW(SET_SESSION) = session_set_leader,
    ROW(SIGNAL) = process_signal,
    ROW(WAIT) = children_wait,
    ROW(TAKE_SIGNAL) = process_take_signal,
    ROW(TAKE_ACTION) = process_take_action,
    ROW(SET_ACTION) = process_set_action,
    ROW(STOP) = stop_begin,
    ROW(RETARGET) = process_retarget,
    ROW(PENDING) = process_pending,
    ROW(NEW_PARENT) = process_new_parent,
    ROW(CHILD_EVENT) = children_event,
    ROW(CHILD_GROUP) = children_set_group,
    ROW(REAPED) = process_reaped,
    ROW(TIMES) = process_times,
    ROW(UMASK) = process_set_umask,
    ROW(ALARM) = alarm_operate,
    ROW(CONTINUE) = stop_end,
    ROW(TIMER_CREATE) = process_timer_create,
    ROW(TIMER_SET) = process_timer_operate,
    ROW(TIMER_GET) = process_timer_operate,
    ROW(TIMER_OVERRUN) = process_timer_operate,
    ROW(TIMER_TAKEN) = process_timer_operate,
    ROW(TIMER_DELETE) = process_timer_operate,
    ROW(ATTRIBUTE) = process_attribute_operate,
    ROW(ADOPT) = children_adopt,
    ROW(SET_IDS) = process_set_ids,
    ROW(MAY_REACH) = process_may_reach,
    ROW(MAY_SIGNAL) = process_may_signal,
    ROW(CHILDREN_USED) = process_account,
    ROW(CHILDREN_IO) = process_account,
    ROW(ENDED_IO) = process_account,
    ROW(ADD_USED) = process_account,
    ROW(ADD_IO) = process_account,
    ROW(LIMIT) = process_limit_operate,
};
