/* Members of thread groups: making a group, putting threads into it and taking them out, what they have used, and what
 * keeps its memory. tasks/thread/group.h has the structure and the table; tasks/migrate/migration.md,
 * tasks/exit/exit.md and tasks/process/process.md have the protocols. */
#ifndef TASKS_PROCESS_GROUP_H
#define TASKS_PROCESS_GROUP_H

#include "tasks/thread/group.h"
#include "tasks/timer/timer.h"

/* What the parts above are told. */
struct group_hooks {
    void (*ending)(void);               /* some group here is to end: end waits on its behalf */
    void (*release_files)(void *files); /* the group is over */
    /* It runs another program, and has one thread: descriptors of its own, without what is closed then. -ENOMEM. */
    int (*exec_files)(struct group *group);
    /* Descriptors are below COUNT from now on, and files get no longer than BYTES; a lock is held. */
    void (*limit_files)(void *files, uint64_t count, uint64_t bytes);
    /* CPU time is limited to SOFT s, and to HARD s at most: tasks/timer/process. No locks. */
    void (*limit_time)(struct group *group, uint64_t soft, uint64_t hard);
    void (*alarm)(struct timer *timer); /* ITIMER_REAL of a process (struct process, alarm) has come to its end */
    /* *OUT becomes a copy of the descriptors of PARENT, of any home, for a child whose home this kernel is; or
     * PARENT's, at home here, are shared: descriptors (FILES), working directory (DIRECTORY). Waits. */
    int (*fork_files)(struct group *parent, bool files, bool directory, void **out);
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
/* Frees one that was never published, without its space. */
void group_abandon(struct group *group);
/* Keeps the memory of GROUP on this kernel, and the group that has it, until group_unpin of *HOST_OUT:
 * its end, and exec, wait. -ESRCH: it ends, begins another program, or has no memory any more. */
int group_pin(struct group *group, struct group **host_out);
void group_unpin(struct group *host);

/* The kernels that host it, as this one knows them; none while it uses its parent's memory. Its lock is held. */
kernel_set group_members_locked(struct group *group);
/* Puts THREAD, which does not run yet, into its group; it begins by being quiesced if the group is stopped. -ESRCH: the
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
/* One thread (or pin) less, with the group's lock held. *ANSWER: the kept GROUP_KILL is to be answered
 * (group_answer_kill) once the lock is free; a reference for that was taken. */
void group_count_down_locked(struct group *group, bool *answer);
/* Answers it, if ANSWER. */
void group_answer_kill(struct group *group, bool answer);
/* What that answer says of GROUP, of which no thread is left here to add to it. */
struct msg_group_killed;
void group_tell_killed(const struct group *group, struct msg_group_killed *out);
/* The last use of a kept request of GROUP: the reference that was kept with it is given back. */
void group_kept_done(struct msg_kept *kept);

#endif
