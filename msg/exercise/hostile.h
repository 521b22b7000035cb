/* A hostile peer, as a test: messages that no correct kernel sends, by a seed. KETTLE_MESSAGES_HOSTILE of
 * kettle_messages (root only). A receiver may refuse them, or do to the victim what they say; it must neither panic nor
 * stop to answer others. */
#ifndef MSG_HOSTILE_H
#define MSG_HOSTILE_H

#include <stdint.h>

#include "msg/message.h"

struct hostile {
    kernel_set kernels; /* who gets them: started kernels, without this one */
    uint64_t seed;
    uint32_t victim; /* a process, which many of the messages name: it may be damaged in every way */
    int32_t type;    /* only messages of this type; or -1 */
};

/* Sends message NUMBER of the sequence and waits for its answer, but not long. The next type that is in use. Tasks
 * only. Returns 0 or -ENOMEM. */
int hostile_send(const struct hostile *hostile, uint64_t number);

#endif
