/* /proc and /sys: text and directories generated when they are opened, on the kernel that opens them. A directory is a
 * table of rows; entries without fixed names, such as process ids, come from its `find` and `list`. */
#ifndef KERNEL_FS_PROC_PROC_H
#define KERNEL_FS_PROC_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/fs/text/dirent.h"
#include "kernel/fs/text/text.h"

/* Ids parsed by `find` of the directories on the path: a process id, then a thread id. */
struct proc_at {
    uint64_t keys[2];
};

struct proc_directory;

/* Each row has one of WRITE, OPEN, LINK and DIRECTORY, or LINK together with the DIRECTORY that it leads to. The
 * functions are called in tasks only, and may wait for other kernels. */
struct proc_row {
    const char *name;
    /* Writes the whole text; its memory, heap memory of text->size bytes, becomes the caller's. 0 or a negative errno.
     */
    int64_t (*write)(const struct proc_at *at, struct text *text);
    /* Opens the file, instead of WRITE. -ENOENT or another negative errno. */
    int64_t (*open)(const struct proc_at *at, const struct file_facts *facts, uint32_t flags, struct file **out);
    /* Writes the target of a symbolic link, without NUL. Returns its length or a negative errno. */
    int64_t (*link)(const struct proc_at *at, char *out, size_t size);
    const struct proc_directory *directory;
    uint32_t mode;                     /* permission bits of a file with WRITE or OPEN; 0: 0444 */
    void (*enter)(struct proc_at *at); /* with LINK and DIRECTORY: fills in AT, as `find` does; or NULL */
};

struct proc_directory {
    const struct proc_row *rows;
    uint32_t count;
    /* Looks up names that are not rows, and fills in AT. Returns NULL if the name does not exist. `find` is NULL if
     * there are only rows. */
    const struct proc_directory *(*find)(struct proc_at *at, const char *name, size_t length);
    void (*list)(const struct proc_at *at, struct dirents *to);
    /* Opens the directory under NAME, instead of a list of its current entries; or NULL. */
    int64_t (*open)(const struct proc_at *at, const char *name, const struct file_facts *facts, uint32_t flags,
                    struct file **out);
};

/* Registers the message handlers, and /proc. Called once on every kernel. */
void proc_init(void);
/* Adds DIRECTORY to the root directory as NAME (kernel/fs/sys adds /sys). Called before programs run. */
void proc_add_tree(const char *name, const struct proc_directory *directory);
/* Returns true if NAME, normalized (dirent.h), is /proc, /sys or below them. */
bool proc_has(const char *name);
/* Operations on such a name. Links are not followed; opening one is -ELOOP. -ENOENT, -ENOTDIR, -ENOMEM. Tasks only. */
int64_t proc_open(const char *name, uint32_t flags, struct file **out);
int64_t proc_stat(const char *name, struct file_facts *facts);
int64_t proc_link(const char *name, char *out, size_t size);

/* Allocates TEXT with SIZE bytes. -ENOMEM. */
int64_t proc_text(struct text *text, size_t size);
/* Makes room for MORE bytes. -ENOMEM: the text is as before. */
int64_t proc_text_grow(struct text *text, size_t more);

#endif
