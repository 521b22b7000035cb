/* Payloads of the messages about groups and processes that several rooms send or answer. What one room alone does has
 * its payloads there: tasks/kill, signal, family, locate, migrate and remote. */
#ifndef TASKS_PROCESS_WIRE_H
#define TASKS_PROCESS_WIRE_H

#include <stdint.h>

#include "msg/message.h"
#include "tasks/process/attribute.h"
#include "tasks/process/limit.h"
#include "tasks/thread/thread.h"

struct msg_group { /* GROUP_KILL, GROUP_FREE, GROUP_TIME, GROUP_IO */
    uint32_t group;
    uint32_t pad;
};

struct msg_group_killed {        /* the answer to GROUP_KILL, and to GROUP_TIME */
    uint64_t user_ns, system_ns; /* CPU time of its threads there */
    struct account_use use;      /* what they did there */
};

struct msg_group_freed { /* the answer to GROUP_FREE, and to GROUP_IO */
    struct account_io io;
    uint64_t peak; /* pages: the most that kernel had of its memory */
    uint64_t pad;
};

_Static_assert(sizeof(struct msg_group_killed) == MSG_SHORT && sizeof(struct msg_group_freed) == MSG_SHORT,
               "answers of one size, and of one slot");

struct msg_thread { /* THREAD_GONE, THREAD_EXIT, THREAD_NEW */
    uint32_t group;
    uint32_t thread;
    uint32_t status; /* THREAD_EXIT: as waitpid's */
    uint32_t pad;
    uint64_t start_ns; /* THREAD_GONE: when it was made: exec, or time, may have given its id to another */
};

struct msg_group_stop { /* GROUP_STOP */
    uint32_t group;
    uint32_t round;
    uint32_t stopped; /* 1: are quiesced, 0: go on */
    uint32_t pad;
};

/* What a timer of a process is, which PROCESS_TIMER_CREATE takes and PROCESS_TIMER_GET tells. */
struct timer_facts {
    uint8_t kind;   /* enum timer_kind */
    uint8_t notify; /* enum timer_notify */
    uint8_t signal;
    uint8_t names_itself; /* its signal's value is its id */
    int32_t clock;        /* as the program named it */
};

/* What a parent hears of a child: PROCESS_CHILD_EVENT. */
struct child_event {
    uint32_t child;
    uint32_t code;               /* CLD_*, or CHILD_CANCELLED */
    uint32_t status;             /* as waitpid's */
    uint32_t round;              /* of a stop or a continue: news may overtake each other */
    uint64_t user_ns, system_ns; /* of an end: its own and its waited-for children's */
};
#define CHILD_CANCELLED 255u /* it was never started */

struct msg_process_call { /* PROCESS_..., from PROCESS_PARENT to PROCESS_LIMIT */
    uint32_t id;
    uint32_t type; /* enum msg_type, as the message's */
    union {        /* by TYPE, whose name is beside it without PROCESS_ */
        struct {
            uint32_t group, caller;
            uint32_t group_session; /* 0: the group is new */
            uint32_t caller_session;
        } set_group;             /* SET_GROUP */
        struct signal_info info; /* SIGNAL */
        struct {                 /* tasks/family/children.h */
            uint64_t selector, options;
        } wait;           /* WAIT */
        uint64_t signals; /* TAKE_SIGNAL: those that may be taken; RETARGET: those that a thread does not take */
        struct {
            struct signal_action is;
            uint32_t signal;
            uint32_t sets; /* 0: only asks */
        } action;          /* TAKE_ACTION, SET_ACTION */
        struct {
            uint64_t continues; /* how often it had been continued, 0: the default action of a stop signal */
            uint32_t signal;
        } stop; /* STOP */
        struct {
            uint32_t is, was;
        } parent;                 /* NEW_PARENT */
        struct child_event event; /* CHILD_EVENT */
        struct {
            uint32_t id, group;
        } child;        /* CHILD_GROUP, ADOPT */
        uint32_t umask; /* UMASK: permission bits, or PROCESS_UMASK_ASK */
        struct {
            uint64_t from_now, interval; /* ns; 0: off */
            uint32_t sets;               /* 0: only asks */
        } alarm;                         /* ALARM */
        struct {
            uint32_t which; /* enum process_attribute */
            uint32_t sets;  /* 0: only asks */
            uint32_t value;
        } attribute;     /* ATTRIBUTE */
        uint32_t ids[8]; /* SET_IDS: as struct credentials begins */
        struct {
            uint32_t uid, gid; /* real ones of the asker */
            uint32_t inside;   /* 1: it wants to look inside */
        } reach;               /* MAY_REACH */
        struct {
            uint32_t euid, uid, session;
            uint32_t signal;
        } sender;                 /* MAY_SIGNAL */
        struct account_used used; /* ADD_USED */
        struct account_io io;     /* ADD_IO */
        struct {
            uint32_t which;
            uint32_t sets; /* 0: only asks; PROCESS_LIMIT_SET or PROCESS_LIMIT_LOWER */
            struct process_limit is;
        } limit; /* LIMIT */
        struct {
            struct timer_facts is;
            uint64_t value;    /* of its signal */
            uint32_t target;   /* thread that gets the signal */
            uint32_t measured; /* thread whose time counts */
        } new_timer;           /* TIMER_CREATE */
        struct {
            uint64_t at, interval; /* TIMER_SET; 0: never */
            uint64_t sequence;     /* TIMER_TAKEN: of the setting that the signal is of */
            int32_t id;
        } timer; /* the other TIMER_... */
    };
};

