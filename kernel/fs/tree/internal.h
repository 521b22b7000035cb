/* What the files of the tree share: kernel/fs/tree/tree.c, node.c, walk.c, change.c, open.c,
 * file.c. */
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
extern bool tree_has_shares; /* [i] once programs run: a share is mounted somewhere */

struct fifo;

struct tree_part {     /* node->state; under tree_lock */
    struct list names; /* struct entry.of_node */
    bool temporary;    /* made without a name (O_TMPFILE), and may get one */
    union {
        struct { /* a directory's */
            struct directory entries;
            struct node *parent; /* with a reference; the root's is itself, without */
            bool mount;          /* files of another kind are here, made by whoever asks: /proc, or: */
            struct host_share
                *share; /* of a directory of the host: only a task of this kernel can go on (kernel/fs/share/share.h) */
        };
        char *link; /* what a symbolic link says, heap */
        struct fifo *fifo;
    };
};

/* NODE has, or had, a name. */
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
    const struct file_user *user; /* for whom; NULL: root */
    struct node *root;            /* of that user */
    struct node *at;              /* the directory where it stands */
    const char *rest;             /* what is to be walked */
    uint32_t links;               /* followed so far */
    char *text;                   /* heap, PATH_MAX: where REST is once a link was followed, or NULL */
    /* with WALK_AWAY: what is mounted there, if TEXT is what is behind its name, or NULL */
    struct host_share *share;
    /* what walk_to_parent has found: */
    const char *name; /* the last part */
    size_t length;
    bool slash; /* there are slashes behind it */
    enum walk_last last;
    /* what walk_to_last has found: */
    struct entry *entry; /* NULL: no such name, or LAST is not WALK_NAME */
    struct node *node;   /* NULL: no such name */
};

/* Who walks, and from which root on. */
struct walker {
    const struct file_user *user; /* NULL: root */
    struct node *root;
};

/* Begins at START (NULL: the root), which is a directory unless PATH begins with a slash. -ENOENT: PATH is empty;
 * -ENOTDIR. */
int walk_begin(struct walk *walk, const struct walker *walker, struct node *start, const char *path, uint32_t links);
/* To the directory of the last part. 0 or a negative errno; WALK_AWAY: PATH goes on at a mount, as TEXT says, which
 * begins at the root, or at SHARE. */
#define WALK_AWAY 1
int walk_to_parent(struct walk *walk);
/* From there to the last part itself, which need not exist (NODE is NULL). A link is followed if FOLLOW or a slash is
 * behind it; then the last part is another. -ENOTDIR: a slash behind what is no directory. */
int walk_to_last(struct walk *walk, bool follow);
/* The last part, found by walk_to_last, is a link: to the directory of the last part that it leads to. As
 * walk_to_parent. */
int walk_on(struct walk *walk);
void walk_end(struct walk *walk);

/* --- nodes and entries; under tree_lock --- */

/* A node with what its kind needs (SIZE bytes of TEXT: what a link says), one reference, no names. -ENOMEM. */
int tree_make(uint32_t mode, uint64_t device, const char *text, size_t size, struct node **out);
/* Gives ENTRY, which leads nowhere, NODE, and puts it into DIRECTORY; NODE gets one reference and one link more. */
void tree_put(struct node *directory, struct entry *entry, struct node *node);
/* Takes ENTRY out of its directory, and its link from its node. The entry's reference becomes the caller's. */
void tree_take(struct entry *entry);
/* NODE's entries, links or facts have changed now. */
void tree_touch(struct node *node, bool content);
/* Makes what of ASKED the user may. -EPERM, -EACCES: USER (NULL: root) may not. Locks the node. */
int64_t tree_change(struct node *node, const struct file_user *user, const struct node_change *asked);
/* As tree_name. */
int64_t tree_name_locked(const struct node *node, const struct node *root, char *out, size_t size);

/* 0 or -EACCES: may the walk's user do MAY (MAY_*) with NODE? */
static inline int tree_may(const struct walk *walk, const struct node *node, uint32_t may)
{
    if (walk->user == NULL && may != MAY_EXECUTE)
        return 0;
    return permission_check(walk->user, node->mode, node->uid, node->gid, may);
}
/* NODE, made just now, and the directory it comes into: whose it is. */
void tree_own(const struct walk *walk, const struct node *directory, struct node *node);

/* --- operations; they lock --- */

int64_t tree_open(struct walk *walk, const struct msg_file_name *asked, struct tree_result *result, struct node **made);
int64_t tree_create(struct walk *walk, const struct msg_file_name *asked, const char *text);
int64_t tree_unlink(struct walk *walk, bool directory, struct node **gone);
int64_t tree_link(struct walk *from, struct walk *to, bool follow);
int64_t tree_rename(struct walk *from, struct walk *to, uint32_t flags, struct node **gone);

#endif
