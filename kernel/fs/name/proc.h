/* Walking below /proc and /sys, whose contents each kernel generates itself. */
#ifndef KERNEL_FS_NAME_PROC_H
#define KERNEL_FS_NAME_PROC_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/file/wire.h"

enum proc_way {
    PROC_OUT,   /* TEXT is absolute, and continues in the tree */
    PROC_IN,    /* TEXT is a normalized name below /proc or /sys, which need not exist */
    PROC_MAGIC, /* the last part is a link to an open file without a name: PLACE */
};

struct proc_walk {
    char *text; /* heap, PATH_MAX bytes: an absolute path; after the walk as enum proc_way says */
    uint32_t links;
    bool directory; /* PROC_IN: the name must be a directory */
    struct file_place place;
};

/* Returns true if TEXT begins with /proc or /sys. */
bool name_is_proc(const char *text);
/* Walks along walk->text. FOLLOW: also follow a link in the last part. Returns enum proc_way or a negative errno. Tasks
 * only; waits. */
int64_t name_walk_proc(struct proc_walk *walk, bool follow);
/* Performs ASKED on walk->text (PROC_IN), which is the second of two names if SECOND, else the first. *OUT is the
 * opened file. RESULT_TEXT has PATH_MAX bytes for the target of a link. */
int64_t name_do_proc(const struct msg_file_name *asked, const struct proc_walk *walk, bool second,
                     struct file_facts *facts, char *result_text, struct file **out);

#endif
