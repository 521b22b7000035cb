/* Thread groups: the representation of a process on every kernel that hosts one of its threads. On the group's home,
 * the kernel where it began, the group also has a struct process (tasks/process/process.h): the number of threads in
 * the machine, the children, the signals of the group. The home decides stops and ends. This header has the structure
 * and the table; tasks/process/group.h has the operations on members.
 *
 * Marks: [i] set once, [g] under group->lock, [h] set once, but changed while all programs are quiesced, when the home
 * stops and another kernel takes its place (tasks/handover/stop_kernel.md). Lock order: group->lock, then space->lock,
 * then run queues. */
#ifndef TASKS_THREAD_GROUP_H
#define TASKS_THREAD_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/space.h"
#include "msg/channel.h"
#include "tasks/thread/thread.h"
#include "tasks/thread/wait.h"

#define PROCESS_INIT 1u /* id of the process that adopts orphans: no group has it (tasks/process/process.h) */

struct process;
struct signal_known;

struct group {
    struct list node;    /* in the table of groups */
    uint32_t references; /* under the table's lock */
    uint64_t number;     /* [i] of its publication: a bucket of the table has them in ascending order */
    uint32_t id;         /* [i] thread id of the first thread */
    uint32_t home;       /* [h] kernel */
    struct spinlock lock;
    struct space *space;  /* [g] replaced by exec while one thread is left; a vfork child uses its parent's */
    struct group *pinned; /* [g] the group that owns the space, with a reference and counted among its pins; or NULL */
    struct process *process; /* [h] at the home, else NULL */
    void *files;             /* [g] at the home: descriptors, owned by kernel/file; other processes may share them */

    struct list threads;       /* [g] threads on this kernel, present and shadow; removed as tasks/thread/walk.h says */
    struct list walks;         /* [g] over the threads, under way: tasks/thread/walk.c */
    struct work kill_work;     /* kills the rest of them on a member */
    struct list arrivals;      /* [g] threads that wait until this kernel has joined */
    uint32_t *made;            /* [g] number of threads that began here, by the kernel they are on; NULL: not counted */
    struct watch_source moves; /* counts arrivals and departures of threads here */
    uint64_t gone_user_ns, gone_system_ns; /* [g] CPU time of threads that ended here */
    struct account gone;                   /* [g] counters of threads that are no longer here */
    uint64_t peaks;                        /* [g] home, at the group's end: sum of the members' peaks, in pages */
    uint32_t barriers;                     /* [a] not at the home: membarrier(2) commands that it has registered */
    struct signal_known *known;            /* [g] not at the home: actions that it has told, or NULL */
    uint64_t signal_hint;                  /* [g] superset of the signals that are pending for it at its home */

    /* the end: tasks/exit/exit.c */
    struct msg_kept kept;    /* [g] GROUP_KILL, kept until count is 0; later GROUP_FREE */
    struct work work;        /* performs the end */
    struct completion quiet; /* home: signalled when count has fallen to quiet_count */
    uint32_t quiet_count;    /* [g] */
    uint32_t count;          /* [g] threads here, until their last CPU has left their stacks */
    uint32_t pins;           /* [g] of the space here (group_pin) */

    /* stop and continue: tasks/process/stop.c */
    struct waitq stop_wait;            /* [g] where stopped threads wait */
    struct stop_request *stop_request; /* [g] the home's kept request; NULL at the home */
    uint32_t stop_round;               /* [g] number of the last stop or continue, given by the home */
    bool stopped;                      /* [g] its threads here are to quiesce */
    bool stop_waits;                   /* [g] a stop waits until all threads here are quiesced */

    bool numa_told;      /* the home knows of threads of NUMA groups here: of the timer in tasks/numa/groups.c alone */
    bool joining;        /* [g] the first member has arrived, and the home has been asked: tasks/migrate/join.c */
    bool kill_waits;     /* [g] GROUP_KILL is kept */
    kernel_set parts;    /* [g] not at the home: kernels that have a part of it, once it ends */
    bool kill_submitted; /* [g] a worker has KILL_WORK, with a reference */
    bool pins_told;      /* [g] not at the home: that has been told of pins, and is to be told when the last is gone */
    bool lost;           /* [g] a kernel has died that had a part of it: it ends, and threads of it are lost */
    bool freeing;        /* [g] its memory here is being freed, at its end or in exec, and cannot be pinned any more */
    volatile bool exiting; /* [g] for writes; read without the lock: every thread here is to die */
};

/* Frees PROCESS (or NULL) of a group without references. Set by tasks/process. */
extern void (*group_free_process)(struct process *process);

/* Makes the table. Once. */
void group_table_init(void);
/* Puts GROUP into the table, where messages find it. */
void group_publish(struct group *group);
/* The number of groups in the table. Any context. */
uint64_t group_total(void);
/* Calls EACH for every group that is here from the beginning to the end of the call, with a reference to it and without
 * locks, until EACH returns false. Needs no memory. */
void group_each(bool (*each)(struct group *group, void *context), void *context);
/* Calls EACH, as group_each does, for the next MOST groups from PLACE on; 0 is the first place, and any number is one.
 * Returns the place where the next call goes on, or 0: those were the last. A group that is here from the first of
 * these calls to the last is met once. Any context in which EACH may be called. */
uint64_t group_some(uint64_t place, uint32_t most, void (*each)(struct group *group, void *context), void *context);
/* The same as group_each while programs are quiesced: no group comes or goes. Needs no memory. */
void group_each_still(bool (*each)(struct group *group, void *context), void *context);
/* The group ID on this kernel with a reference taken, or NULL. */
struct group *group_find(uint32_t id);
void group_get(struct group *group);
void group_put(struct group *group);
/* Removes GROUP from the table. */
void group_forget(struct group *group);

static inline struct space *group_space(const struct group *group)
{
    return group != NULL ? group->space : NULL;
}

static inline bool group_exiting(const struct group *group)
{
    return group != NULL && __atomic_load_n(&group->exiting, __ATOMIC_SEQ_CST);
}

/* Whether THREAD is to die, alone or with its group. */
static inline bool thread_dying(const struct thread *thread)
{
    return thread->doomed || group_exiting(thread->group);
}

#endif
