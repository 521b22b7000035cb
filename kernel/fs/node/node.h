/* Nodes: files without their names (Unix's inodes), in this kernel's memory. Those that have names in the tree, and
 * those that never had one (memfd_create), are all on kernel 0, which never stops: what names them, an open file or a
 * mapping, stays good whatever kernel goes. A node's number is its inode number and, for a regular file, the number
 * under which its pages can be mapped (its object, mm/area/backing.h); it is used again only when nobody refers to the
 * node.
 *
 * A node's names, its open files, and kernels with spaces that map it (map.h) hold references to it. When the last
 * reference is dropped the node is freed with all that it has.
 *
 * Marks: [i] set once, [a] atomic, [n] under node->lock. */
#ifndef KERNEL_FS_NODE_NODE_H
#define KERNEL_FS_NODE_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/file/file.h"
#include "kernel/fs/node/content.h"
#include "tasks/remote/work.h"

struct attribute;
struct file_answer;
struct file_stamps; /* mm/file/hold.h */
struct node;
struct node_maps;

/* What a node is that is neither in the tree nor a file without a name: filled in by the room that makes it. Any
 * context. */
struct node_owner {
    /* What a program that has it mapped is told: its name, "" if it has none, in PATH_MAX bytes, and its facts. */
    void (*describe)(struct node *node, char *name, struct file_facts *facts);
    /* A home of spaces has given back grants (map.h): STAMPS (or NULL) is what it knew; LAST: nobody has one any more.
     * Also under a space's lock; not under the node's. NULL: it does not matter. */
    void (*given_back)(struct node *node, const struct file_stamps *stamps, bool last);
};

#define SEAL_SEAL 1u /* as F_SEAL_* */
#define SEAL_SHRINK 2u
#define SEAL_GROW 4u
#define SEAL_WRITE 8u
#define SEAL_FUTURE_WRITE 16u
#define SEAL_ALL 31u

struct node {
    uint32_t number;                /* [i] */
    uint32_t references;            /* [a] */
    struct spinlock lock;           /* after space->lock and file->lock; before those of frames and of the heap */
    uint32_t mode;                  /* [n] the type, which stays, and permissions: as st_mode */
    uint32_t uid, gid;              /* [n] */
    uint32_t links;                 /* [n] */
    uint64_t device;                /* [i] st_rdev */
    uint64_t atime, mtime, ctime;   /* [n] ns since 1970 */
    uint64_t version;               /* [n] see node_version */
    struct content content;         /* [n] a regular file's */
    struct node_maps *maps;         /* [n] the kernels that map it, or NULL: it was never mapped */
    uint32_t seals;                 /* [n] F_SEAL_* */
    uint32_t segment;               /* [i] of System V shared memory: its id and 1 more */
    const struct node_owner *owner; /* [i] or NULL */
    struct list watches;            /* kernel/fs/inotify/inotify.c, under its lock; zeros: there never was one */
    struct attribute *attributes;   /* [n] kernel/fs/node/attribute.c */
    uint64_t attribute_bytes;       /* [n] of all of them */
    bool lock_wanted;               /* [n] a thread waits for a lock */
    struct list locks;              /* [n] struct range_lock */
    struct file_events events;      /* of all its open files, if it is a regular file */
    void *state;                    /* what else its type has: the tree's */
    void (*end)(struct node *node); /* [i] gives back STATE, or NULL */
    struct work work;               /* for its end */
};

/* A node of MODE (type and permissions) with one reference, the caller's, no link, all times now. NULL: no memory, or
 * no number is free. */
struct node *node_create(uint32_t mode);
/* The node NUMBER of this kernel with one reference more, or NULL. Any context; O(1). */
struct node *node_find(uint64_t number);
/* Adds a reference; the caller has one. */
void node_hold(struct node *node);
/* Drops a reference. Any context; never waits: a worker frees large content. */
void node_put(struct node *node);

/* ns since 1970, for times of nodes. */
uint64_t node_now(void);
/* node->lock is held: its bytes change, or what it is changes. */
void node_changed_locked(struct node *node);
void node_status_changed_locked(struct node *node);
/* A number that is another one whenever the bytes may be others than when it was asked for the last time: each time,
 * as long as a program has a mapping of it that it may write. */
uint64_t node_version(struct node *node);
/* The node's facts for stat. */
void node_facts(struct node *node, struct file_facts *facts);

/* A regular file has SIZE bytes from now on; [START, END) of it is zeros. What programs still map of what has gone is
 * their own until they have let go of it: then ANSWER has FILE_SETTLES. -EFBIG, -EPERM: a seal, -ENOSPC. Never waits.
 */
int64_t node_resize(struct node *node, uint64_t size, struct file_answer *answer);
int64_t node_punch(struct node *node, uint64_t start, uint64_t end, struct file_answer *answer);

/* Memory is short: frames of files go that nobody maps and that can be had again from the boot image. True: one did.
 * No node is locked by the caller. */
bool node_drop_idle(void);
/* The number of nodes. */
uint64_t node_count(void);
/* Calls EACH for every node, with the table locked: EACH does not wait, and takes no references. */
void node_each(void (*each)(struct node *node, void *context), void *context);

#endif
