/* Definitions shared by epoll.c and remote.c.
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

/* Items of a set whose files are on one other kernel: up to POLL_ITEMS_MAX, which one request asks about. A set with
 * more there has several of these. */
struct epoll_remote {
    struct epoll_remote *next; /* [s] */
    struct epoll *epoll;       /* [i] */
    uint32_t kernel;           /* [i] */
    uint32_t count;            /* [s] items, at most POLL_ITEMS_MAX */
    struct list items;         /* [s] struct epoll_item */
    uint64_t changes;          /* [s] number of changes of its items */
    uint64_t asked;            /* [s] `changes` when the kernel was last asked */
    bool armed;    /* [s] no item was ready at the last answer, so the kernel notifies us; waiters may rely on it */
    bool notified; /* [a] it has notified us since it was last asked */
    uint64_t took; /* [a] the token of an arm that has taken an exclusive event which no thread here has yet; or 0 */
    struct remote_wait wait;
};

struct epoll_item {
    struct list node; /* [s] in a bucket */
    struct epoll *epoll;
    struct poll_hook hook;
    struct list ready;           /* [r] in epoll->ready if the file may be ready, or alone */
    struct list signalfd;        /* [s] in epoll->signalfds, or alone */
    struct file *file;           /* [i] with a pin; NULL: the file is on another kernel */
    struct epoll_remote *remote; /* [s] of the file's kernel; NULL: this kernel */
    struct list of_remote;       /* [s] in the remote's items */
    uint32_t asked;              /* [s] 1 + its number in the last request to the remote's kernel; 0: not in it */
    struct file_place place;
    uint64_t data; /* [s] */
    uint64_t seen; /* [s] remote file: 1 + its count of events when last reported, 0: never; remote signalfd: its set */
    uint32_t events; /* [s] POLL_* and EPOLL_* */
    int32_t fd;      /* [i] */
    uint32_t user;   /* [i] whose quota it counts in */
    bool disabled;   /* [s] it has EPOLLONESHOT and has been reported */
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
    uint32_t above;                     /* [nesting] how deep this set is nested in others */
    bool closed;                        /* [s] */
    uint32_t turn;                      /* [s] rotates the order in which files are asked */
    bool asking;                        /* [s] a thread is asking other kernels */
    struct waitq asked;                 /* [s] threads that wait for `asking` */
    bool chosen;                        /* [a] it has taken an exclusive event since a thread last looked at it */
    bool notifying;                     /* [a] `told` is in a list, and its event is still to be counted */
    struct poll_notified notified;
    struct work rest; /* drops the items of a set that a handler has closed */
};

/* Whether a thread that waits for EPOLL takes an exclusive event, so that no other set has to be notified: one waits,
 * and no other event has been taken since a thread last looked. A thread that stops waiting looks once more. */
bool epoll_takes(struct epoll *epoll);

/* The set that FILE is, or NULL if it is another kind of file. */
struct epoll *epoll_of(const struct file *file);
/* [s] Appends the events of local files and signalfds that ASKED has room for to OUT's events, and fewer if a slice is
 * over. False: it is, nothing was found, and files are left to look at. */
bool epoll_collect(struct epoll *epoll, const struct epoll_look *asked, struct epoll_found *out);
/* [s] ITEM's file has STATE: if the item waits for that, appends an event to OUT's and returns true. */
bool epoll_report(struct epoll_item *item, uint32_t state, const struct epoll_look *asked, struct epoll_found *out);
void epoll_remove(struct epoll_item *item); /* [s] */

/* [s] Must another kernel be asked before the set's ready files are known? */
bool epoll_remote_due(const struct epoll *epoll);
/* [s] Makes ITEM one of a remote for KERNEL that has room. -ENOMEM: there is none. */
int epoll_remote_add(struct epoll_item *item, uint32_t kernel);
/* [s] Takes ITEM from its remote, if it has one. */
void epoll_remote_take(struct epoll_item *item);
/* [s] An item of REMOTE has changed. */
static inline void epoll_remote_changed(struct epoll_remote *remote)
{
    remote->changes++;
}
/* EPOLL is closed: other kernels stop notifying it. */
void epoll_remote_release(struct epoll *epoll);
/* Programs are quiesced and files of FROM have moved to TO. */
void epoll_remote_switch(struct epoll *epoll, uint32_t from, uint32_t to);
/* [s] ITEM's file has moved to this kernel: gives the item a hook and a pin, or removes it if the file is closed. */
void epoll_item_here(struct epoll_item *item);
void epoll_remote_init(void);

#endif
