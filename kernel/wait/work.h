/* Work that a handler leaves to a task, because it may have to wait or takes long (msg/slice.h). tasks/remote/work.c
 * does it. Items are begun in the order of their submission. An item that waits keeps its kernel thread and does not
 * hold up the next item. */
#ifndef KERNEL_WAIT_WORK_H
#define KERNEL_WAIT_WORK_H

#include "kernel/lib/list.h"

struct work {
    struct list node;
    void (*run)(struct work *work); /* may free the item */
};

/* Has a worker call WORK's `run`. The caller keeps the item valid until then. Any context. */
void work_submit(struct work *work);

#endif
