/* inotify(7): an open file on kernel 0, where the tree is, that queues events of nodes (kernel/fs/node/notify.h).
 * kernel/fs/inotify/inotify.md describes it. Nothing here waits. */
#ifndef KERNEL_FS_INOTIFY_INOTIFY_H
#define KERNEL_FS_INOTIFY_INOTIFY_H

#include <stdint.h>

#include "kernel/fs/node/notify.h"

struct watch_change { /* SPECIAL_WATCH */
    uint64_t id;      /* an open file of kernel 0 to watch, or 0 */
    uint32_t mask;    /* events to watch; 0 with ID 0: watch NUMBER is removed (NUMBER 0: none) */
    int32_t number;
};

/* Registers the function that makes inotify files (ANONYMOUS_WATCH) and the hooks of notify.h. Called once. */
void inotify_init(void);

#endif
