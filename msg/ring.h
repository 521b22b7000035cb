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

#define RING_SLOT_SIZE 64
#define RING_SLOTS 64u /* a power of two, below 2^16 */

struct ring_slot {
    volatile uint64_t header;     /* [m] msg_header_pack */
    volatile uint64_t payload[6]; /* [m] */
    volatile uint64_t publish;    /* [m] Lamport time << 16 | lap: written last */
};

/* A line the receiver writes and the sender reads. */
struct ring_consumed {
    volatile uint64_t count; /* [m] slots taken out so far */
    uint8_t pad[RING_SLOT_SIZE - 8];
};

struct ring_sender {
    struct ring_slot *slots;              /* [i] */
    const struct ring_consumed *consumed; /* [i] */
    uint64_t next;                        /* [s] slots filled so far */
    uint64_t known_consumed;              /* [s] last value read from consumed; never ahead of next */
};

struct ring_receiver {
    const struct ring_slot *slots;  /* [i] */
    struct ring_consumed *consumed; /* [i] */
    uint64_t next;                  /* [r] slots taken so far */
};

/* A slot's content in the receiver's own memory. */
struct ring_message {
    uint64_t header;
    uint64_t time;
    uint64_t payload[6];
};

/* Free slots as far as the sender knows; asks the receiver's line only when fewer than WANTED are known. A receiver
 * that claims to have consumed more than was sent is not believed. */
uint32_t ring_room(struct ring_sender *ring, uint32_t wanted);

/* Fills and publishes the next slot. There must be room: the caller has asked ring_room. PAYLOAD has LENGTH <= 48
 * bytes. TIME is below 2^48. */
void ring_put(struct ring_sender *ring, uint64_t header, uint64_t time, const void *payload, size_t length);

/* Takes the next slot, if one is published, into *OUT. The slot is not yet given back: see ring_release. */
bool ring_take(struct ring_receiver *ring, struct ring_message *out);

/* Gives every slot taken so far back to the sender. */
void ring_release(struct ring_receiver *ring);

#endif
