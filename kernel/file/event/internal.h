/* What the files of epoll share.
 *
 * Marks: [i] set once, [a] atomic, [s] under epoll->scan, [r] under epoll->lock. Locks: nesting, scan of the outer set,
 * scan of an inner one, poll_lock, epoll->lock. */
#ifndef KERNEL_FILE_EVENT_INTERNAL_H
#define KERNEL_FILE_EVENT_INTERNAL_H

#include "kernel/file/event/epoll.h"
#include "kernel/file/event/look.h"
#include "tasks/remote/notify.h"
#include "tasks/sched/waitq.h"

#define EPOLL_BUCKETS 64u
#define EPOLL_FLAGS (EPOLL_EXCLUSIVE | EPOLL_WAKEUP | EPOLL_ONE_SHOT | EPOLL_EDGE)

/* The files of one other kernel. */
struct epoll_remote {
    struct epoll_remote *next; /* [s] */
    struct epoll *epoll;       /* [i] */
    uint32_t kernel;           /* [i] */
    uint32_t count;            /* [s] items */
    uint64_t changes;          /* [s] of its items */
    uint64_t asked;            /* [s] of them, when it was last asked */
    bool armed;                /* [s] none was ready when last asked, and it tells: others may be waiting for that */
    bool told;                 /* [a] it has */
    struct remote_wait wait;
};

struct epoll_item {
    struct list node; /* [s] in a bucket */
    struct epoll *epoll;
    struct poll_hook hook;
    struct list ready;           /* [r] among those that may be ready, or alone */
    struct list signalfd;        /* [s] among those that signals make ready, or alone */
    struct file *file;           /* [i] with a pin; NULL: of another kernel */
    struct epoll_remote *remote; /* [i] */
    struct file_place place;
    uint64_t data;   /* [s] */
    uint64_t seen;   /* [s] of another kernel: events of the file when it was last found ready; signals of a signalfd */
    uint32_t events; /* [s] POLL_* and EPOLL_* */
    int32_t fd;      /* [i] */
    bool disabled;   /* [s] one shot, and it is over */
};

struct epoll {
    struct spinlock scan;
    struct spinlock lock;
    struct file *file;                  /* [i] */
    struct list buckets[EPOLL_BUCKETS]; /* [s] */
    struct list ready;                  /* [r] */
    uint32_t ready_count;               /* [r] */
    struct list signalfds;              /* [s] */
    struct epoll_remote *remotes;       /* [s] */
    uint32_t above;                     /* [nesting] sets around this one, one in the other */
    bool closed;                        /* [s] */
    uint32_t turn;                      /* [s] which part is asked first */
    bool asking;                        /* [s] somebody asks other kernels */
    struct waitq asked;                 /* [s] */
    bool telling;                       /* [a] it is in a list of those to be told */
    struct poll_told told;
};

/* The set of FILE, or NULL: it is none. */
struct epoll *epoll_of(const struct file *file);
/* [s] Of the files here and of signalfds: writes at most MAX events behind OUT's, whose count grows. */
void epoll_collect(struct epoll *epoll, uint64_t signals, uint32_t max, struct epoll_found *out);
/* [s] ITEM has STATE: says whether that is an event, which is written behind OUT's. */
bool epoll_report(struct epoll_item *item, uint32_t state, struct epoll_found *out);
void epoll_remove(struct epoll_item *item); /* [s] */
struct epoll_item *epoll_find(struct epoll *epoll, int32_t fd, uint64_t id, uint32_t kernel);

/* [s] Some kernel is to be asked before it can be said what is ready. */
bool epoll_remote_due(const struct epoll *epoll);
/* [s] What EPOLL knows of KERNEL; NULL without memory. */
struct epoll_remote *epoll_remote_get(struct epoll *epoll, uint32_t kernel);
/* [s] */
static inline void epoll_remote_changed(struct epoll_remote *remote)
{
    remote->changes++;
}
/* It is closed: no kernel tells it any more. */
void epoll_remote_release(struct epoll *epoll);
/* All are quiesced: files of FROM are at TO. */
void epoll_remote_switch(struct epoll *epoll, uint32_t from, uint32_t to);
/* [s] ITEM's file is one of this kernel now, with a pin; NULL: it is closed, and ITEM goes. */
void epoll_item_here(struct epoll_item *item);
void epoll_remote_init(void);

#endif
