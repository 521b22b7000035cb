/* Thread groups: a process. Each kernel that hosts a member has a struct group; the one on the group's home, the kernel
 * it began on, also knows who else hosts members, how many threads there are, the children, and decides the end.
 * tasks/migration.md and tasks/exit.md have the protocols.
 *
 * Marks: [i] set once, [g] under group->lock. Lock order: group->lock, then space->lock, then run queues. */
#ifndef TASKS_GROUP_H
#define TASKS_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space.h"
#include "msg/channel.h"
#include "tasks/thread.h"
#include "tasks/waitq.h"
#include "tasks/work.h"

struct group {
    struct list node;    /* in the table of groups */
    uint32_t references; /* under the table's lock */
    uint32_t id;         /* [i] thread id of the first thread */
    uint32_t home;       /* [i] kernel */
    struct space *space; /* [i] NULL in a tombstone: a kernel told of the end before it hosted a member */
    struct spinlock lock;
    struct list threads;   /* [g] those on this kernel, present and shadow */
    uint32_t count;        /* [g] how many, until their last CPU has left their stacks */
    volatile bool exiting; /* [g] written; read without: every thread here is to die */
    struct msg_kept kept;  /* [g] GROUP_KILL, to be answered when count is 0; later GROUP_FREE */
    bool kill_waits;       /* [g] the first is there */
    struct work work;      /* the end of the group runs here */

    /* home only */
    uint32_t live;           /* [g] threads in the whole machine */
    uint32_t status;         /* [g] of the end, as waitpid's; valid once exiting */
    uint32_t leader_status;  /* [g] what the first thread left, if it went by itself */
    struct completion quiet; /* signalled when count is 0 and exiting */
    struct group *parent;    /* [i] with a reference, or NULL */
    struct list children;    /* [g] struct child: what waitpid finds */
    struct waitq child_wait; /* [g] */
    void *files;             /* [i] descriptors, owned by the file system */
};

struct child {
    struct list node; /* in the parent's children */
    uint32_t id;
    uint32_t status;
    bool ended;
};

/* What the parts above are told. */
struct group_hooks {
    void (*ending)(void);                 /* some group here is to end: end waits on its behalf */
    void (*release_files)(void *files);   /* the group is over */
    void (*first_ended)(uint32_t status); /* the machine's first process is over */
};
extern struct group_hooks group_hooks; /* [i] */

void group_init(void);

/* Makes group ID with a space of its own (SPACE false: a tombstone) on this kernel, with one reference, the table's.
 * NULL without memory. */
struct group *group_create(uint32_t id, uint32_t home, bool space);
/* The group ID on this kernel with a reference taken, or NULL. */
struct group *group_find(uint32_t id);
void group_get(struct group *group);
void group_put(struct group *group);
/* Takes the group out of the table. */
void group_forget(struct group *group);

struct space *group_space(struct group *group);
static inline bool group_exiting(const struct group *group)
{
    return group != NULL && __atomic_load_n(&group->exiting, __ATOMIC_SEQ_CST);
}

/* Puts THREAD into its group. -ESRCH when the group is exiting. */
int group_add_thread(struct group *group, struct thread *thread);
/* Home only: counts one thread more in the machine. -ESRCH when the group is exiting. */
int group_count_thread(struct group *group);
/* Home only: KERNEL is about to host members. -ESRCH when the group is exiting, -EINVAL: there is no such kernel. */
int group_join(struct group *group, uint32_t kernel);

#endif
