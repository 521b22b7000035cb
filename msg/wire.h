/* Payloads of the channel's own messages (5 to 7 in msg/messages.def). */
#ifndef MSG_WIRE_H
#define MSG_WIRE_H

#include <stdint.h>

struct msg_cancel { /* CANCEL */
    uint16_t request;
    uint16_t type;
    uint32_t pad;
};

/* RELAY, RELAY_URGENT; the request's own payload follows. */
struct msg_relay {
    uint64_t kernels; /* to which the request is sent; the receiver is one of them */
    uint16_t type;
    uint16_t pad[3];
};

/* The reply to a relay: this, then a record for each kernel whose answer was not empty. */
struct msg_relayed {
    uint64_t empty; /* the kernels whose answer had no bytes */
};

#define RELAY_NOT_ASKED INT32_MIN /* the relay cannot reach that kernel: the requester has to ask it itself */

struct msg_relay_record {
    uint32_t kernel;
    int32_t length; /* bytes of the answer, which follow, padded to 8; or a negative errno; or RELAY_NOT_ASKED */
};

_Static_assert(sizeof(struct msg_cancel) == 8, "wire format");
_Static_assert(sizeof(struct msg_relay) == 16, "wire format");
_Static_assert(sizeof(struct msg_relay_record) == 8, "wire format");

#endif
