/* Walking below /proc and /sys, whose text and directories each kernel makes itself. */
#ifndef KERNEL_FS_NAME_PROC_H
#define KERNEL_FS_NAME_PROC_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/file/wire.h"

enum proc_way {
    PROC_OUT,   /* TEXT, absolute, goes on in the tree */
    PROC_IN,    /* TEXT is a name there, as path_normalize writes it; it need not exist */
    PROC_MAGIC, /* the last part is a link to an open file without a name: PLACE */
};

struct proc_walk {
    char *text; /* heap, PATH_MAX: an absolute path, then as said above */
    uint32_t links;
    bool directory; /* PROC_IN: only a directory will do */
    struct file_place place;
};

/* TEXT begins with /proc or /sys. */
bool name_is_proc(const char *text);
/* Walks; FOLLOW: also a link in the last part. Returns enum proc_way or a negative errno. Tasks only; waits. */
int64_t name_walk_proc(struct proc_walk *walk, bool follow);
/* Does ASKED with TEXT (PROC_IN). SECOND: it is the second name of two, else the first. An open file is in
 * *OUT. RESULT_TEXT: PATH_MAX bytes for what a link says. */
int64_t name_do_proc(const struct msg_file_name *asked, const struct proc_walk *walk, bool second,
                     struct file_facts *facts, char *result_text, struct file **out);

#endif
