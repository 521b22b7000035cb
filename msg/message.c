/* The table of messages, in the form the code looks things up in. */
#include "msg/message.h"

#define ORDINARY MSG_ORDINARY
#define URGENT MSG_URGENT
#define FIXED false
#define BYTES true

const struct msg_kind msg_kinds[MSG_TYPES] = {
#define REQUEST(number, name, request, reply, class, size, reply_size, meaning)                                        \
    [number] = {#name, class, false, size, reply_size},
#define NOTICE(number, name, payload, class, size, meaning) [number] = {#name, class, true, size, false},
#define RETIRED(number)
#include "msg/messages.def"
};
