/* Payloads of the messages about groups and processes that several rooms send or answer. Those of a single room are in
 * that room: tasks/kill, signal, family, locate, migrate and remote. */
#ifndef TASKS_PROCESS_WIRE_H
#define TASKS_PROCESS_WIRE_H

#include <stdint.h>

#include "msg/message.h"
#include "tasks/process/attribute.h"
#include "tasks/process/limit.h"
#include "tasks/thread/thread.h"

struct msg_group { /* GROUP_FREE, GROUP_UNPINNED, GROUP_TIME, GROUP_IO */
    uint32_t group;
    uint32_t pad;
};

struct msg_group_kill { /* GROUP_KILL */
    uint32_t group;
    uint32_t lost;    /* 1: a kernel has died that had a part of it */
    uint64_t members; /* kernels that have, the home included */
};

struct msg_group_killed {    /* the reply to GROUP_KILL and GROUP_TIME */
    uint64_t user_ns;        /* CPU time of the group's threads there */
    uint64_t system_ns : 63; /* the same */
    uint64_t pinned : 1;     /* GROUP_KILL: its memory is pinned there, and GROUP_UNPINNED follows */
    struct account_use use;  /* their use of resources there */
};

struct msg_group_freed { /* the reply to GROUP_FREE and GROUP_IO */
    struct account_io io;
    uint64_t peak; /* pages: the most pages of the group's memory that the kernel had */
    uint64_t pad;
};

/* The reply to GROUP_KILL of a kernel that has ended its part already, as it had no memory to free: both of the above
 * in one slot. A kernel whose figures do not fit waits for GROUP_FREE. */
struct msg_group_ended {
    uint64_t user_ns : 45, reads : 18, ended : 1; /* 1; in struct msg_group_killed no time is as long */
    uint64_t system_ns : 45, writes : 18, pad : 1;
    uint32_t minor_faults, major_faults, waits, preemptions;
    uint64_t read_bytes, write_bytes;
};

_Static_assert(sizeof(struct msg_group_killed) == MSG_SHORT && sizeof(struct msg_group_freed) == MSG_SHORT &&
                   sizeof(struct msg_group_ended) == MSG_SHORT,
               "answers of one size, and of one slot");

struct msg_thread { /* THREAD_GONE, THREAD_EXIT, THREAD_NEW */
    uint32_t group;
    uint32_t thread;
    uint32_t status; /* THREAD_EXIT: as waitpid's */
    uint32_t pad;
    uint64_t start_ns; /* THREAD_GONE: when the thread was created: its id may have been reused, by exec or later */
};

struct msg_group_stop { /* GROUP_STOP */
    uint32_t group;
    uint32_t round;
    uint32_t stopped; /* 1: quiesce, 0: continue */
    uint32_t pad;
};

/* The properties of a process timer, which PROCESS_TIMER_CREATE takes and PROCESS_TIMER_GET returns. */
struct timer_facts {
    uint8_t kind;   /* enum timer_kind */
    uint8_t notify; /* enum timer_notify */
    uint8_t signal;
    uint8_t names_itself; /* the value of its signal is the timer's id */
    int32_t clock;        /* the clock id that the program gave */
};

/* A child's event as reported to its parent: PROCESS_CHILD_EVENT. */
struct child_event {
    uint32_t child;
    uint32_t code;   /* CLD_*, or CHILD_CANCELLED */
    uint32_t status; /* as waitpid's */
    uint32_t round;  /* of a stop or continue: orders reports that overtake each other */
    uint32_t uid;    /* the child's real user */
    uint32_t pad;
    uint64_t user_ns, system_ns; /* of an end: CPU time of the child and its waited-for children */
};
#define CHILD_CANCELLED 255u /* it was never started */