struct msg_process_result {
    int64_t value; /* or a negative errno */
    union {
        struct { /* PROCESS_WAIT; of PROCESS_NEW_PARENT: times and status */
            uint64_t user_ns, system_ns;
            uint64_t events; /* of the children, when this was looked up */
            uint32_t child;  /* 0: none yet */
            uint32_t status, code;
            uint32_t reaped; /* 1: the caller has to send PROCESS_REAPED to the child, before it says that it waited */
        };
        uint32_t parent; /* PROCESS_ADOPT; PROCESS_SET_GROUP, PROCESS_SET_SESSION: the caller has to send it
                            PROCESS_CHILD_GROUP */
        struct {         /* PROCESS_CHILD_EVENT: the parent's */
            uint32_t parent_group, parent_session;
        };
        struct { /* PROCESS_TAKE_SIGNAL: value 1 when there was one */
            struct signal_info info;
            uint64_t hint; /* what is left */
        };
        struct signal_action action; /* PROCESS_TAKE_ACTION, PROCESS_SET_ACTION: the one before */
        uint64_t interval;           /* PROCESS_ALARM: what was set before */
        struct {                     /* PROCESS_TIMES */
            uint64_t members;        /* kernels that it has threads on */
            uint64_t children_user_ns, children_system_ns;
            uint64_t peak; /* pages: of memory that it had before exec, or until its end */
        };
        struct account_used used;   /* PROCESS_REAPED, PROCESS_CHILDREN_USED */
        struct account_io io;       /* PROCESS_ENDED_IO, PROCESS_CHILDREN_IO */
        struct process_limit limit; /* PROCESS_LIMIT */
        struct {                    /* PROCESS_TIMER_SET, PROCESS_TIMER_GET */
            uint64_t timer_at, timer_interval;
            struct timer_facts timer_facts;
            uint32_t timer_thread; /* whose time counts */
        };
    };
};

struct msg_process_state { /* the answer to PROCESS_BEGIN: what a child inherits */
    uint32_t parent;
    uint32_t process_group;
    uint32_t session;
    uint32_t umask;
    uint32_t grandparent; /* the parent's parent, and what that is sent at the parent's end: for CLONE_PARENT */
    uint32_t exit_signal;
    uint32_t attributes[PROCESS_ATTRIBUTES];
    uint64_t environment, environment_size, arguments_size;
    char name[THREAD_NAME_MAX];
    struct signal_action actions[SIGNALS];
    struct process_limit limits[PROCESS_LIMITS];
};

_Static_assert(sizeof(struct msg_process_call) == MSG_SHORT && sizeof(struct msg_process_result) == MSG_SHORT,
               "one slot");
_Static_assert(sizeof(struct msg_thread) <= MSG_SHORT, "a notice of one slot");

#endif
