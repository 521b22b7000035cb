/* One single-producer, single-consumer ring. See the header.
 *
 * Ordering, on x86 (TSO) and in C11 terms: the sender writes header and payload, then publish with release; the
 * receiver reads publish with acquire and only then the rest. The receiver gives a slot back by a release store of its
 * count; the sender reads it with acquire before it writes the slot again. The lap number in publish differs between a
 * slot's successive uses (16 bits: the receiver can never be a whole cycle of 65536 laps behind). */
#include "msg/ring.h"

#include "kernel/lib/string.h"

_Static_assert(sizeof(struct ring_slot) == RING_SLOT_SIZE, "a slot is a cache line");
_Static_assert((RING_SLOTS & (RING_SLOTS - 1)) == 0, "slot numbers are masked");

static uint64_t lap_of(uint64_t position)
{
    return (position / RING_SLOTS + 1) & 0xffff;
}

uint32_t ring_room(struct ring_sender *ring, uint32_t wanted)
{
    uint64_t used = ring->next - ring->known_consumed;

    if (RING_SLOTS - used < wanted) {
        uint64_t count = __atomic_load_n(&ring->consumed->count, __ATOMIC_ACQUIRE);

        if (count >= ring->known_consumed && count <= ring->next)
            ring->known_consumed = count;
        used = ring->next - ring->known_consumed;
    }
    return (uint32_t)(RING_SLOTS - used);
}

void ring_put(struct ring_sender *ring, uint64_t header, uint64_t time, const void *payload, size_t length)
{
    struct ring_slot *slot = &ring->slots[ring->next & (RING_SLOTS - 1)];
    uint64_t words[6] = {0};

    memcpy(words, payload, length);
    slot->header = header;
    for (size_t i = 0; i < (length + 7) / 8; i++)
        slot->payload[i] = words[i];
    __atomic_store_n(&slot->publish, time << 16 | lap_of(ring->next), __ATOMIC_RELEASE);
    ring->next++;
}

bool ring_take(struct ring_receiver *ring, struct ring_message *out)
{
    const struct ring_slot *slot = &ring->slots[ring->next & (RING_SLOTS - 1)];
    uint64_t publish = __atomic_load_n(&slot->publish, __ATOMIC_ACQUIRE);

    if ((publish & 0xffff) != lap_of(ring->next))
        return false;
    out->time = publish >> 16;
    out->header = slot->header;
    for (int i = 0; i < 6; i++)
        out->payload[i] = slot->payload[i];
    ring->next++;
    return true;
}

void ring_release(struct ring_receiver *ring)
{
    __atomic_store_n(&ring->consumed->count, ring->next, __ATOMIC_RELEASE);
}
