/* Processes: the part of a thread group that other processes see. It exists at the group's home from its creation until
 * a parent has waited for it; after the group's threads, memory and descriptors are gone it is a zombie. Every
 * operation is done at the home, in one step, by a task or a handler; other kernels ask the home
 * (tasks/process/call.h). tasks/process/process.md has the protocol.
 *
 * Process 1, init, is kernel 0 itself: it has no threads and adopts orphans, but never waits for them: they are
 * released when they end. The first program is its child.
 *
 * Marks: [g] under group->lock. */
#ifndef TASKS_PROCESS_PROCESS_H
#define TASKS_PROCESS_PROCESS_H

#include "kernel/lib/ordered.h"
#include "msg/request/call.h"
#include "tasks/process/attribute.h"
#include "tasks/process/call.h"
#include "tasks/process/group.h"
#include "tasks/process/limit.h"
#include "tasks/process/wire.h"
#include "tasks/thread/thread.h"
#include "tasks/timer/timer.h"

/* The entry that a parent's home keeps for a child. */
struct child {
    struct list node;          /* [g] in the parent's children */
    struct ordered_link by_id; /* [g] its key is ID */
    uint32_t id;
    uint32_t group;              /* process group */
    uint32_t exit_signal;        /* sent at its end, 0: none */
    uint32_t status;             /* as waitpid's: of the latest event not yet waited for */
    uint32_t code;               /* 0, or CLD_* of that event */
    uint32_t uid;                /* its real user at that event; before the first event, its parent's */
    uint32_t giver;              /* the process that has given it to this one, a reaper, as it ended; 0: none */
    uint32_t stop_round;         /* of the latest stop or continue reported: earlier rounds are dropped */
    uint64_t user_ns, system_ns; /* valid once ended: its own and its waited-for children's */
};

/* The robust list of a thread, so that it is found when the thread is lost with a kernel: tasks/futex/robust.c. */
struct process_robust {
    struct list node; /* [g] in the process's robust */
    uint32_t thread;  /* its id */
    uint64_t list;    /* [g] user address */
};

/* What the members have to be told of signals: tasks/signal/hint.c. */
struct process_hints {
    kernel_set unanswered;           /* [g] members with a GROUP_HINT that they have not answered */
    kernel_set hint_due, forget_due; /* [g] members that are to get SIGNALS, or FORGETS, with the next one */
    uint64_t signals, forgets;       /* [g] 0 if no member is to get them */
    bool busy;                       /* [g] busy threads are to be chosen for SIGNALS */
    bool submitted;                  /* [g] WORK has been */
    struct work work;                /* sends them where there is no memory */
};

/* A GROUP_STOP under way, and what the members have to be told of stops and continues: tasks/process/stop.c. */
struct stop_sending {
    struct msg_asking asking;
    struct msg_group_stop message;
    struct group *group; /* a reference */
};

struct process_stops {
    kernel_set due;            /* [g] members that are to get the current round */
    kernel_set unanswered[2];  /* [g] members with a continue, or a stop, that they have not answered */
    bool is_spare_used;        /* [g] */
    struct stop_sending spare; /* where there is no memory */
};

/* Permission bits that are cleared in new files (umask(2)). */
struct process_umask {
    uint32_t processes; /* [a] processes that share it */
    uint32_t bits;      /* [a] */
};

