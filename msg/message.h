/* Messages between instances: numbers, headers, and what a handler sees. The wire format is in msg/PROTOCOL.md. */
#ifndef MSG_MESSAGE_H
#define MSG_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MSG_SHORT 48u  /* bytes of payload in one slot */
#define MSG_MAX 16384u /* bytes of payload of a fragmented message */
#define MSG_TYPES 64u

enum msg_type {
#define REQUEST(number, name, request, reply, size, meaning) MSG_##name = (number),
#define NOTICE(number, name, payload, size, meaning) MSG_##name = (number),
#define RETIRED(number)
#include "msg/messages.def"
#undef REQUEST
#undef NOTICE
#undef RETIRED
};

/* The 8 bytes that open every slot. A fragmented message repeats them with its fragment number. */
struct msg_header {
    uint8_t type;      /* enum msg_type */
    uint8_t source;    /* sending instance */
    uint16_t request;  /* request id, chosen by the asking instance; repeated in the reply; 0 in a notice */
    uint32_t length;   /* bytes of payload in all fragments together, at most MSG_MAX */
    uint16_t fragment; /* from 0 */
    bool reply;        /* this answers a request */
    bool error;        /* the payload is a negative errno in 8 bytes */
};

static inline uint64_t msg_header_pack(const struct msg_header *h)
{
    return (uint64_t)h->type | (uint64_t)h->source << 8 | (uint64_t)h->request << 16 |
           (uint64_t)(h->length & 0x1ffff) << 32 | (uint64_t)(h->fragment & 0x7ff) << 49 | (uint64_t)h->reply << 60 |
           (uint64_t)h->error << 61;
}

static inline void msg_header_unpack(uint64_t word, struct msg_header *h)
{
    h->type = (uint8_t)word;
    h->source = (uint8_t)(word >> 8);
    h->request = (uint16_t)(word >> 16);
    h->length = (uint32_t)(word >> 32 & 0x1ffff);
    h->fragment = (uint16_t)(word >> 49 & 0x7ff);
    h->reply = (word >> 60 & 1) != 0;
    h->error = (word >> 61 & 1) != 0;
}

/* What identifies a request to be answered, now or later. */
struct msg_ticket {
    uint8_t kernel; /* who asked */
    uint8_t type;
    uint16_t request;
};

/* A message as its handler sees it; valid until the handler returns. */
struct msg {
    struct msg_ticket ticket;
    uint64_t time;    /* Lamport time of its sending */
    uint32_t length;  /* bytes */
    const void *data; /* 8-byte aligned copy in our own memory: the sender cannot change it any more */
};

struct msg_none { /* an empty payload */
    uint8_t unused[0];
};

#endif
