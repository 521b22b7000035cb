/* Reassembly: putting the fragments of messages of more than one slot together. */
#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"
#include "msg/channel_internal.h"

#define FRAGMENTS 24u /* fragments taken in one run, as they are only copied */

static uint64_t no_fragment(const struct reassembly *partial)
{
    return ~partial->header & MSG_REPLY_BIT; /* a header of the other kind, which never matches */
}

/* Sets the number of the next fragment to EXPECTED. */
static inline void fragment_next(struct reassembly *partial, uint32_t expected)
{
    partial->expected = expected;
    if (partial->bytes != NULL)
        partial->next = partial->header + ((uint64_t)expected << MSG_FRAGMENT_SHIFT);
}

static inline void fragment_copy(uint8_t *to, const volatile uint64_t *payload)
{
#pragma GCC unroll 6
    for (uint32_t i = 0; i < MSG_SHORT / 8; i++) {
        uint64_t word = payload[i];

        __builtin_memcpy(to + 8 * i, &word, sizeof(word));
    }
}

/* Takes a fragment from the middle of a long message, whose HEADER and PAYLOAD have been read, and up to FRAGMENTS of
 * those that follow it in the ring. They are only copied: the message is timed, counted and handled with its last
 * fragment. */
static inline void take_middle(struct reassembly *partial, struct ring_receiver *shared, uint64_t header,
                               const uint64_t *payload)
{
    struct ring_receiver ring = *shared; /* in registers: no other code changes it meanwhile */
    uint8_t *to = partial->bytes + partial->expected * MSG_SHORT;
    uint32_t next = partial->expected + 1;
    uint32_t end = partial->last - next < FRAGMENTS ? partial->last : next + FRAGMENTS;

    fragment_copy(to, payload);
    for (; next < end && ring_ready(&ring); next++) {
        const struct ring_slot *slot = &ring.slots[ring.next & ring.mask];

        header += 1ull << MSG_FRAGMENT_SHIFT;
        if (slot->header != header)
            break;
        to += MSG_SHORT;
        fragment_copy(to, slot->payload);
        __atomic_store_n(ring.counter, ++ring.next, __ATOMIC_RELEASE);
    }
    shared->next = ring.next;
    fragment_next(partial, next);
}

bool msg_take_fragment(struct peer *peer, enum msg_class class, uint64_t header, const uint64_t *payload, uint64_t time)
{
    struct reassembly *partial = &peer->partial[class][(header & MSG_REPLY_BIT) != 0];

    if (header != partial->next) {
        const struct msg_row *row = &msg_rows[header & MSG_ROW_BITS];
        uint64_t length = msg_header_length(header);
        uint64_t first = row->first + ((uint64_t)peer->kernel << MSG_SOURCE_SHIFT);

        if (partial->expected != 0 || partial->bytes == NULL ||
            (header & ~(MSG_REQUEST_BITS | MSG_LENGTH_BITS)) != first || length <= MSG_SHORT || length > MSG_MAX ||
            length < row->size)
            return false;
        partial->header = header;
        partial->last = (uint32_t)(length - 1) / MSG_SHORT;
    }
    if (partial->expected == partial->last) {
        uint32_t offset = partial->expected * MSG_SHORT;
        uint64_t now = msg_ticks();

        memcpy(partial->bytes + offset, payload, msg_header_length(header) - offset);
        partial->expected = 0;
        partial->next = no_fragment(partial);
        msg_dispatch(partial->header, time, partial->bytes, now > time ? now - time : 0);
        return true;
    }
    take_middle(partial, &peer->in[class], header, payload);
    return true;
}

void msg_reassemble(struct peer *peer, enum msg_class class, const struct msg_header *header,
                    const struct ring_message *slot, uint64_t queued)
{
    struct reassembly *partial = &peer->partial[class][header->reply ? 1 : 0];
    uint64_t first = slot->header & ~(0x7ffull << MSG_FRAGMENT_SHIFT);
    uint32_t offset = header->fragment * MSG_SHORT;
    uint32_t length = header->length - offset;

    if (header->fragment == 0) {
        if (partial->expected != 0)
            msg_drop(&msg_stats.bad_fragment, 0, peer, "a fragmented message broke off");
        partial->expected = 0;
        partial->header = first;
        partial->last = (header->length - 1) / MSG_SHORT;
        partial->next = no_fragment(partial);
        if (partial->bytes == NULL)
            partial->bytes = msg_allocate_for_good(MSG_MAX);
    }
    if (header->fragment != partial->expected || first != partial->header) {
        partial->expected = 0;
        partial->next = no_fragment(partial);
        msg_drop(&msg_stats.bad_fragment, 1, peer, "a fragment that does not fit");
        return;
    }
    if (length > MSG_SHORT)
        length = MSG_SHORT;
    if (partial->bytes != NULL)
        memcpy(partial->bytes + offset, slot->payload, length);
    fragment_next(partial, partial->expected + 1);
    if (offset + length < header->length)
        return;
    partial->expected = 0;
    partial->next = no_fragment(partial);
    if (partial->bytes != NULL) {
        msg_dispatch(first, slot->time, partial->bytes, queued);
        return;
    }
    msg_drop(&msg_stats.no_memory, 2, peer, "no memory to put its fragments together");
    msg_refuse_long(header, -ENOMEM);
}
