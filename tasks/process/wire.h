/* Payloads of the thread and group messages (16 to 31 in msg/messages.def). */
#ifndef TASKS_PROCESS_WIRE_H
#define TASKS_PROCESS_WIRE_H

#include <stdint.h>

#include "kernel/arch/x86_64/traps.h"
#include "msg/message.h"
#include "tasks/account/account.h"
#include "tasks/process/process.h"
#include "tasks/signal/signal.h"
#include "tasks/thread/thread.h"
#include "tasks/timer/process_timer.h"

struct msg_group { /* GROUP_KILL, GROUP_FREE, GROUP_TIME */
    uint32_t group;
    uint32_t part; /* GROUP_TIME: 0: struct msg_group_killed is asked for, 1: struct msg_group_freed */
};

struct msg_group_killed {        /* the answer to GROUP_KILL, and to GROUP_TIME */
    uint64_t user_ns, system_ns; /* CPU time of its threads there */
    struct account_use use;      /* what they did there */
};

struct msg_group_freed { /* the answer to GROUP_FREE, and to GROUP_TIME */
    struct account_io io;
    uint64_t peak; /* pages: the most that kernel had of its memory */
    uint64_t pad;
};

_Static_assert(sizeof(struct msg_group_killed) == MSG_SHORT && sizeof(struct msg_group_freed) == MSG_SHORT,
               "answers of one size, and of one slot");

struct msg_group_join { /* GROUP_JOIN: the sender is about to host members */
    uint32_t group;
    uint32_t pad;
};

struct msg_group_exit { /* GROUP_EXIT */
    uint32_t group;
    uint32_t status; /* as waitpid's */
    uint32_t killed; /* not 0: by a signal from outside or by the kernel; 0: by what the program itself did */
    uint32_t unused;
};

struct msg_thread { /* THREAD_GONE, THREAD_EXIT, THREAD_NEW */
    uint32_t group;
    uint32_t thread;
    uint32_t status; /* THREAD_EXIT: as waitpid's */
    uint32_t pad;
    uint64_t start_ns; /* THREAD_GONE: when it was made: exec, or time, may have given its id to another */
};

struct msg_group_joined { /* the answer to GROUP_JOIN */
    uint64_t members;
    uint64_t signal_hint;
    uint32_t stop_round;
    uint32_t stopped;
    uint64_t mode; /* of the address space */
};

struct msg_group_hint { /* GROUP_HINT */
    uint64_t signals;
    uint32_t group;
    uint32_t forget; /* 1: they are ignored from now on: what threads have of them is dropped */
};

struct msg_group_stop { /* GROUP_STOP */
    uint32_t group;
    uint32_t round;
    uint32_t stopped; /* 1: stand still, 0: go on */
    uint32_t pad;
};

struct msg_process_call { /* PROCESS_CALL */
    uint32_t id;
    uint32_t operation; /* enum process_operation */
    union {
        struct {
            uint64_t a, b, c;
        };
        uint32_t ids[8]; /* PROCESS_SET_IDS: as struct credentials begins */
        struct {
            struct signal_info info;
            uint32_t session;
            uint32_t pad;
        };
        struct { /* PROCESS_SET_ACTION */
            struct signal_action action;
            uint32_t signal;
            uint32_t sets; /* 0: only asks */
        };
        struct account_used used; /* PROCESS_ADD_USED */
        struct account_io io;     /* PROCESS_ADD_IO */
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

struct msg_process_begin { /* PROCESS_BEGIN */
    uint32_t parent;
    uint32_t child; /* 0: none, only the state is asked for */
    uint32_t exit_signal;
    uint32_t group; /* the child's process group, 0: the parent's */
};

struct msg_process_state { /* its answer: what a child inherits */
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

struct msg_process_group { /* PROCESS_GROUP */
    uint32_t operation;    /* enum process_group_operation */
    uint32_t group;        /* process group, or 0: every process */
    uint32_t except;       /* process */
    uint32_t session;      /* PROCESS_GROUP_LOOK: the group's. PROCESS_GROUP_SIGNAL_AS: the sender's; info.extra is its
                              effective user */
    struct signal_info info;
};

struct msg_process_group_found {
    uint32_t count;   /* processes here that fit */
    uint32_t session; /* of one of them */
    uint32_t stopped; /* PROCESS_GROUP_LOOK: how many of them are stopped */
    uint32_t parents; /* PROCESS_GROUP_LOOK: children in the group of processes here outside it, in its session */
};

struct msg_thread_call { /* THREAD_CALL */
    uint32_t thread;
    uint32_t operation; /* enum thread_operation */
    union {
        uint64_t words[5];
        struct {
            struct signal_info info;
            uint32_t group; /* the thread must be of this one, 0: of any */
            uint32_t pad;
        };
    };
};

struct msg_thread_result {
    int64_t value; /* or a negative errno; THREAD_ELSEWHERE: ask KERNEL */
    uint64_t words[4];
    uint32_t kernel;
    uint32_t group; /* its process */
};

struct msg_watch { /* WATCH */
    uint64_t id;
    uint64_t seen; /* events */
    uint32_t kind; /* enum watch_kind */
    uint32_t pad;
};

/* MIGRATE. Behind it: PACKED words, made by pack() of the context, the register frame and the parts of the FPU state;
 * then SIGNALS structs signal_info, then LOANS structs pi_lending. */
struct msg_migrate {
    uint32_t group;
    uint32_t home;
    uint32_t thread;
    uint32_t packed;
    uint64_t visited;
    uint64_t clock; /* nanoseconds: what the thread may have seen */
    uint64_t signal_hint;
    uint32_t signals;
    uint32_t loans;
};

_Static_assert(sizeof(struct msg_migrate) == 48, "wire format");
_Static_assert(sizeof(struct msg_process_call) == MSG_SHORT && sizeof(struct msg_process_result) == MSG_SHORT,
               "one slot");
_Static_assert(sizeof(struct msg_thread_call) == MSG_SHORT && sizeof(struct msg_thread_result) == MSG_SHORT,
               "one slot");
_Static_assert(sizeof(struct msg_process_group) == MSG_SHORT, "one slot");
_Static_assert(sizeof(struct msg_thread) <= MSG_SHORT, "a notice of one slot");

#endif
