/* The tree of files, in the memory of kernel 0: directories, whose entries lead to nodes (kernel/fs/node/node.h),
 * filled from the boot image. Any kernel asks kernel 0 by one message for each operation (kernel/fs/name/name.h,
 * NAME_OPEN and others); the functions here do it at once and never wait. kernel/fs/tree/tree.md has the protocol.
 *
 * One lock is for all names: entries, parents, the text of symbolic links, and link counts. It is taken before the lock
 * of a node and before that of the table of files. */
#ifndef KERNEL_FS_TREE_TREE_H
#define KERNEL_FS_TREE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/file/wire.h"
#include "kernel/fs/node/node.h"

#define TREE_DEVICE 1u /* st_dev of everything in the tree */

struct host_share;

/* The results of an operation besides the answer. */
struct tree_result {
    struct msg_file_named answer;
    struct file_facts facts;  /* if answer.facts */
    char *text;               /* heap, PATH_MAX bytes, or NULL: NAMED_ON, NAME_READ_LINK, NAME_OPEN with OPEN_RUN */
    bool waits;               /* nothing was done: the name leads into a share, so a task does it, by share_do */
    struct host_share *share; /* with that, if the name is not relative to an open file of it: TEXT is what is behind */
    struct node *cut, *fifo;  /* in between: O_TRUNC is to be done, or a FIFO to be opened, once no lock is held */
};

/* Fills in node_hooks (kernel/file/operation.h) for open files with a node. Every kernel, once. */
void tree_files_init(void);
/* An empty tree with a root. Kernel 0 only, once. */
void tree_init(void);
/* Puts a node under NAME, which begins at the root; directories on the way are made. What was there is replaced, unless
 * both are directories. For the boot image. CONTENT: what a link says, or bytes of a regular file that stay. -ENOMEM,
 * -ENOTDIR, -EEXIST, -EINVAL: a name with "..". */
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
/* Makes /dev, /proc, /tmp and their entries, unless they exist. */
void tree_seed_rest(void);
/* The directory NAME, which begins at the root and is made if it is not there, is where SHARE is from now on; *MOUNT is
 * its node. -ENOTDIR, -EINVAL, -ENOSPC; -EBUSY: it is the root, or something is mounted there
 * or above. */
int tree_mount(const char *name, struct host_share *share, struct node **mount);

/* Does ASKED for USER (NULL: root) with the names FIRST and SECOND (or ""); RESULT->text, if not NULL, is the caller's
 * to free. Any context of kernel 0. Returns answer.value. */
int64_t tree_do(const struct msg_file_name *asked, const struct file_user *user, const char *first, const char *second,
                struct tree_result *result);

/* The root of USER (NULL: root) is *ROOT, as long as *FILE, if not NULL, is pinned. 0, or -ESRCH: it was closed. */
int64_t tree_find_root(const struct file_user *user, struct file **file, struct node **root);

/* NAME, which begins at file START of this kernel, is relative to, or is, an open file of a share. Any context. */
bool tree_begins_in_share(uint64_t start, const char *name);

/* NODE's facts for stat. */
void tree_facts(struct node *node, struct file_facts *facts);
/* The name of NODE from the root on, with a slash before it; of one with several, one of them. ROOT, if not NULL, is
 * the asker's root; a name that is not below it begins with "(unreachable)". Returns its length; -ENOENT: it has
 * none any more; -ENAMETOOLONG. */
int64_t tree_name(struct node *node, const struct node *root, char *out, size_t size);

#endif
