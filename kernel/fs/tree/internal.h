/* Declarations shared by the files of this room. */
#ifndef KERNEL_FS_TREE_INTERNAL_H
#define KERNEL_FS_TREE_INTERNAL_H

#include <stdbool.h>

#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/file/path.h"
#include "kernel/file/permission.h"
#include "kernel/fs/tree/directory.h"
#include "kernel/fs/tree/tree.h"

extern struct spinlock tree_lock;
extern struct node *tree_root;
extern bool tree_has_shares; /* [i] once programs run: at least one share is mounted */

struct fifo;

struct tree_part {     /* node->state; under tree_lock */
    struct list names; /* struct entry.of_node */
    bool temporary;    /* made without a name (O_TMPFILE) and may be linked */
    union {
        struct { /* of a directory */
            struct directory entries;
            struct node *parent;      /* holds a reference; the root's parent is the root itself, without one */
            bool mount;               /* a mount: names below it are those of `share` or, if NULL, of /proc or /sys */
            struct host_share *share; /* a directory of the host (kernel/fs/share/share.h), or NULL */
        };
        char *link; /* target of a symbolic link, heap */
        struct fifo *fifo;
    };
};

/* The tree's part of NODE; NULL if the tree has not made NODE. */
static inline struct tree_part *tree_of(const struct node *node)
{
    return node->state;
}

static inline bool tree_is(const struct node *node, uint32_t type)
{
    return (node->mode & FILE_TYPE_MASK) == type;
}

#define LINKS_MAX 40u

/* --- walking; under tree_lock --- */

enum walk_last { WALK_NAME, WALK_DOT, WALK_DOT_DOT, WALK_ROOT };

struct walk {
    const struct file_user *user; /* walks for this user; NULL: root */
    struct node *root;            /* the root of that user */
    struct node *at;              /* the current directory of the walk */
    const char *rest;             /* rest of the path */
    uint32_t links;               /* links followed so far */
    char *text;                   /* heap, PATH_MAX bytes: contains REST once a link was followed; else NULL */
    /* With WALK_AWAY: the share that is mounted there, and TEXT is the rest of the name behind the mount; or NULL. */
    struct host_share *share;
    /* set by walk_to_parent: */
    const char *name; /* the last part */
    size_t length;
    bool slash; /* slashes follow it */
    enum walk_last last;
    /* set by walk_to_last: */
    struct entry *entry; /* NULL: no such name, or LAST is not WALK_NAME */
    struct node *node;   /* NULL: no such name */
};

/* The user of a walk and the root of that user. */
struct walker {
    const struct file_user *user; /* NULL: root */
    struct node *root;
};

/* Begins a walk at START (NULL: the user's root), which is a directory unless PATH begins with a slash. -ENOENT: PATH
 * is empty; -ENOTDIR. */
int walk_begin(struct walk *walk, const struct walker *walker, struct node *start, const char *path, uint32_t links);
/* Walks to the directory of the last part. 0 or a negative errno. WALK_AWAY: the path continues below a mount. TEXT is
 * then the rest of the name behind SHARE's mount or, if SHARE is NULL, a path from the tree's root. */
#define WALK_AWAY 1
int walk_to_parent(struct walk *walk);
/* Walks on to the last part, which need not exist (NODE is NULL then). A link is followed if FOLLOW, or if a slash
 * follows it; the last part is then that of the link's target. -ENOTDIR: a slash follows a node that is not a
 * directory. WALK_AWAY as above. */
int walk_to_last(struct walk *walk, bool follow);
/* The last part, found by walk_to_last, is a link: walks to the directory of the last part of its target. Returns as
 * walk_to_parent. */
int walk_on(struct walk *walk);
void walk_end(struct walk *walk);

/* --- nodes and entries; under tree_lock --- */

/* Makes a node with the state of its type, one reference and no names. TEXT (SIZE bytes) is the target of a symbolic
 * link. -ENOSPC: no memory, or no free node number. */
int tree_make(uint32_t mode, uint64_t device, const char *text, size_t size, struct node **out);
/* The same for WALK's user, who makes it in DIRECTORY: it has the owner and group of a new file there. -EDQUOT: the
 * owner has too much. */
int tree_make_in(const struct walk *walk, const struct node *directory, uint32_t mode, uint64_t device,
                 const char *text, size_t size, struct node **out);
/* Makes ENTRY, which is in no directory, lead to NODE, and adds it to DIRECTORY. NODE gains one reference and one link.
 */
void tree_put(struct node *directory, struct entry *entry, struct node *node);
/* Removes ENTRY from its directory, and its link from its node. The entry's reference to the node becomes the caller's.
 */
void tree_take(struct entry *entry);
/* Sets NODE's ctime to now and, with CONTENT, its mtime. */
void tree_touch(struct node *node, bool content);
/* Applies the changes of ASKED that USER (NULL: root) may make. -EPERM, -EACCES: USER may not. Locks the node. */
int64_t tree_change(struct node *node, const struct file_user *user, const struct node_change *asked);
/* As tree_name, under tree_lock. */
int64_t tree_name_locked(const struct node *node, const struct node *root, char *out, size_t size);

/* Checks whether the walk's user may access NODE with MAY (MAY_*). 0 or -EACCES. */
static inline int tree_may(const struct walk *walk, const struct node *node, uint32_t may)
{
    if (walk->user == NULL && may != MAY_EXECUTE)
        return 0;
    return permission_check(walk->user, node->mode, node->uid, node->gid, may);
}
/* The user of whose quota the names count that WALK's user makes. */
static inline uint32_t tree_user(const struct walk *walk)
{
    return walk->user != NULL ? walk->user->uid : 0;
}

/* --- operations; under tree_lock --- */

int64_t tree_open(struct walk *walk, const struct msg_file_name *asked, struct tree_result *result, struct node **made);
int64_t tree_create(struct walk *walk, const struct msg_file_name *asked, const char *text);
int64_t tree_unlink(struct walk *walk, bool directory, struct node **gone);
int64_t tree_link(struct walk *from, struct walk *to, bool follow);
int64_t tree_rename(struct walk *from, struct walk *to, uint32_t flags, struct node **gone);

#endif
