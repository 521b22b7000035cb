/* Thread groups: a process. Each kernel that hosts a member has a struct group; the one on the group's home, the kernel
 * it began on, has the process besides (tasks/process/process.h): who else hosts members, how many threads there are,
 * the children, the signals of the group; it decides stop and end. tasks/migrate/migration.md, tasks/exit/exit.md and
 * tasks/process/process.md have the protocols.
 *
 * Marks: [i] set once, [g] under group->lock. Lock order: group->lock, then space->lock, then run queues. */
#ifndef TASKS_PROCESS_GROUP_H
#define TASKS_PROCESS_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/space.h"
#include "msg/channel.h"
#include "tasks/remote/watch.h"
#include "tasks/remote/work.h"
#include "tasks/sched/waitq.h"
#include "tasks/thread/thread.h"

struct process;

struct group {
    struct list node;    /* in the table of groups */
    uint32_t references; /* under the table's lock */
    uint32_t id;         /* [i] thread id of the first thread */
    uint32_t home;       /* [i] kernel */
    struct spinlock lock;
    struct space *space;     /* [g] replaced by exec while one thread is left; a vfork child uses its parent's */
    struct group *host;      /* [g] whose space that is, with a reference and counted among its threads, or NULL */
    struct process *process; /* [i] at the home, else NULL */
    void *files;             /* [i] at the home: descriptors, owned by the file system */

    struct list threads;                   /* [g] those on this kernel, present and shadow */
    struct list arrivals;                  /* [g] threads that wait until this kernel has joined */
    uint32_t *made;                        /* [g] threads that began here, by the kernel where they are; NULL: none */
    struct watch_source moves;             /* counts arrivals and departures of its threads here */
    uint64_t gone_user_ns, gone_system_ns; /* [g] CPU time of threads that ended here */
    struct account gone;                   /* [g] what threads have done here that are no longer here */
    uint64_t peaks;                        /* [g] home, at its end: pages that members have had */
    uint32_t barriers;                     /* [a] away from home: membarrier(2) commands it has registered for */
    uint64_t signal_hint;                  /* [g] signals that may be pending for it at its home: a superset */

    /* its end: tasks/exit/exit.c */
    struct msg_kept kept;    /* [g] GROUP_KILL, to be answered when count is 0; later GROUP_FREE */
    struct work work;        /* the end runs here */
    struct completion quiet; /* home: signalled when count has come down to quiet_count */
    uint32_t quiet_count;    /* [g] */
    uint32_t count; /* [g] threads here, until their last CPU has left their stacks, and lodgers in our space */

    /* stop and continue: tasks/process/stop.c */
    struct waitq stop_wait;            /* [g] where they stand */
    struct stop_request *stop_request; /* [g] the home, by this; NULL: this is the home */
    uint32_t stop_round;               /* [g] the home's number of the last stop or continue */
    bool stopped;                      /* [g] its threads here are to stand still */
    bool stop_waits;                   /* [g] somebody is to be told when all stand */

    bool joining;          /* [g] the first member has arrived, and the home has been asked: tasks/migrate/join.c */
    bool kill_waits;       /* [g] GROUP_KILL is kept */
    volatile bool exiting; /* [g] written; read without: every thread here is to die */
};

