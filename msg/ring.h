/* One ring: from one instance to one other, in the receiver's memory. Single producer, single consumer, no locked
 * instruction. After Barrelfish's UMP (cache-line messages published by their last word); msg/PROTOCOL.md has the
 * layout and the ordering argument.
 *
 * Marks: [s] the sender's private memory, [r] the receiver's private memory, [m] shared: written by the peer. */
#ifndef MSG_RING_H
#define MSG_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "msg/message.h"

#define RING_SLOT_SIZE 64
#define RING_SLOTS_MIN 4u
#define RING_SLOTS_MAX 1024u
#define RING_SLOTS_DEFAULT 64u

struct ring_slot {
    volatile uint64_t header;     /* [m] msg_header_pack */
    volatile uint64_t payload[6]; /* [m] */
    volatile uint64_t publish;    /* [m] time << 16 | sequence: written last */
};

struct ring_sender {
    struct ring_slot *slots;          /* [i] */
    const volatile uint64_t *counter; /* [i] [m] slots that the receiver has taken out so far */
    uint64_t mask;                    /* [i] slots - 1 */
    uint64_t next;                    /* [s] slots filled so far */
    uint64_t known_taken;             /* [s] last valid value read from counter; never ahead of next */
};

struct ring_receiver {
    const struct ring_slot *slots; /* [i] */
    volatile uint64_t *counter;    /* [i] */
    uint64_t mask;                 /* [i] slots - 1 */
    uint64_t next;                 /* [r] slots taken so far */
    uint64_t empty_at;             /* [r] the value of NEXT when the ring was last found empty */
    uint64_t most;                 /* [r] the most slots taken between two such values */
};

/* A slot's content in the receiver's own memory. */
struct ring_message {
    uint64_t header;
    uint64_t time;
    uint64_t payload[6];
};

/* The sequence number that publishes a position. The successive uses of a slot have different ones, as a ring has at
 * most 2^10 slots. Zeroed memory has sequence 0, which is never that of the first use of a slot. */
static inline uint16_t ring_sequence(uint64_t position)
{
    return (uint16_t)(position + 1);
}

/* Slots in use, as far as the sender knows. */
static inline uint64_t ring_used(const struct ring_sender *ring)
{
    return ring->next - ring->known_taken;
}

/* Reads the receiver's counter. A value that is ahead of what was sent, or behind the last one, is ignored. */
void ring_refresh(struct ring_sender *ring);

/* Copies DATA, WORDS words which may be unaligned, to the payload of SLOT, which has not been published. False, without
 * any effect: they are more than 6. */
static inline __attribute__((always_inline)) bool ring_fill(struct ring_slot *slot, const void *data, uint32_t words)
{
    const uint8_t *from = data;

#define RING_COPY(i)                                                                                                   \
    {                                                                                                                  \
        uint64_t word;                                                                                                 \
        __builtin_memcpy(&word, from + 8 * (i), 8);                                                                    \
        slot->payload[i] = word;                                                                                       \
    }
    switch (words) {
    case 6:
        RING_COPY(5)
        /* fall through */
    case 5:
        RING_COPY(4)
        /* fall through */
    case 4:
        RING_COPY(3)
        /* fall through */
    case 3:
        RING_COPY(2)
        /* fall through */
    case 2:
        RING_COPY(1)
        /* fall through */
    case 1:
        RING_COPY(0)
        /* fall through */
    case 0:
        return true;
    default:
        return false;
    }
#undef RING_COPY
}

/* The slot that is filled next. The caller has checked with ring_used that there is room. */
static inline struct ring_slot *ring_slot_next(const struct ring_sender *ring)
{
    return &ring->slots[ring->next & ring->mask];
}

/* Publishes SLOT, the next one, which is filled. TIME is below 2^48. */
static inline void ring_publish(struct ring_sender *ring, struct ring_slot *slot, uint64_t header, uint64_t time)
{
    slot->header = header;
    __atomic_store_n(&slot->publish, time << 16 | ring_sequence(ring->next), __ATOMIC_RELEASE);
    ring->next++;
}

/* Fills and publishes the next slot. The caller has checked with ring_used that there is room. DATA has WORDS <= 6
 * words, which may be unaligned. TIME is below 2^48. */
static inline void ring_put(struct ring_sender *ring, uint64_t header, uint64_t time, const void *data, uint32_t words)
{
    struct ring_slot *slot = ring_slot_next(ring);

    ring_fill(slot, data, words);
    ring_publish(ring, slot, header, time);
}

/* True when the next slot is published. */
static inline bool ring_ready(const struct ring_receiver *ring)
{
    const struct ring_slot *slot = &ring->slots[ring->next & ring->mask];

    return (uint16_t)__atomic_load_n(&slot->publish, __ATOMIC_ACQUIRE) == ring_sequence(ring->next);
}

static inline void ring_copy(const struct ring_slot *slot, struct ring_message *out)
{
    out->header = slot->header;
    out->payload[0] = slot->payload[0];
    out->payload[1] = slot->payload[1];
    out->payload[2] = slot->payload[2];
    out->payload[3] = slot->payload[3];
    out->payload[4] = slot->payload[4];
    out->payload[5] = slot->payload[5];
}

/* Takes the next slot, if one is published, into *OUT and gives it back to the sender. */
static inline bool ring_take(struct ring_receiver *ring, struct ring_message *out)
{
    const struct ring_slot *slot = &ring->slots[ring->next & ring->mask];
    uint64_t publish = __atomic_load_n(&slot->publish, __ATOMIC_ACQUIRE);

    if ((uint16_t)publish != ring_sequence(ring->next))
        return false;
    out->time = publish >> 16;
    ring_copy(slot, out);
    ring->next++;
    __atomic_store_n(ring->counter, ring->next, __ATOMIC_RELEASE);
    return true;
}

#endif
