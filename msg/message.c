/* The table of messages, indexed by number. */
#include "msg/message.h"

#include "kernel/abi/errno.h"

#define ORDINARY MSG_ORDINARY
#define URGENT MSG_URGENT
#define FIXED false
#define BYTES true

#define HANDLER MSG_RUNS_HANDLER
#define TASK MSG_RUNS_TASK
#define EITHER MSG_RUNS_EITHER
#define WORKER MSG_RUNS_WORKER
#define KEPT MSG_RUNS_KEPT
#define ANY MSG_ASKS_ANY
#define FIRST MSG_ASKS_FIRST
#define TO_FIRST MSG_TO_FIRST

const struct msg_kind msg_kinds[MSG_TYPES] = {
#define OPERATION(number, id, request, reply, which, size, reply_size, runs_in, asked, errno_lost, meaning)            \
    [number] = {.name = #id,                                                                                           \
                .class = which,                                                                                        \
                .bytes = size,                                                                                         \
                .reply_bytes = reply_size,                                                                             \
                .runs = runs_in,                                                                                       \
                .asks = asked,                                                                                         \
                .lost = errno_lost},
#define REQUEST(number, id, request, reply, which, size, reply_size, meaning)                                          \
    [number] = {.name = #id, .class = which, .bytes = size, .reply_bytes = reply_size},
#define NOTICE(number, id, payload, which, size, meaning)                                                              \
    [number] = {.name = #id, .class = which, .notice = true, .bytes = size},
#define RETIRED(number)
#include "msg/messages.def"
};