struct process {
    struct group *group;    /* [i] */
    bool first;             /* [i] the machine's first process: the machine ends with it */
    uint32_t parent;        /* [g] process */
    uint32_t process_group; /* [g] */
    uint32_t session;       /* [g] */
    bool executed;          /* [g] it has called exec: its parent's setpgid is refused from now on */
    bool over;              /* [g] it has ended, whether waited for or not */
    bool zombie;            /* [g] it has ended and nobody has waited for it */
    uint32_t exit_signal;   /* [g] signal that the parent is sent at its end */
    uint32_t live;          /* [g] threads in the whole machine */
    bool pruning;           /* [g] all threads but one are being killed for exec: no new threads, no kernel joins */
    uint32_t status;        /* [g] exit status as waitpid's; valid once the group is exiting */
    uint32_t leader_status; /* [g] exit status of the first thread, if it ended by itself */
    struct list children;   /* [g] struct child, in order of birth */
    struct ordered by_id;   /* [g] the same */
    struct watch_source child_events;
    struct completion *vfork_done;         /* [g] signalled when a vfork(2) child gives back the space; NULL: none */
    struct signal_queue signals;           /* [g] pending for the process: any of its threads may take them */
    struct signal_action actions[SIGNALS]; /* [g] by signal - 1 */
    uint64_t continues;                    /* [g] SIGCONTs so far, from 1 */
    uint32_t stop_signal;                  /* [g] signal of the current stop, in progress or done; 0: none */
    uint32_t stop_left;                    /* [g] kernels where threads are not quiesced yet */
    struct msg_process_call news;          /* [g] a stop or continue that a task reports to the parent; type 0: none */
    struct work news_work;
    struct process_hints hints;
    struct process_stops stops;
    uint64_t children_user_ns, children_system_ns; /* [g] of children waited for */
    struct account_used children_used;             /* [g] the same */
    struct account_io children_io;                 /* [g] */
    uint64_t peak;                    /* [g] pages: largest peak of the spaces that exec or its end freed */
    uint64_t start_ns;                /* [i] clock_now */
    uint64_t program_ns;              /* [g] when its program began: start_ns, or exec */
    struct timer alarm;               /* ITIMER_REAL; holds a reference to the group while it is armed */
    uint64_t alarm_due;               /* [g] clock_now ns when ITIMER_REAL expires; 0: it is off */
    uint64_t alarm_interval;          /* [g] ns, 0: it fires once */
    struct list timers;               /* [g] tasks/timer/process/process_timer.c */
    uint32_t timer_count, timer_next; /* [g] number of timers; id of the next one */
    struct list robust;               /* [g] struct process_robust */
    uint32_t robust_count;            /* [g] how many */
    kernel_set pins_away;             /* [g] members without threads that have pins (tasks/exit/exit.md) */
    bool is_quiet;                    /* [g] no thread is left that has to die; the members that are left have memory */
    bool is_pinned;                   /* [g] its end, or exec, goes on when the last pin is gone */
    struct process_limit limits[PROCESS_LIMITS]; /* [g] */
    uint32_t attributes[PROCESS_ATTRIBUTES];     /* [g] */
    struct credentials credentials;              /* [g] those of its first thread */
    struct process_umask *umask;                 /* [i] while it runs; other processes may share it (CLONE_FS) */
    uint64_t environment; /* [g] user address of the environment at the start; the arguments end there */
    uint64_t environment_size, arguments_size; /* [g] bytes */
    char name[THREAD_NAME_MAX];                /* [g] of the program */
};

void process_init(void);

/* Makes the struct process of GROUP, whose home this kernel is; INHERIT (NULL: the first program) is the state of its
 * parent at that moment. -ENOMEM. */
struct msg_process_state;
int process_create(struct group *group, const struct msg_process_state *inherit);
void process_free(struct process *process);
/* The entries of PROCESS's children, under its group's lock. process_forget_child_locked frees the entry. */
void process_add_child_locked(struct process *process, struct child *child);
struct child *process_find_child_locked(const struct process *process, uint32_t id);
/* The child born after CHILD, the first one after NULL; NULL: there is none. */
static inline struct child *process_child_after_locked(const struct process *process, const struct child *child)
{
    const struct list *next = child != NULL ? child->node.next : process->children.next;

    return next != &process->children ? container_of(next, struct child, node) : NULL;
}
/* The same after the one with id PLACE; the first one if PLACE is 0, or no child any more. So whoever gives up the lock
 * after CHILDREN_AT_ONCE children meets every child that stays, some perhaps twice. */
struct child *process_child_from_locked(const struct process *process, uint32_t place);
#define CHILDREN_AT_ONCE 1024u
/* The entries of children of all processes at home here. Any context. */
uint64_t process_child_total(void);
void process_forget_child_locked(struct process *process, struct child *child);
/* Lets PROCESS, which has not begun, share the umask of OTHER. */
void process_share_umask(struct process *process, const struct process *other);
/* PROCESS_CHILDREN_USED and the related operations: the usage of GROUP's process and of its children
 * (tasks/account/account.md). */
process_operation process_account;
/* PROCESS_PARENT, PROCESS_GET_GROUP and PROCESS_GET_SESSION; PROCESS_TIMES; PROCESS_UMASK. */
process_operation process_id, process_times, process_set_umask;
static inline uint32_t process_umask_of(const struct process *process)
{
    return __atomic_load_n(&process->umask->bits, __ATOMIC_RELAXED);
}

#endif
