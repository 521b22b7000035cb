/* What the files of this room share: queues, their messages, and the tasks that wait. [k]: under the lock of mqueue.c,
 * which the caller of each function holds, except of mqueue_free_message. */
#ifndef KERNEL_IPC_MQUEUE_INTERNAL_H
#define KERNEL_IPC_MQUEUE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/file/events.h"
#include "kernel/ipc/mqueue/mqueue.h"
#include "kernel/lib/list.h"
#include "tasks/remote/notify.h"
#include "tasks/signal/queue/queue.h"

#define NAME_BYTES 256u

struct file;

struct message {
    struct list node;
    uint32_t priority;
    uint32_t process, uid; /* the sender */
    uint64_t sequence; /* [k] its place among those of its priority, from when it came; 0: it waits with its sender */
    size_t size;
    uint8_t bytes[];
};

/* What ends the wait of a task on KERNEL. */
struct mqueue_notice {
    struct list node; /* [k] in an outcome */
    struct remote_notice notice;
    uint32_t kernel; /* [i] */
    uint64_t token;  /* [i] */
};

/* A task that waits to send or to receive, until it has been answered that this is done, or it gives up. */
struct waiter {
    struct list node;  /* [k] in `senders` or `receivers`, in the order in which they are served; then in `served` */
    struct file *file; /* [i] the open file by which it waits */
    uint32_t task, kernel, urgency; /* [i] */
    bool sends;                     /* [i] */
    bool served;                    /* [k] */
    struct mqueue_notice *notice;   /* [k] NULL: it has been told */
    struct message *message; /* [k] of a sender: what it sends; of a receiver: what it got. NULL: the queue has it */
};

struct mqueue {
    struct list node;     /* [k] in `named` or `nameless` */
    uint32_t references;  /* [k] one for its name, one for each open file */
    struct list messages; /* [k] in the order in which they are received */
    int64_t count, count_max, size_max;
    uint32_t mode, uid, gid;                /* [k] changed by fchmod(2) and fchown(2) */
    uint32_t payer;                         /* [i] the user who made it, in whose quota it counts */
    uint64_t counted;                       /* [i] bytes there */
    struct list senders, receivers, served; /* [k] struct waiter; senders wait only if it is full, receivers if empty */
    uint32_t waiting;                       /* [k] all of them */
    uint64_t sequence;                      /* [k] of the last message that came */
    uint32_t process;                       /* [k] the process registered by mq_notify(3); 0: none */
    uint32_t signal;                        /* [k] the signal it gets; 0: none is sent */
    uint64_t value;                         /* [k] of the signal */
    uint32_t lost;                          /* [k] the last clean-up after a death that has looked at it */
    struct file_events events;
    char name[NAME_BYTES]; /* [i] */
};

/* What is to be done after the lock has been released. */
struct mqueue_outcome {
    bool event;              /* something has changed for those who poll */
    struct list notices;     /* for the tasks that have been served, or whose open file has been closed */
    uint32_t process;        /* mq_notify(3): this process gets the signal of INFO; 0: none does */
    struct signal_info info; /* signal 0: it is only not registered any more */
};

void mqueue_outcome_init(struct mqueue_outcome *outcome);
/* MESSAGE may be NULL. */
void mqueue_free_message(struct message *message);
/* MESSAGE, which is new or is given back, goes to the first receiver that waits, or to its place in the queue. If that
 * was empty, the registered process is to be notified. */
void mqueue_arrive_locked(struct mqueue *queue, struct message *message, struct mqueue_outcome *outcome);
/* The waiter of TASK, or NULL. */
struct waiter *mqueue_find_waiter(struct mqueue *queue, uint32_t task);
/* The task of CALL waits by FILE from now on: to send MESSAGE, or with NULL to receive. -EINPROGRESS: it does;
 * -ENOMEM; -ESRCH: FILE has been closed. */
int64_t mqueue_wait_locked(struct file *file, const struct mqueue_call *call, struct message *message);
/* WAITER has its answer: it is forgotten. */
void mqueue_forget_waiter(struct mqueue *queue, struct waiter *waiter);
/* Lets the first sender that waits send its message, if there is room. This notifies no process, as on Linux. */
void mqueue_let_in_locked(struct mqueue *queue, struct mqueue_outcome *outcome);
/* WAITER waits no more. A message that it has got but not taken arrives once more, at the place that it had. */
void mqueue_end_wait_locked(struct mqueue *queue, struct waiter *waiter, struct mqueue_outcome *outcome);
/* Ends the waits of the tasks that came by FILE, which learn of it, or if that is NULL, that are on KERNEL, which has
 * died. */
void mqueue_end_waits_locked(struct mqueue *queue, const struct file *file, uint32_t kernel,
                             struct mqueue_outcome *outcome);

#endif