struct msg_process_call { /* PROCESS_..., from PROCESS_PARENT to PROCESS_LIMIT */
    uint32_t id;
    uint32_t type; /* enum msg_type, as the message's */
    union {        /* by TYPE; the comment beside each member names the types without PROCESS_ */
        struct {
            uint32_t group, caller;
            uint32_t group_session; /* 0: the group is new */
            uint32_t caller_session;
        } set_group; /* SET_GROUP */
        struct {
            struct signal_info info;
            uint32_t
                tells; /* 1 + the kernel that tells its own threads of the signal, if the answer says so; 0: none */
        };             /* SIGNAL */
        struct {       /* tasks/family/children.h */
            uint64_t selector, options;
            uint32_t place; /* of a child, behind which to look; 0: from the first on */
        } wait;             /* WAIT */
        uint64_t signals; /* TAKE_SIGNAL: signals that may be taken; RETARGET: signals that a thread no longer takes */
        struct {
            struct signal_action is;
            uint32_t signal;
            uint32_t sets; /* 0: only reads */
        } action;          /* TAKE_ACTION, SET_ACTION */
        struct {
            uint64_t continues; /* count of continues when the stop signal was sent; 0: not known */
            uint32_t signal;
        } stop; /* STOP */
        struct {
            uint32_t is, was;
        } parent;                 /* NEW_PARENT */
        struct child_event event; /* CHILD_EVENT */
        struct {
            uint32_t id, group;
            uint32_t uid;
            uint32_t giver; /* ADOPT: the process that ends */
        } child;            /* CHILD_GROUP, ADOPT */
        uint32_t umask;     /* UMASK: permission bits, or PROCESS_UMASK_ASK */
        struct {
            uint64_t from_now, interval; /* ns; 0: off */
            uint32_t sets;               /* 0: only reads */
        } alarm;                         /* ALARM */
        struct {
            uint32_t which; /* enum process_attribute */
            uint32_t sets;  /* 0: only reads */
            uint32_t value;
        } attribute;     /* ATTRIBUTE */
        uint32_t ids[8]; /* SET_IDS: as struct credentials begins */
        struct {
            uint32_t uid, gid; /* the caller's real ids */
            uint32_t inside;   /* 1: for access to memory and descriptors */
        } reach;               /* MAY_REACH */
        struct {
            uint32_t euid, uid, session;
            uint32_t signal;
        } sender;                 /* MAY_SIGNAL */
        struct account_used used; /* ADD_USED */
        struct account_io io;     /* ADD_IO */
        struct {
            uint32_t which;
            uint32_t sets; /* 0: only reads; else PROCESS_LIMIT_SET or PROCESS_LIMIT_LOWER */
            struct process_limit is;
        } limit; /* LIMIT */
        struct {
            struct timer_facts is;
            uint64_t value;    /* value that its signal carries */
            uint32_t target;   /* thread that receives the signal */
            uint32_t measured; /* thread whose time counts */
        } new_timer;           /* TIMER_CREATE */
        struct {
            uint64_t at, interval; /* TIMER_SET; 0: never */
            uint64_t sequence;     /* TIMER_TAKEN: the setting to which the signal belongs */
            int32_t id;
        } timer; /* the other TIMER_... */
    };
};

struct msg_process_result {
    int64_t value; /* or a negative errno */
    union {
        struct { /* PROCESS_WAIT; PROCESS_NEW_PARENT fills in times and status */
            uint64_t user_ns, system_ns;
            uint64_t events; /* count of the children's events at the time of the look-up */
            uint32_t child;  /* 0: none yet */
            union {
                uint32_t status;
                uint32_t place; /* if CHILD is 0: the value is that of children up to there; 0: of all */
            };
            uint32_t uid; /* the child's real user */
            uint16_t code;
            uint16_t reaped; /* 1: the caller has to send PROCESS_REAPED to the child before its wait returns */
        };
        uint32_t parent; /* PROCESS_ADOPT; PROCESS_SET_GROUP, PROCESS_SET_SESSION: the caller has to send it
                            PROCESS_CHILD_GROUP */
        struct {         /* PROCESS_CHILD_EVENT: the parent's */
            uint32_t parent_group, parent_session;
        };
        struct { /* PROCESS_TAKE_SIGNAL: value 1 when there was one */
            struct signal_info info;
            uint64_t
                hint; /* signals that may still be pending; PROCESS_SIGNAL: that the kernel that tells has to tell */
        };
        struct {
            struct signal_action action; /* PROCESS_TAKE_ACTION, PROCESS_SET_ACTION: the previous action */
            uint64_t stamp;              /* PROCESS_TAKE_ACTION: tasks/signal/action_cache.h; 0: not to be noted */
        };
        uint64_t interval;    /* PROCESS_ALARM: the previous interval */
        struct {              /* PROCESS_TIMES */
            uint64_t members; /* kernels that host it */
            uint64_t children_user_ns, children_system_ns;
            uint64_t peak; /* pages: the largest peak of its address spaces that exec or its end has freed */
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

struct msg_process_state { /* the reply to PROCESS_BEGIN: the state that a child inherits */
    uint32_t parent;
    uint32_t process_group;
    uint32_t session;
    uint32_t umask;
    uint32_t grandparent; /* for CLONE_PARENT: the parent's parent, and the signal that it gets at the parent's end */
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
