/* Members of thread groups: making a group, adding and removing threads, their resource use, and pinning the group's
 * memory. tasks/thread/group.h has the structure and the table; tasks/migrate/migration.md, tasks/exit/exit.md and
 * tasks/process/process.md have the protocols. */
#ifndef TASKS_PROCESS_GROUP_H
#define TASKS_PROCESS_GROUP_H

#include "tasks/thread/group.h"
#include "tasks/timer/timer.h"

/* Calls to higher rooms and layers. */
struct group_hooks {
    void (*ending)(void);               /* some group here is to end: waits on behalf of its files are to end */
    void (*release_files)(void *files); /* the group has ended */
    /* exec: GROUP has one thread; it gets its own descriptor table, without those that are closed on exec. -ENOMEM. */
    int (*exec_files)(struct group *group);
    /* From now on descriptors are below COUNT, and files do not grow beyond BYTES; a lock is held. */
    void (*limit_files)(void *files, uint64_t count, uint64_t bytes);
    /* CPU time is limited to SOFT s, and to HARD s at most: tasks/timer/process. No locks. */
    void (*limit_time)(struct group *group, uint64_t soft, uint64_t hard);
    void (*alarm)(struct timer *timer); /* ITIMER_REAL of a process (struct process, alarm) has expired */
    /* *OUT becomes a copy of the descriptors of PARENT, of any home, for a child whose home this kernel is. If PARENT
     * is at home here, the descriptors (FILES) or the working directory (DIRECTORY) may be shared instead. Waits. */
    int (*fork_files)(struct group *parent, bool files, bool directory, void **out);
    /* Sets the root directory in CREDENTIALS, of the first thread of a child with FILES, to that of FILES. */
    void (*begin_root)(void *files, struct credentials *credentials);
    /* Opens a descriptor of CHILD, which is being made, for the current process, and writes its number to user address
     * ADDRESS. Waits. On an error no descriptor is open. */
    int (*open_process)(struct group *child, uint64_t address);
    void (*first_begins)(uint32_t session); /* the machine's first process, a session leader, is about to run */
    void (*first_ended)(uint32_t status);   /* that process has ended */
    void (*ended)(struct group *group);     /* a process at home here has ended: its threads and its memory are gone */
    void (*session_ended)(
        uint32_t session); /* its leader, other than the first process, has ended. In a task; may wait */
};
extern struct group_hooks group_hooks; /* [i] */

void group_init(void);

/* Makes group ID on this kernel with SPACE, which may be NULL and set later, and with one reference, for the table; it
 * is not in the table yet. NULL without memory. */
struct group *group_create(uint32_t id, uint32_t home, struct space *space);
/* Counts THREAD, which was created on this kernel and is, as far as known here, now on KERNEL, for KERNEL in
 * group->made. -1: it is on none any more. group_made_begin allocates the counts; without them nothing is counted. */
void group_made_begin(struct group *group);
void group_made_locked(struct group *group, struct thread *thread, int32_t kernel);
/* Frees a group that was never published, without its space. */
void group_abandon(struct group *group);
/* Pins the address space of GROUP on this kernel, and the group that owns it, until group_unpin of *HOST_OUT: the end
 * of that group, and exec, wait for the pin. -ESRCH: the group is ending, is about to run another program, or has no
 * memory any more. */
int group_pin(struct group *group, struct group **host_out);
void group_unpin(struct group *host);

/* The kernels that host GROUP, as far as this one knows; none while it uses its parent's memory. Its lock is held. */
kernel_set group_members_locked(struct group *group);
/* Puts THREAD, which does not run yet, into its group. If the group is stopped, THREAD quiesces before it enters user
 * mode. -ESRCH: the group is exiting, or all its threads but one are being killed for exec. */
int group_add_thread(struct group *group, struct thread *thread);
int group_add_thread_locked(struct group *group, struct thread *thread);
/* CPU time, in ns, of the threads that are here or ended here: for each thread, its CPU time on all kernels. */
void group_cpu_time(struct group *group, uint64_t *user, uint64_t *system);
/* The counters of GROUP's threads on this kernel, including threads that left or ended; and the most pages of its
 * memory that this kernel has had. */
void group_account(struct group *group, struct account *out, uint64_t *peak);
/* Asks the home to count one more thread in the machine. -EAGAIN: the group is ending, or about to run another program.
 * Waits for the home. */
int group_count_thread(struct group *group);
/* Counts one thread (or pin) less, with the group's lock held. *ANSWER: the caller must answer the kept GROUP_KILL
 * (group_answer_kill) once the lock is free; a reference for that was taken. */
void group_count_down_locked(struct group *group, bool *answer);
/* Answers the kept GROUP_KILL if ANSWER. */
void group_answer_kill(struct group *group, bool answer);
/* Fills in that answer for GROUP, which has no thread left here. */
struct msg_group_killed;
void group_tell_killed(const struct group *group, struct msg_group_killed *out);
/* Ends the use of a kept request of GROUP, and gives back the reference that was taken for it. */
void group_kept_done(struct msg_kept *kept);

#endif
