/* Messages between instances: numbers, the header word, and the handler's view of a message. msg/PROTOCOL.md has the
 * wire format. */
#ifndef MSG_MESSAGE_H
#define MSG_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/abi/limits.h"

/* A set of kernels: bit k is kernel k. */
typedef uint64_t kernel_set;
_Static_assert(KERNELS_MAX == 64, "kernel_set has a bit for each kernel, and a header six bits for its number");

static inline uint32_t kernel_set_count(kernel_set set)
{
    if ((set & (set - 1)) == 0) /* most often */
        return set != 0;
    /* the sums of pairs of bits, of four, of eight, and of all (Hacker's Delight, 5-1) */
    set -= set >> 1 & 0x5555555555555555ull;
    set = (set & 0x3333333333333333ull) + (set >> 2 & 0x3333333333333333ull);
    set = (set + (set >> 4)) & 0x0f0f0f0f0f0f0f0full;
    return (uint32_t)(set * 0x0101010101010101ull >> 56);
}

#define MSG_SHORT 48u  /* bytes of payload in one slot */
#define MSG_MAX 65536u /* bytes of payload of a long message, in fragments or lent */
#define MSG_TYPES 512u
#define MSG_ROWS (2 * MSG_TYPES) /* types and their replies: the lowest bits of a header */

enum msg_type {
#define REQUEST(number, name, request, reply, class, size, reply_size, meaning) MSG_##name = (number),
#define NOTICE(number, name, payload, class, size, meaning) MSG_##name = (number),
#define RETIRED(number)
#include "msg/messages.def"
#undef REQUEST
#undef NOTICE
#undef RETIRED
};

/* Each class has a ring of its own between every two instances; URGENT messages are taken first. */
enum msg_class { MSG_ORDINARY, MSG_URGENT, MSG_CLASSES };

/* Where an OPERATION is performed; MSG_RUNS_OTHER: the message is not an operation. */
enum msg_runs { MSG_RUNS_OTHER, MSG_RUNS_HANDLER, MSG_RUNS_EITHER, MSG_RUNS_TASK, MSG_RUNS_WORKER, MSG_RUNS_KEPT };
/* Which kernels may send an operation, and to which: any to any, only kernel 0 sends it, or it is sent only to kernel
 * 0. */
enum msg_asks { MSG_ASKS_ANY, MSG_ASKS_FIRST, MSG_TO_FIRST };

/* A row of messages.def. */
struct msg_kind {
    const char *name; /* NULL: a number that is not in use */
    uint8_t class;    /* enum msg_class */
    bool notice;      /* never answered */
    bool bytes;       /* more bytes may follow the payload struct */
    bool reply_bytes; /* the same for the reply */
    uint8_t runs;     /* enum msg_runs */
    uint8_t asks;     /* enum msg_asks */
    uint8_t lost;     /* errno for the requester if the receiver does not run */
};

extern const struct msg_kind msg_kinds[MSG_TYPES];

/* The first word of every slot, from bit 0: type 9, reply 1, source 6, request 16, length 17, fragment 11, error 1,
 * kept 1, lent 1, zero 1. */
struct msg_header {
    uint16_t type;     /* enum msg_type */
    bool reply;        /* this answers a request */
    uint8_t source;    /* sending instance */
    uint16_t request;  /* request id, chosen by the requesting instance and repeated in the reply; 0 in a notice */
    uint32_t length;   /* bytes of payload in all fragments together, at most MSG_MAX */
    uint16_t fragment; /* from 0 */
    bool error;        /* a reply whose payload is a negative errno in 8 bytes */
    bool kept;         /* a reply which says that the answer follows later */
    bool lent;         /* the slot has the physical address of the payload, which stays in the sender's memory */
};

#define MSG_TYPE_BITS (MSG_TYPES - 1ull)
#define MSG_REPLY_BIT ((uint64_t)MSG_TYPES)
#define MSG_ROW_BITS (MSG_ROWS - 1ull)
#define MSG_SOURCE_SHIFT 10
#define MSG_SOURCE_BITS (KERNELS_MAX - 1ull) /* before the shift */
#define MSG_REQUEST_SHIFT 16
#define MSG_REQUEST_BITS (0xffffull << MSG_REQUEST_SHIFT)
#define MSG_LENGTH_SHIFT 32
#define MSG_LENGTH_BITS (0x1ffffull << MSG_LENGTH_SHIFT)
#define MSG_FRAGMENT_SHIFT 49
#define MSG_ERROR_BIT (1ull << 60)
#define MSG_KEPT_BIT (1ull << 61)
#define MSG_LENT_BIT (1ull << 62)
#define MSG_ZERO_BITS (1ull << 63)

static inline uint64_t msg_header_pack(const struct msg_header *h)
{
    return (h->type & MSG_TYPE_BITS) | (h->reply ? MSG_REPLY_BIT : 0) |
           (h->source & MSG_SOURCE_BITS) << MSG_SOURCE_SHIFT | (uint64_t)h->request << MSG_REQUEST_SHIFT |
           (uint64_t)(h->length & 0x1ffff) << MSG_LENGTH_SHIFT | (uint64_t)(h->fragment & 0x7ff) << MSG_FRAGMENT_SHIFT |
           (h->error ? MSG_ERROR_BIT : 0) | (h->kept ? MSG_KEPT_BIT : 0) | (h->lent ? MSG_LENT_BIT : 0);
}

static inline uint8_t msg_header_source(uint64_t word)
{
    return (uint8_t)(word >> MSG_SOURCE_SHIFT & MSG_SOURCE_BITS);
}

static inline void msg_header_unpack(uint64_t word, struct msg_header *h)
{
    h->type = (uint16_t)(word & MSG_TYPE_BITS);
    h->reply = (word & MSG_REPLY_BIT) != 0;
    h->source = msg_header_source(word);
    h->request = (uint16_t)(word >> MSG_REQUEST_SHIFT);
    h->length = (uint32_t)(word >> MSG_LENGTH_SHIFT & 0x1ffff);
    h->fragment = (uint16_t)(word >> MSG_FRAGMENT_SHIFT & 0x7ff);
    h->error = (word & MSG_ERROR_BIT) != 0;
    h->kept = (word & MSG_KEPT_BIT) != 0;
    h->lent = (word & MSG_LENT_BIT) != 0;
}

static inline uint64_t msg_header_length(uint64_t word)
{
    return word >> MSG_LENGTH_SHIFT & 0x1ffff;
}

/* Identifies a request that is to be answered: the low half of its header. */
struct msg_ticket {
    uint16_t type : 10;  /* with the reply bit, if the message is a reply */
    uint16_t kernel : 6; /* the requesting kernel */
    uint16_t request;
};

/* A message as its handler sees it; valid until the handler returns. The first 8 bytes have the layout of a header. */
struct msg {
    struct msg_ticket ticket;
    uint32_t length;  /* bytes */
    uint64_t time;    /* when it was sent: see msg_time */
    const void *data; /* 8-byte aligned copy in this kernel's memory, which the sender cannot change any more */
};

struct msg_none { /* an empty payload */
    uint8_t unused[0];
};

_Static_assert(sizeof(struct msg_ticket) == 4, "a ticket is half a header");

#endif
