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

#define NAME_BYTES 256u

struct file;

struct message {
    struct list node;
    uint32_t priority;
    size_t size;
    uint8_t bytes[];
};

/* A task that waits to send or to receive, until it has been answered that this is done, or it gives up. */
struct waiter {
    struct list node;  /* [k] in `senders` or `receivers`, in the order in which they are served; then in `served` */
    struct file *file; /* [i] the open file by which it waits */
    uint32_t task, kernel, urgency; /* [i] */
    bool sends;                     /* [i] */
    struct message *message; /* [k] of a sender: what it sends; of a receiver: what it got. NULL: the queue has it */
};

struct mqueue {
    struct list node;     /* [k] in `queues` */
    bool named;           /* [k] its name has not been removed */
    uint32_t references;  /* [k] one for its name, one for each open file */
    struct list messages; /* [k] in the order in which they are received */
    int64_t count, count_max, size_max;
    uint32_t mode, uid, gid;                /* [i] */
    uint32_t payer;                         /* [i] the user who made it, in whose quota it counts */
    uint64_t counted;                       /* [i] bytes there */
    struct list senders, receivers, served; /* [k] struct waiter; senders wait only if it is full, receivers if empty */
    uint32_t waiting;                       /* [k] all of them */
    uint32_t process;                       /* [k] the process registered by mq_notify(3); 0: none */
    uint32_t signal;                        /* [k] the signal it gets; 0: none is sent */
    uint64_t value;                         /* [k] of the signal */
    struct file_events events;
    char name[NAME_BYTES]; /* [i] */
};

/* MESSAGE may be NULL. */
void mqueue_free_message(struct message *message);
/* Inserts MESSAGE behind those of the same priority, or with FIRST before them. */
void mqueue_insert_locked(struct mqueue *queue, struct message *message, bool first);
/* The waiter of TASK in LIST, or NULL. */
struct waiter *mqueue_find_waiter(struct list *list, uint32_t task);
/* The task of CALL waits in LIST of FILE's queue from now on, with MESSAGE if it sends. -EINPROGRESS: it does; -ENOMEM.
 */
int64_t mqueue_wait_locked(struct file *file, const struct mqueue_call *call, struct list *list,
                           struct message *message);
/* WAITER has its answer: it is forgotten. */
void mqueue_forget_waiter(struct mqueue *queue, struct waiter *waiter);
/* Passes MESSAGE to the first receiver that waits. False: there is none. */
bool mqueue_hand_over_locked(struct mqueue *queue, struct message *message);
/* Lets the first sender that waits send its message, if there is room. */
void mqueue_let_in_locked(struct mqueue *queue);
/* WAITER waits no more. A message that it has got but not taken is the next of its priority again. Returns true if that
 * is an event. */
bool mqueue_end_wait_locked(struct mqueue *queue, struct waiter *waiter);
/* Ends the waits of the tasks that came by FILE, or if that is NULL, that are on KERNEL. True as above. */
bool mqueue_end_waits_locked(struct mqueue *queue, const struct file *file, uint32_t kernel);

#endif
