/* The tree of files, in the memory of kernel 0: directories, whose entries lead to nodes (kernel/fs/node/node.h),
 * filled from the boot image. Any kernel sends one request to kernel 0 for each operation (kernel/fs/name/name.h,
 * NAME_OPEN and others); the functions here perform it at once and never wait. kernel/fs/tree/tree.md has the protocol.
 *
 * One lock protects all names: entries, parents, targets of symbolic links, and link counts. It is taken before a
 * node's lock and before that of the table of files. */
#ifndef KERNEL_FS_TREE_TREE_H
#define KERNEL_FS_TREE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/file/wire.h"
#include "kernel/fs/node/node.h"

#define TREE_DEVICE 1u /* st_dev of everything in the tree */

struct host_share;

/* The results of an operation. */
struct tree_result {
    struct msg_file_named answer;
    struct file_facts facts; /* if answer.facts */
    char *text;              /* heap, PATH_MAX bytes, or NULL: NAMED_ON, NAME_READ_LINK, NAME_OPEN with OPEN_RUN */
    bool waits; /* nothing was done: the name leads into a share, so a task performs the operation by share_do */
    struct host_share *share; /* with `waits`, at a mount: TEXT is the rest of the name; or NULL */
    struct node *cut, *fifo;  /* inside tree_do: file to truncate, or FIFO to open, once no lock is held */
};

/* Fills in node_hooks (kernel/file/operation.h) for open files with a node. Called once on every kernel. */
void tree_files_init(void);
/* Makes an empty tree with a root. Kernel 0 only, once. */
void tree_init(void);
/* Adds a node named NAME, counted from the root, and missing directories on the way. It replaces a node of that name;
 * of an existing directory, a directory replaces the mode only. For the boot image. CONTENT is the target of a link, or
 * the bytes of a regular file, which must stay. -ENOMEM, -ENOSPC, -ENOTDIR, -EEXIST: a directory has the name; -EBUSY:
 * below a mount; -EINVAL: a name with "..", or too long. */
struct tree_seed {
    const char *name;
    uint32_t mode, uid, gid;
    uint64_t rdev, mtime; /* mtime: ns */
    const void *content;
    size_t size;
};
int tree_seed(const struct tree_seed *seed);
/* Removes NAME if it is the character device NUMBER. */
void tree_remove_device(const char *name, uint64_t number);
/* Makes /dev, /proc, /sys, /tmp and their entries, unless they exist. */
void tree_seed_rest(void);
/* Mounts SHARE at the directory NAME, counted from the root, which is made if it is missing; *MOUNT is its node.
 * -ENOTDIR, -EINVAL, -ENOMEM, -ENOSPC; -EBUSY: NAME is the root, or a mount, or below one. */
int tree_mount(const char *name, struct host_share *share, struct node **mount);

/* Performs ASKED for USER (NULL: root) with the names FIRST and SECOND (or ""). The caller frees RESULT->text, if it is
 * not NULL. Any context of kernel 0. Returns answer.value. */
int64_t tree_do(const struct msg_file_name *asked, const struct file_user *user, const char *first, const char *second,
                struct tree_result *result);

/* Sets *ROOT to the root of USER (NULL: root's); it is valid as long as *FILE, if not NULL, is pinned. 0, or -ESRCH: it
 * was closed. */
int64_t tree_find_root(const struct file_user *user, struct file **file, struct node **root);

/* Returns true if NAME, which begins at open file START of this kernel, is relative to, or is, an open file of a share.
 * Any context. */
bool tree_begins_in_share(uint64_t start, const char *name);

/* Fills in NODE's facts for stat. */
void tree_facts(struct node *node, struct file_facts *facts);
/* Writes the absolute name of NODE to OUT; of a node with several names, one of them. ROOT, if not NULL, is the
 * caller's root; a name that is not below it begins with "(unreachable)". Returns the length; -ENOENT: the node has no
 * name any more; -ENAMETOOLONG. */
int64_t tree_name(struct node *node, const struct node *root, char *out, size_t size);

#endif
