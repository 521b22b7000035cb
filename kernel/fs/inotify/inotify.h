/* inotify(7): an open file of kernel 0, where the tree is, that tells what happens to nodes (kernel/fs/node/notify.h).
 * kernel/fs/inotify/inotify.md. Nothing here waits. */
#ifndef KERNEL_FS_INOTIFY_INOTIFY_H
#define KERNEL_FS_INOTIFY_INOTIFY_H

#include <stdint.h>

#include "kernel/fs/node/notify.h"

struct watch_change { /* SPECIAL_WATCH */
    uint64_t id;      /* an open file of kernel 0; 0: nothing is changed, only asked whether it is an inotify file */
    uint32_t mask;    /* 0: watch NUMBER is removed */
    int32_t number;
};

/* Registers the maker of inotify files (ANONYMOUS_WATCH) and the hooks of notify.h. Once. */
void inotify_init(void);

#endif
