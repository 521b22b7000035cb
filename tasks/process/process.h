/* Processes: what a thread group is to others. It lives at the group's home from its creation until a parent has waited
 * for it; the group's threads, memory and descriptors are gone before (it is a zombie then). Everything here is done at
 * the home, in one step, by a task or a handler; other kernels ask with PROCESS_CALL. tasks/process/process.md has the
 * protocol.
 *
 * Process 1, init, is kernel 0 itself: it has no threads, adopts orphans, and never waits for them: they vanish when
 * they end. The first program is its child.
 *
 * Marks: [g] under group->lock. */
#ifndef TASKS_PROCESS_PROCESS_H
#define TASKS_PROCESS_PROCESS_H

#include "tasks/account/account.h"
#include "tasks/process/attribute.h"
#include "tasks/process/group.h"
#include "tasks/process/limit.h"
#include "tasks/signal/signal.h"
#include "tasks/timer/timer.h"

#define PROCESS_INIT 1u

/* What a parent knows of a child. */
struct child {
    struct list node; /* [g] in the parent's children */
    uint32_t id;
    uint32_t group;              /* process group */
    uint32_t exit_signal;        /* sent at its end, 0: none */
    uint32_t status;             /* as waitpid's: of the last event not yet waited for */
    uint32_t code;               /* 0, or CLD_* of that event */
    uint32_t stop_round;         /* of the last stop or continue heard of: news may overtake each other */
    uint64_t user_ns, system_ns; /* valid once ended: its own and its waited-for children's */
};

/* Permissions that are not given to what is made by name (umask(2)). */
struct process_umask {
    uint32_t processes; /* [a] that have it */
    uint32_t bits;      /* [a] */
};

struct process {
    struct group *group;    /* [i] */
    bool first;             /* [i] the machine ends with it */
    uint32_t parent;        /* [g] process */
    uint32_t process_group; /* [g] */
    uint32_t session;       /* [g] */
    bool executed;          /* [g] it has called exec: setpgid of a parent comes too late */
    bool over;              /* [g] it has ended, perhaps not been waited for */
    bool zombie;            /* [g] it has ended and nobody has waited for it */
    uint32_t exit_signal;   /* [g] what the parent is sent */
    uint32_t live;          /* [g] threads in the whole machine */
    bool pruning;           /* [g] all threads but one are being killed, for exec: no new ones, nobody joins */
    bool replacing;         /* [g] exec is about to give it other memory: nobody lodges in what it has */
    uint32_t status;        /* [g] of the end, as waitpid's; valid once exiting */
    uint32_t leader_status; /* [g] what the first thread left, if it went by itself */
    struct list children;   /* [g] struct child */
    struct watch_source child_events;
    struct completion *vfork_done;                 /* [g] somebody here waits until it gives back its parent's space */
    struct signal_queue signals;                   /* [g] for any of its threads */
    struct signal_action actions[SIGNALS];         /* [g] by signal - 1 */
    uint64_t continues;                            /* [g] SIGCONTs so far, from 1 */
    uint32_t stop_signal;                          /* [g] of a stop in progress or done, 0: none */
    uint32_t stop_left;                            /* [g] kernels where threads do not stand yet */
    uint64_t children_user_ns, children_system_ns; /* [g] of children waited for */
    struct account_used children_used;             /* [g] the same */
    struct account_io children_io;                 /* [g] */
    uint64_t peak;                                 /* [g] pages: the most of what exec or its end has freed */
    uint64_t start_ns;                             /* [i] clock_now */
    uint64_t program_ns;                           /* [g] when its program began: start_ns, or exec */
    struct timer alarm;                            /* ITIMER_REAL; holds a reference to the group while it is armed */
    uint64_t alarm_interval;                       /* [g] ns, 0: it fires once */
    struct list timers;                            /* [g] tasks/timer/process_timer.c */
    uint32_t timer_count, timer_next;              /* [g] how many there are; id of the next one */
    struct process_limit limits[PROCESS_LIMITS];   /* [g] */
    uint32_t attributes[PROCESS_ATTRIBUTES];       /* [g] */
    struct credentials credentials;                /* [g] of its first thread */
    struct process_umask *umask;                   /* [i] while it runs; others may share it (CLONE_FS) */
    uint64_t environment;                          /* [g] where the program found it; its arguments end there */
    uint64_t environment_size, arguments_size;     /* [g] bytes */
    char name[THREAD_NAME_MAX];                    /* [g] of the program */
};

void process_init(void);

/* Kernel that the process, or the thread, ID is known at; KERNELS_MAX: nobody can know it. */
uint32_t process_home(uint32_t id);

/* The home part of GROUP, whose home this kernel is; INHERIT (NULL: the first program) is its parent's at that moment.
 * -ENOMEM. */