/* What the parts above are told. */
struct group_hooks {
    void (*ending)(void);               /* some group here is to end: end waits on its behalf */
    void (*release_files)(void *files); /* the group is over */
    /* It runs another program, and has one thread: descriptors of its own, without what is closed then. -ENOMEM. */
    int (*exec_files)(struct group *group);
    /* Descriptors are below COUNT from now on, and files get no longer than BYTES; a lock is held. */
    void (*limit_files)(void *files, uint64_t count, uint64_t bytes);
    /* *OUT becomes a copy of the descriptors of PARENT, of any home, for a child whose home this kernel is; or
     * PARENT's, at home here, are shared: descriptors (FILES), working directory (FOLDER). Waits. */
    int (*fork_files)(struct group *parent, bool files, bool folder, void **out);
    /* CREDENTIALS, of the first thread of a child with FILES, have the root of those from now on. */
    void (*begin_root)(void *files, struct credentials *credentials);
    /* A descriptor of CHILD, which is being made, for the current process: its number goes to user address ADDRESS.
     * Waits. On an error there is none. */
    int (*open_process)(struct group *child, uint64_t address);
    void (*first_begins)(uint32_t session);  /* the machine's first process is about to run; it leads a session */
    void (*first_ended)(uint32_t status);    /* it is over */
    void (*ended)(struct group *group);      /* a process at home here is over: its threads and its memory are gone */
    void (*session_ended)(uint32_t session); /* its leader is over, but the first process. In a task; may wait */
};
extern struct group_hooks group_hooks; /* [i] */

void group_init(void);

/* Makes group ID with SPACE, which may be NULL and set later, on this kernel, with one reference, the table's; it is
 * not in the table yet. NULL without memory. */
struct group *group_create(uint32_t id, uint32_t home, struct space *space);
/* THREAD, which this kernel has made, is on KERNEL now as far as is known here, ready or blocked: counted there in
 * group->made. -1: nowhere any more. group_made_begin allocates those counts, without them nothing is counted. */
void group_made_begin(struct group *group);
void group_made_locked(struct group *group, struct thread *thread, int32_t kernel);
/* Puts it into the table: messages find it. */
void group_publish(struct group *group);
/* Frees one that was never published, without its space. */
void group_abandon(struct group *group);
/* Calls EACH for every group here with a reference held and no lock, until it returns false. */
/* False: without memory for that nothing was done. */
bool group_each(bool (*each)(struct group *group, void *context), void *context);
/* The same while programs stand still: no group comes or goes. Needs no memory. */
void group_each_still(bool (*each)(struct group *group, void *context), void *context);
/* The group ID on this kernel with a reference taken, or NULL. */
struct group *group_find(uint32_t id);
/* There is a group ID here, perhaps one that has ended and is not yet waited for. */
bool group_exists(uint32_t id);
void group_get(struct group *group);
void group_put(struct group *group);
/* Takes the group out of the table. */
void group_forget(struct group *group);

/* Keeps the memory of GROUP on this kernel, and the group that has it, until group_leave of *HOST_OUT:
 * its end, and exec, wait. -ESRCH: it ends, begins another program, or has no memory any more. */
int group_lodge(struct group *group, struct group **host_out);
void group_leave(struct group *host);

/* The kernels that host it, as this one knows them; none while it uses its parent's memory. Its lock is held. */
kernel_set group_members_locked(struct group *group);
static inline struct space *group_space(const struct group *group)
{
    return group != NULL ? group->space : NULL;
}

static inline bool group_exiting(const struct group *group)
{
    return group != NULL && __atomic_load_n(&group->exiting, __ATOMIC_SEQ_CST);
}

/* Puts THREAD, which does not run yet, into its group; it begins by standing still if the group is stopped. -ESRCH: the
 * group is exiting, or all its threads but one are being killed for exec. */
int group_add_thread(struct group *group, struct thread *thread);
int group_add_thread_locked(struct group *group, struct thread *thread);
/* CPU time of the threads that are here or ended here, in ns; of each, what it has used on all kernels. */
void group_cpu_time(struct group *group, uint64_t *user, uint64_t *system);
/* What threads of GROUP have done on this kernel, those that went or ended too; and the most pages that this kernel has
 * had of its memory. */
void group_account(struct group *group, struct account *out, uint64_t *peak);
/* The home counts one thread more in the machine. -EAGAIN: the group is ending, or about to run another program. Waits
 * for the home. */
int group_count_thread(struct group *group);
/* One thread (or lodger) less, with the group's lock held. *ANSWER: the kept GROUP_KILL is to be answered (exit_answer)
 * once the lock is free; a reference for that was taken. */
void group_count_down_locked(struct group *group, bool *answer);

#endif
