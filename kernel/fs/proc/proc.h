/* /proc and /sys: text and directories made when they are opened, on the kernel that opens them. A directory is a table
 * of rows; rows whose names are not fixed, such as process ids, come from its `find` and `list`. */
#ifndef KERNEL_FS_PROC_PROC_H
#define KERNEL_FS_PROC_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/fs/text/dirent.h"
#include "kernel/fs/text/text.h"

/* The ids that `find` of the directories on the way has parsed: a process id, then a thread id. */
struct proc_at {
    uint64_t keys[2];
};

struct proc_directory;

/* One of WRITE, OPEN, LINK, DIRECTORY is given, or LINK and the DIRECTORY that it leads to. Tasks only: they may wait
 * for other kernels. */
struct proc_row {
    const char *name;
    /* The whole text; its memory is heap memory of text->size bytes and becomes the caller's. 0 or a negative errno. */
    int64_t (*write)(const struct proc_at *at, struct text *text);
    /* In its place: opens the file. -ENOENT and what it says. */
    int64_t (*open)(const struct proc_at *at, const struct file_facts *facts, uint32_t flags, struct file **out);
    /* Where a symbolic link leads: a path without NUL. Its length or a negative errno. */
    int64_t (*link)(const struct proc_at *at, char *out, size_t size);
    const struct proc_directory *directory;
    uint32_t mode;                     /* of what WRITE gives, or OPEN: permission bits; 0: 0444 */
    void (*enter)(struct proc_at *at); /* with LINK and DIRECTORY: fills AT in, as `find` does. Or NULL */
};

struct proc_directory {
    const struct proc_row *rows;
    uint32_t count;
    /* For names that are no row's: fills AT in. NULL: there is no such thing. Or NULL: there are no such names. */
    const struct proc_directory *(*find)(struct proc_at *at, const char *name, size_t length);
    void (*list)(const struct proc_at *at, struct dirents *to);
    /* Opens it as NAME, in place of a list of what there is now. Or NULL. */
    int64_t (*open)(const struct proc_at *at, const char *name, const struct file_facts *facts, uint32_t flags,
                    struct file **out);
};

/* Registers the messages, and /proc. Every kernel, once. */
void proc_init(void);
/* DIRECTORY is NAME of the root directory from now on: kernel/fs/sys has /sys. Before programs run. */
void proc_add_tree(const char *name, const struct proc_directory *directory);
/* Whether NAME, as path_normalize writes it, is /proc, /sys or below them. */
bool proc_has(const char *name);
/* NAME is such a name. -ENOENT, -ENOTDIR, -ENOMEM. Tasks only. Links are not followed: -ELOOP to open one. */
int64_t proc_open(const char *name, uint32_t flags, struct file **out);
int64_t proc_stat(const char *name, struct file_facts *facts);
int64_t proc_link(const char *name, char *out, size_t size);

/* Allocates TEXT with SIZE bytes. -ENOMEM. */
int64_t proc_text(struct text *text, size_t size);
/* Makes room for MORE bytes. -ENOMEM: the text is as before. */
int64_t proc_text_grow(struct text *text, size_t more);

#endif