struct msg_process_state;
int process_create(struct group *group, const struct msg_process_state *inherit);
void process_free(struct process *process);
/* May who has the real ids UID and GID see the limits of PROCESS and, if INSIDE, its memory and descriptors? Its lock
 * is held. */
bool process_may_reach_locked(const struct process *process, uint32_t uid, uint32_t gid, bool inside);
/* PROCESS, which has not begun, has the umask of OTHER: what one sets the other has. */
void process_share_umask(struct process *process, const struct process *other);
static inline uint32_t process_umask_of(const struct process *process)
{
    return __atomic_load_n(&process->umask->bits, __ATOMIC_RELAXED);
}

/* The state that a child of PARENT begins with; the child is known to the parent from now on. Any home of the parent:
 * asks it. -EAGAIN: the parent is ending; -ENOMEM. Tasks only. */
int process_begin_child(uint32_t parent, uint32_t child, uint32_t exit_signal, struct msg_process_state *state);
/* The same for a child of SIBLING's parent (CLONE_PARENT) that inherits all, also its exit signal, from SIBLING. */
int process_begin_sibling(uint32_t sibling, uint32_t child, struct msg_process_state *state);
/* The child that was begun does not come. */
void process_cancel_child(uint32_t parent, uint32_t child);

/* The group has ended, all but its process: it becomes a zombie or vanishes, its children are given to init. In a task
 * at home, which waits. */
void process_ended(struct group *group);

/* Operations on the process ID, wherever its home is. Results or -ESRCH and what each says. Tasks only; they wait for
 * the home's answer, which comes at once. */
enum process_operation {
    PROCESS_PARENT = 1,  /* -> id */
    PROCESS_GET_GROUP,   /* -> process group */
    PROCESS_GET_SESSION, /* -> session */
    PROCESS_SET_GROUP,   /* a: group, b: caller, c: the group's session or 0 when new: EACCES EPERM */
    PROCESS_SET_SESSION, /* EPERM */
    PROCESS_SIGNAL,      /* info; a: caller's session (for SIGCONT) */
    PROCESS_WAIT,        /* a: selector, b: options: see process_wait */
    PROCESS_TAKE_SIGNAL, /* a: set of signals that may be taken: the info, the action, and the hint left */
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
    /* tasks/timer/process_timer.h; a: the timer's id */
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

struct msg_process_call;
struct msg_process_result;
int64_t process_call(const struct msg_process_call *call, struct msg_process_result *result);
/* The same for an operation that must not be lost, and that itself needs no memory: waits until there is some to ask.
 */
int64_t process_call_surely(const struct msg_process_call *call, struct msg_process_result *result);

/* The action of SIGNAL, 1 to 64, in GROUP, of any home: *OLD is what it was, and it becomes *ACTION unless that is
 * NULL. Waits for the home. */
int64_t process_action(struct group *group, uint32_t signal, const struct signal_action *action,
                       struct signal_action *old);
/* What exec leaves of the actions: what was ignored stays so. With the group's lock held, or not yet published. */
void process_reset_actions(struct process *process);

/* Which children PROCESS_WAIT means: the upper half of its selector; the lower is the id (0 with SELECT_GROUP: the
 * caller's own process group). Its options are those of waitid. */
enum process_select { SELECT_ANY, SELECT_PROCESS, SELECT_GROUP };
#define WAIT_NO_HANG 1u
#define WAIT_STOPPED 2u
#define WAIT_EXITED 4u
#define WAIT_CONTINUED 8u
#define WAIT_NO_REAP 0x01000000u
#define WAIT_NO_THREAD 0x20000000u
#define WAIT_ALL 0x40000000u
#define WAIT_CLONE 0x80000000u

/* Does OPERATION to every process of process group GROUP (0: every process), but EXCEPT, on every kernel. FOUND: how
 * many there are, and the session of one. Tasks only; waits. */
enum process_group_operation {
    PROCESS_GROUP_FIND,
    PROCESS_GROUP_SIGNAL,
    PROCESS_GROUP_SIGNAL_AS, /* from whom kill(2) holds to permissions: FOUND counts who got it, and its session is not
                               0 if there was one that did not */
    PROCESS_GROUP_LOOK
};
struct msg_process_group_found;
void process_group_call(enum process_group_operation operation, uint32_t group, uint32_t except,
                        const struct signal_info *info, struct msg_process_group_found *found);
/* How many are in GROUP of SESSION, stopped, and children of others in the session (tasks/process/session.h); but
 * EXCEPT. Tasks only; waits. */
void process_group_look(uint32_t group, uint32_t session, uint32_t except, struct msg_process_group_found *found);
/* A signal to a process group from a handler or an interrupt (the terminal). */
void process_group_signal(uint32_t group, uint32_t signal);
/* A freeze is over: what was not sent because of it is sent. */
void process_group_thawed(void);

#endif
