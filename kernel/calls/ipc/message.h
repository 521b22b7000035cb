/* Definitions shared by sending and receiving messages on sockets: struct msghdr, and the state of a transfer. */
#ifndef KERNEL_CALLS_IPC_MESSAGE_H
#define KERNEL_CALLS_IPC_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/calls/common/spans.h"

#define SOL_SOCKET 1
#define SCM_RIGHTS 1
#define SCM_CREDENTIALS 2
#define MESSAGES_MAX 1024u
#define CREDENTIALS_SIZE 12u

struct message { /* struct msghdr */
    uint64_t name;
    uint32_t name_size, pad;
    uint64_t spans, count;
    uint64_t control, control_size;
    uint32_t flags, pad2;
};

struct message_of_many { /* struct mmsghdr */
    struct message message;
    uint32_t length, pad;
};

struct control_head { /* struct cmsghdr */
    uint64_t size;
    int32_t level, type;
};

/* A message that is being sent or received. */
struct transfer {
    int64_t fd;
    struct spans spans;
    uint64_t total;
    uint64_t done;
};

/* Reads the spans of MESSAGE. The caller calls message_end even when this fails. */
int64_t message_begin(struct transfer *t, int64_t fd, const struct message *message);
void message_end(struct transfer *t);
/* Returns whether FD is a stream socket; true if it is no socket. */
bool message_is_stream(int64_t fd);

#endif
