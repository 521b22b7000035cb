/* Types of members of struct group on which threads wait or which are passed to workers. Their operations need threads,
 * so they are in higher rooms: waitq in tasks/sched/waitq.h, watch_source in tasks/remote/watch.h. */
#ifndef TASKS_THREAD_WAIT_H
#define TASKS_THREAD_WAIT_H

#include <stdint.h>

#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/lib/list.h"
#include "kernel/wait/work.h"

struct waitq {
    struct list waiters; /* [k] under the lock that protects the condition */
};

/* Embedded in the watched object. */
struct watch_source {
    struct spinlock lock;
    uint64_t events;      /* [k] */
    struct waitq waiters; /* [k] threads here */
    struct waitq owed;    /* [k] threads here that are still to be woken for an event */
    struct list owing;    /* [k] and under the lock of the list of sources with such threads: its place in that list */
    struct list watchers; /* [k] kept requests of other kernels */
};

#endif
