/* Operations on one open file, on its own kernel: from FILE_READ to FILE_SEALS of wire.h. The file's kind does some of
 * them (struct file_kind), the tree those on nodes (struct node_hooks); the rest are done here. */
#ifndef KERNEL_FILE_OPERATION_H
#define KERNEL_FILE_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/file/file.h"
#include "kernel/file/wire.h"

/* Does REQUEST on FILE, which is of this kernel and pinned. Any context; tasks only for a kind that waits, except for
 * FILE_LOCK. FILE_MOVES: nothing was done; a task has to do it, by file_do_waiting. */
int64_t file_do(struct file *file, const struct file_request *request, const void *data, size_t size, void *result,
                size_t room, struct file_answer *answer);
/* The same, but waits until pages that move have moved. Tasks only. */
int64_t file_do_waiting(struct file *file, const struct file_request *request, const void *data, size_t size,
                        void *result, size_t room, struct file_answer *answer);

/* FILE_CHANGE of a file without a node, which keeps the change only while it is open, unless its kind does. -EPERM:
 * the user in DATA may not. -EPROTO. */
int64_t file_change_facts(struct file *file, const void *data, size_t size);

/* SIZE bytes at FILE's offset (or at AT, when that is not negative) of a kind that is seekable: points *FROM at them,
 * sets *OFFSET to their offset, and returns how many there are. */
int64_t file_peek(struct file *file, size_t size, int64_t at, uint64_t *offset, const void **from);
/* COUNT bytes at OFFSET have been read: advances FILE's offset if it is still OFFSET. False: it has changed. */
bool file_advance(struct file *file, uint64_t offset, uint64_t count);

/* Operations on the nodes of open files (file_kind.of_node), filled in by kernel/fs/tree. None waits. */
struct node_hooks {
    void (*facts)(struct node *node, struct file_facts *facts);
    /* USER NULL: root. Notifies inotify watches of the node. -EPERM, -EACCES: USER has no permission. */
    int64_t (*change)(struct node *node, const struct file_user *user, const struct node_change *change);
    /* Writes its absolute name, seen from ROOT (NULL: the tree's root), returns the length. -ENOENT, -ENAMETOOLONG. */
    int64_t (*name)(struct node *node, const struct node *root, char *out, size_t size);
    void (*space)(struct file_space *space); /* of the file system */
    /* FILE_ATTRIBUTE, for files with and without a node. */
    int64_t (*attribute)(const struct file *file, const struct file_request *request, const void *data, size_t size,
                         void *result, size_t room);
};
extern struct node_hooks node_hooks; /* [i] */

#endif
