/* One single-producer, single-consumer ring. See the header.
 *
 * Ordering, on x86 (TSO) and in C11 terms: the sender writes header and payload, then publish with release; the
 * receiver reads publish with acquire, and only then the rest. The receiver returns a slot by a release store to its
 * counter; the sender reads the counter with acquire before it writes the slot again. */
#include "msg/ring.h"

_Static_assert(sizeof(struct ring_slot) == RING_SLOT_SIZE, "a slot is a cache line");
_Static_assert(RING_SLOTS_MAX < 1u << 16, "the sequence tells a slot's uses apart");

void ring_refresh(struct ring_sender *ring)
{
    uint64_t count = __atomic_load_n(ring->counter, __ATOMIC_ACQUIRE);

    if (count >= ring->known_taken && count <= ring->next)
        ring->known_taken = count;
}
