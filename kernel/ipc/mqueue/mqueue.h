/* POSIX message queues (mq_overview(7)): names and queues of kernel 0, which are open files with a kind of their own. A
 * queue is opened by IPC (kernel/ipc/call.h); all other operations are FILE_OPERATE. Nothing here waits: a send or
 * receive that has to wait returns -EINPROGRESS, and its task takes the answer after a notice, or gives up. ipc.md has
 * the table. */
#ifndef KERNEL_IPC_MQUEUE_MQUEUE_H
#define KERNEL_IPC_MQUEUE_MQUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/ipc/call.h"

#define MQUEUE_PRIORITIES 32768u
#define MQUEUE_BYTES_MAX 819200u              /* of all messages in a queue together */
#define MQUEUE_MESSAGE_MAX (FILE_CHUNK - 64u) /* bytes of a message */
#define MQUEUE_USER_COUNT 10u                 /* limits for users other than root: messages, and bytes of one message */
#define MQUEUE_USER_SIZE 8192u

enum mqueue_operation {
    MQUEUE_SEND = 1, /* priority; signal: the sender's user; task, kernel, urgency; data */
    MQUEUE_RECEIVE,  /* size: bytes of room; task, kernel, urgency; result data: uint32_t priority, then the message */
    MQUEUE_STATE,    /* result data: struct mqueue_state */
    MQUEUE_NOTIFY,   /* signal, value, process; signal 0: none is sent; size 0: ends the registration */
    /* Ends the wait of TASK. 0: it has sent; or the result data of MQUEUE_RECEIVE; -EINTR: it had not been served, or
     * there is no room for its message, which stays in the queue; -ESRCH: it did not wait. */
    MQUEUE_TAKE
};

struct mqueue_call { /* SPECIAL_QUEUE; data follows */
    uint32_t operation, priority;
    uint64_t size;
    uint32_t signal, process;
    uint64_t value;
    uint64_t token;        /* of the caller's wait (tasks/remote/notify.h), which begins before it asks */
    uint32_t task, kernel; /* the caller and its kernel, where it waits after -EINPROGRESS */
    uint32_t urgency;      /* among tasks that wait the greatest comes first */
    uint32_t pad;
};

struct mqueue_state {
    int64_t flags, count_max, size_max, count; /* struct mq_attr */
};

/* IPC_QUEUE_OPEN: CALL's flags are open's, its a and b the number and size of messages (0, 0: the defaults), its id the
 * permissions of a new queue; data: the name with its NUL. The caller owns an open of the file with ANSWER's id. */
int64_t mqueue_open(const struct ipc_call *call, const char *name, size_t size, struct file_answer *answer);
/* KERNEL has died: its tasks wait no more, and processes at home there are not registered. Any context without locks.
 */
void mqueue_lost(uint32_t kernel);
/* IPC_QUEUE_UNLINK */
int64_t mqueue_unlink(const struct ipc_call *call, const char *name, size_t size);

#endif
