/* Work that a handler leaves to a task, because it may have to wait or takes long (msg/slice.h). tasks/remote/work.c
 * does it. Items are begun in the order of their submission, as long as there is memory for workers. An item that waits
 * keeps its kernel thread and does not hold up the next item.
 *
 * An item may wait for items of this or another kernel, also through a lock whose holder waits for them, only if their
 * rank is lower; or until a deadline. Without memory for another worker, an item begins only if as many workers stay
 * free as there are lower ranks: so those that it waits for can begin, whatever has been begun before.
 * tasks/remote/remote.md has the table. */
#ifndef KERNEL_WAIT_WORK_H
#define KERNEL_WAIT_WORK_H

#include "kernel/lib/list.h"

enum work_rank {
    WORK_LEAF,     /* waits for handlers and programs' threads at most: the rank of an item that is all zeros */
    WORK_ROUND,    /* what a task asks for that holds locks of ranges; the steps of a stop, or after a death */
    WORK_SHARE,    /* tries locks of ranges for pages that several spaces have; stops, which wait for steps */
    WORK_LOCKS,    /* takes other locks of ranges: reads and writes a process's memory */
    WORK_FILES,    /* operations on files and names */
    WORK_PROGRAMS, /* what a program's call may wait for, whatever its end */
    WORK_ENDS,     /* waits for the threads of a process to end their calls */
    WORK_RANKS
};

struct work {
    struct list node;
    enum work_rank rank;
    void (*run)(struct work *work); /* may free the item */
};

/* Has a worker call WORK's `run`. The caller keeps the item valid until then. Any context. */
void work_submit(struct work *work);

#endif
