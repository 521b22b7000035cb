/* Nodes: files without their names (Unix's inodes), in this kernel's memory. All nodes, with names in the tree or
 * without (memfd_create), are on kernel 0, which never stops, so an open file or a mapping stays valid whichever kernel
 * stops. A node's number is its inode number and, for a regular file, the number under which its pages can be mapped
 * (its object, mm/area/backing.h). A number is reused only when nothing refers to the old node any more, not
 * even a thread that waits for a futex word in it (tasks/futex/word/object.h).
 *
 * A node's names, its open files, and kernels with spaces that map it (map.h) hold references to it. When the last
 * reference is dropped, the node is freed with all that it has.
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
struct node_policies;

/* Callbacks of nodes that are neither in the tree nor made by memfd_create, filled in by the room that makes such
 * nodes. Called in any context. */
struct node_owner {
    /* Writes the node's name (in PATH_MAX bytes; "" if it has none) and facts, for programs that have it mapped. */
    void (*describe)(struct node *node, char *name, struct file_facts *facts);
    /* A home of spaces has returned grants (map.h). STAMPS is what it knew, or NULL. LAST: no kernel holds a grant any
     * more. Called without node->lock, but perhaps under a space's lock. NULL: not needed. */
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
    uint32_t mode;                  /* [n] as st_mode: the type, which never changes, and permissions */
    uint32_t uid, gid;              /* [n] */
    uint32_t cost;                  /* [n] bytes that UID has for it of QUOTA_FILE_BYTES, without its names */
    uint32_t links;                 /* written under tree_lock (kernel/fs/tree/tree.h), read under `lock`, too */
    uint64_t device;                /* [i] st_rdev */
    uint64_t atime, mtime, ctime;   /* [n] ns since 1970 */
    uint64_t version;               /* [n] see node_version */
    struct content content;         /* [n] of a regular file */
    struct node_maps *maps;         /* [n] kernels that map it; NULL: it was never mapped */
    struct node_policies *policies; /* [n] where new pages are placed (policy.h); NULL: it never had one */
    uint32_t seals;                 /* [n] F_SEAL_* */
    uint32_t writers, runs;         /* [n] of a regular file: see regular.h */
    uint32_t segment;               /* [i] System V shared memory: the segment's id plus 1; else 0 */
    const struct node_owner *owner; /* [i] or NULL */
    struct list watches;            /* under the lock of kernel/fs/inotify/inotify.c; zeros: never watched */
    struct attribute *attributes;   /* [n] kernel/fs/node/attribute.c */
    uint64_t attribute_bytes;       /* [n] names and values of `attributes` */
    bool lock_wanted;               /* [n] a thread waits for a lock */
    struct list locks;              /* [n] struct range_lock */
    struct file_events events;      /* events of all open files of a regular file */
    void *state;                    /* more state of its type, which the tree owns */
    void (*end)(struct node *node); /* [i] frees `state`; or NULL */
    struct work work;               /* frees a node with many pages */
};

/* Creates a node of MODE (type and permissions) with one reference, the caller's, no links, and all times set to now.
 * NULL: no memory, or no free number. */
struct node *node_create(uint32_t mode);
/* NODE, which was just made, belongs to user UID from now on, of whose quota it takes COST bytes and what the node
 * itself takes. -EDQUOT: UID has too much, -ENOMEM; the node then is root's. */
int node_own(struct node *node, uint32_t uid, uint32_t cost);
/* The same for a node that belongs to a user already, as root has decided: without a limit. node->lock is held.
 * -ENOMEM: nothing has changed. */
int node_give_locked(struct node *node, uint32_t uid);
/* NODE takes MORE bytes (less than none: fewer) of its user's quota. node->lock is held. -EDQUOT, -ENOMEM. */
int node_charge_locked(struct node *node, int64_t more);
/* Finds the node NUMBER of this kernel and takes a reference to it, or returns NULL. Any context; O(1). */
struct node *node_find(uint64_t number);
/* Takes another reference; the caller has one. */
void node_hold(struct node *node);
/* Pauses a worker that frees many pages, if a slice is over (msg/slice.h). */
void node_pause(void);
/* Drops a reference. Any context; never waits: a worker frees a node with many pages. */
void node_put(struct node *node);

/* The current time, in ns since 1970. */
uint64_t node_now(void);
/* node->lock is held. The node's bytes are changing (mtime, ctime, version), or its status (ctime). */
void node_changed_locked(struct node *node);
void node_status_changed_locked(struct node *node);
/* The node's bytes or names have been read (atime). As with Linux's relatime, most reads do not change it. */
void node_accessed_locked(struct node *node);
/* A number that changes whenever the bytes may have changed since the last call. While a mapping may write to the file,
 * it changes with every call. */
uint64_t node_version(struct node *node);
/* Fills in the node's facts for stat. */
void node_facts(struct node *node, struct file_facts *facts);

/* Sets the length of a regular file to SIZE bytes; punches the hole [START, END). Pages that programs still map stay
 * mapped until they are revoked; ANSWER then has FILE_SETTLES. -EFBIG, -EPERM: a seal forbids it, -ENOSPC; -EAGAIN: a
 * page moves of which a part is cut off or cleared, so never with SIZE 0; nothing has changed. Never waits. */
int64_t node_resize(struct node *node, uint64_t size, struct file_answer *answer);
int64_t node_punch(struct node *node, uint64_t start, uint64_t end, struct file_answer *answer);

/* After -EAGAIN, here or of the content: waits until the pages of NODE that move now have moved, and until those that a
 * call is to write have frames where their policy wants them. Tasks only. */
void node_await_moves(struct node *node);

/* Called when memory is short: frees frames of files that nobody maps and that equal the boot image. Returns true if
 * there was one. The caller holds no node's lock. */
bool node_drop_idle(void);
/* The number of nodes. */
uint64_t node_count(void);
/* Calls EACH, as node_each does, for the nodes from *NUMBER on, and moves *NUMBER behind them, until EACH returns
 * false: then to that node. Each number takes one of *LEFT, of which EACH may take more. True: EACH has returned false,
 * or none is left. */
bool node_some(uint64_t *number, uint32_t *left, bool (*each)(struct node *node, void *context), void *context);
/* Calls EACH for every node, with the table locked: EACH must not wait and takes no references. */
void node_each(void (*each)(struct node *node, void *context), void *context);

#endif
