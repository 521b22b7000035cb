/* Members of thread groups: making a group, adding and removing threads, their resource use, and pinning the group's
 * memory. tasks/thread/group.h has the structure and the table; tasks/migrate/migration.md, tasks/exit/exit.md and
 * tasks/process/process.md have the protocols. */
#ifndef TASKS_PROCESS_GROUP_H
#define TASKS_PROCESS_GROUP_H

#include "tasks/thread/group.h"
#include "tasks/timer/timer.h"

/* Calls to higher rooms and layers. */
struct group_hooks {
    void (*killed)(struct group *group); /* the last thread here has died: replies to the kept GROUP_KILL */
    /* At the home: the end, which has left GROUP to its pins (process->is_pinned), goes on. Any context. */
    void (*unpinned)(struct group *group);
    void (*ending)(void);               /* a group here is ending: ends the waits on behalf of its files */
    void (*release_files)(void *files); /* the group has ended: releases its descriptors */
    /* exec: GROUP, which has one thread, gets its own descriptor table, without the descriptors that are closed on
     * exec. -ENOMEM. */
    int (*exec_files)(struct group *group);
    /* Sets the limits: new descriptors are below COUNT, and files do not grow beyond BYTES. The group's lock is
     * held. */
    void (*limit_files)(void *files, uint64_t count, uint64_t bytes);
    /* Limits the CPU time to SOFT seconds (SIGXCPU) and HARD seconds (SIGKILL): tasks/timer/process. Called without
     * locks. */
    void (*limit_time)(struct group *group, uint64_t soft, uint64_t hard);
    void (*alarm)(struct timer *timer); /* ITIMER_REAL of a process (struct process, alarm) has expired */
    /* *OUT becomes a copy of the descriptors of PARENT, of any home, for a child whose home this kernel is. If this
     * kernel is the home of PARENT too, the descriptors (FILES) or the working directory (DIRECTORY) may be shared
     * instead. Waits. */
    int (*fork_files)(struct group *parent, bool files, bool directory, void **out);
    /* Sets the root directory in CREDENTIALS, those of a child's first thread, to the root directory of the child's
     * FILES. */
    void (*begin_root)(void *files, struct credentials *credentials);
    /* Opens a descriptor of CHILD, which is being made, for the current process, and writes its number to user address
     * ADDRESS. Waits. On an error no descriptor is open. */
    int (*open_process)(struct group *child, uint64_t address);
    void (*first_begins)(uint32_t session); /* the machine's first process, a session leader, is about to run */
    void (*first_ended)(uint32_t status);   /* that process has ended */
    void (*ended)(struct group *group); /* a process with its home here has ended: its threads and memory are gone */
    void (*session_ended)(
        uint32_t session); /* the leader of SESSION, not the first process, has ended. In a task; may wait */
};
extern struct group_hooks group_hooks; /* [i] */

void group_init(void);

/* Makes group ID on this kernel with SPACE, which may be NULL and set later, and with one reference, for the table; it
 * is not in the table yet. NULL without memory. */
struct group *group_create(uint32_t id, uint32_t home, struct space *space);
/* Counts THREAD, which was created on this kernel and is now, as far as this kernel knows, on KERNEL, in
 * group->made[KERNEL]. KERNEL -1: the thread has ended. group_made_begin allocates the counts; without memory nothing
 * is counted. */
void group_made_begin(struct group *group);
void group_made_locked(struct group *group, struct thread *thread, int32_t kernel);
/* As group_made_locked, if THREAD is counted: it is on KERNEL now, or is to go there. */
void group_made_moves_locked(struct thread *thread, uint32_t kernel);
/* Frees a group that was never published, without its space. */
void group_abandon(struct group *group);
/* Pins the address space of GROUP on this kernel, and the group that owns it, until group_unpin of *HOST_OUT: that
 * group frees nothing before, at its end or at exec. -ESRCH: the group is ending, is about to run another program, or
 * has no address space any more. group_unpin is for tasks, and may wait for room in a ring. */
int group_pin(struct group *group, struct group **host_out);
void group_unpin(struct group *host);
/* As group_pin, also while that group ends or is in exec: as long as its threads, or other groups, may use the memory.
 */
int group_pin_ending(struct group *group, struct group **host_out);
/* The same for HOST, which owns its address space; ENDING: as group_pin_ending. HOST's lock is held. */
int group_pin_locked(struct group *host, bool ending);
/* At the home: whether the memory of GROUP is pinned, here or on a member that has answered GROUP_KILL. Its lock is
 * held. */
bool group_has_pins_locked(const struct group *group);
/* At the home of GROUP, which ends or is in exec: KERNEL, a member, has answered that its memory is pinned there, or
 * has said that it is not any more, in either order; or KERNEL has died. Any context. */
enum group_pins_news { GROUP_PINS_CHANGE, GROUP_PINS_LOST };
void group_pins_away(struct group *group, uint32_t kernel, enum group_pins_news news);

/* The kernels that host GROUP, as far as this one knows; none while the group uses its parent's address space. Its lock
 * is held. */
kernel_set group_members_locked(struct group *group);
/* Puts THREAD, which does not run yet, into its group. If the group is stopped, THREAD quiesces before it enters user
 * mode. -ESRCH: the group is exiting, or all its threads but one are being killed for exec. */
int group_add_thread(struct group *group, struct thread *thread);
/* The CPU time, in ns, of the threads that are or ended on this kernel. For each thread, this is its CPU time on all
 * kernels. */
void group_cpu_time(struct group *group, uint64_t *user, uint64_t *system);
/* The counters of GROUP's threads on this kernel, including threads that left or ended; and the most pages of its
 * memory that this kernel has had. */
void group_account(struct group *group, struct account *out, uint64_t *peak);
/* Asks the home to count one more thread in the machine. -EAGAIN: the group is ending, or about to run another program.
 * Waits for the home. */
int group_count_thread(struct group *group);
/* Subtracts one thread from group->count, with the group's lock held. *ANSWER: the caller must reply to the kept
 * GROUP_KILL (group_answer_kill) after it has released the lock; a reference was taken for that. */
void group_count_down_locked(struct group *group, bool *answer);
/* If ANSWER, replies to the kept GROUP_KILL. */
void group_answer_kill(struct group *group, bool answer);
/* Fills in the reply to GROUP_KILL for GROUP, which has no thread left here. */
struct msg_group_killed;
void group_notify_killed(const struct group *group, struct msg_group_killed *out);
/* Releases the reference to the group that was taken for its kept request. */
void group_kept_done(struct msg_kept *kept);

#endif
