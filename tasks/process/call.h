/* Operations on a process wherever its home is: every kernel asks by process_call, and the home does each in one step.
 * tasks/process/process.md has the protocol. */
#ifndef TASKS_PROCESS_CALL_H
#define TASKS_PROCESS_CALL_H

#include "tasks/process/wire.h"

/* Operations on the process ID, wherever its home is. Results or -ESRCH and what each says. Tasks only; they wait for
 * the home's answer, which comes at once. */
enum process_operation {
    PROCESS_PARENT = 1,  /* -> id */
    PROCESS_GET_GROUP,   /* -> process group */
    PROCESS_GET_SESSION, /* -> session */
    PROCESS_SET_GROUP,   /* a: group, b: caller, c: the group's session or 0 when new: EACCES EPERM */
    PROCESS_SET_SESSION, /* EPERM */
    PROCESS_SIGNAL,      /* info; a: caller's session (for SIGCONT) */
    PROCESS_WAIT,        /* a: selector, b: options: tasks/family/children.h */
    PROCESS_TAKE_SIGNAL, /* a: set of signals that may be taken. -> 1: one was, its info; what is left pending */
    PROCESS_TAKE_ACTION, /* a: signal: its action, reset if SA_RESETHAND */
    PROCESS_SET_ACTION,  /* action, signal, sets: -> the action before */
    PROCESS_STOP,        /* a: signal, b: continues, or 0: the default action of a stop signal */
    PROCESS_RETARGET,    /* a: signals that a thread elsewhere does not take after all */
    PROCESS_PENDING,     /* -> set of signals pending for the group */
    PROCESS_NEW_PARENT,  /* a: the new one, b: the one before. -> 1: it has ended; its status and times */
    PROCESS_CHILD_EVENT, /* a: CHILD_EVENT; end: b: user ns, c: system ns, -> 1: nobody will wait for it; else b: stop
                            round */
    PROCESS_CHILD_GROUP, /* of child a: process group b */
    PROCESS_REAPED,      /* its parent has waited for it. -> used: by it and its children */
    PROCESS_ADD_TIME,    /* a: user ns, b: system ns, of a thread that ended */
    PROCESS_TIMES,       /* -> members, times of children waited for */
    PROCESS_UMASK,       /* a: permission bits, or PROCESS_UMASK_ASK. -> the ones before */
    PROCESS_ALARM,    /* a: ns from now, 0: off, b: interval, c: 1 sets, 0 only asks. -> ns that were left, interval */
    PROCESS_CONTINUE, /* what SIGCONT does at once: sent to one thread */
    /* tasks/timer/process/process_timer.h; a: the timer's id */
    PROCESS_TIMER_CREATE,  /* a: struct timer_facts, b: the signal's value, c: thread that gets it, and (upper half)
                              thread whose time counts. -> id; -EAGAIN */
    PROCESS_TIMER_SET,     /* b: when, 0: never, c: interval. -> what was before */
    PROCESS_TIMER_GET,     /* -> when, interval, what it is */
    PROCESS_TIMER_OVERRUN, /* -> of the signal that was taken last */
    PROCESS_TIMER_TAKEN,   /* b: sequence: a thread has taken its signal. -> overrun, -1: none */
    PROCESS_TIMER_DELETE,
    PROCESS_ATTRIBUTE,  /* a: enum process_attribute, upper half: 1 sets it to b. -> what it was */
    PROCESS_ADOPT,      /* a: orphan, upper half: its process group. 0: it is a child now; EAGAIN: this is no reaper, or
                           ends; -> its parent */
    PROCESS_SET_IDS,    /* ids: of the first thread */
    PROCESS_MAY_REACH,  /* a: real user, upper half: real group of the asker, b: 1: it wants to look inside. EPERM */
    PROCESS_MAY_SIGNAL, /* a: effective user of the sender, upper half: the real one, b: signal, c: its session.
                           EPERM */
    PROCESS_CHILDREN_USED, /* -> used: of children waited for */
    PROCESS_CHILDREN_IO,   /* -> io: the same */
    PROCESS_ENDED_IO,      /* -> io: of a process that has ended, and of its children */
    PROCESS_ADD_USED,      /* used: of a child that was waited for */
    PROCESS_ADD_IO,        /* io: the same */
    PROCESS_LIMIT, /* a: which, upper half: PROCESS_LIMIT_SET sets it, to b (soft) and c (hard). -> what it was. EINVAL
                      EPERM */
};
#define PROCESS_UMASK_ASK 01000u
#define PROCESS_LIMIT_SET 1ull
#define PROCESS_LIMIT_LOWER 2ull /* the same for who is not root: EPERM if the hard limit rises */

/* Words of a PROCESS_CHILD_EVENT: which child, what (CLD_*), its status. */
#define CHILD_EVENT(id, code, status) ((uint64_t)(id) | (uint64_t)(code) << 32 | (uint64_t)((status)&0xffffu) << 40)
#define CHILD_ENDED(id, status) CHILD_EVENT(id, ((status)&0x7fu) != 0 ? CLD_KILLED : CLD_EXITED, status)
#define CHILD_CANCELLED 255u /* it was never started */

/* Kernel that the process, or the thread, ID is known at; KERNELS_MAX: nobody can know it. */
uint32_t process_home(uint32_t id);

int64_t process_call(const struct msg_process_call *call, struct msg_process_result *result);
/* The same for an operation that must not be lost, and that itself needs no memory: waits until there is some to ask.
 */
int64_t process_call_surely(const struct msg_process_call *call, struct msg_process_result *result);
/* As process_call, but nobody waits for the answer. Any context without locks. */
void process_tell(const struct msg_process_call *call);

/* Does CALL on GROUP, whose home this kernel is; filled in by tasks (tasks/operations.c), as the operations are those
 * of many rooms. Any context without locks. */
int64_t process_operate(struct group *group, const struct msg_process_call *call, struct msg_process_result *result);

void process_call_init(void);

#endif
