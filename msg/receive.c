/* Receiving: the order in which peers are served, and taking messages from a ring. See msg/PROTOCOL.md.
 *
 * The fast path through drain() is for a message whose header is exactly what its row expects. All others, and all
 * messages while the trace or fault injection is on, take the slow path: msg/fragment.c, msg/dispatch.c. */
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/silence.h"
#include "kernel/lib/string.h"
#include "msg/channel_internal.h"
#include "msg/inject.h"

#define QUANTUM 8u /* messages taken from one ring before the next check for urgent messages and other peers */

struct spinlock msg_rx_lock;
union msg_seen msg_seen __attribute__((aligned(64)));

/* [k] rx_lock */
static uint64_t busy[MSG_CLASSES]; /* peers whose ring may have more messages */
static uint32_t turn[MSG_CLASSES]; /* the kernel that is served next */
static uint64_t room_wishes;       /* peers to be signalled when both of their rings are empty */

/* Answers a peer's wish for room when both its rings are empty. */
static __attribute__((noinline)) void notify_of_room(struct peer *peer)
{
    if (ring_ready(&peer->in[MSG_URGENT]) || ring_ready(&peer->in[MSG_ORDINARY]))
        return; /* their messages are taken first: see serve */
    room_wishes &= ~(1ull << peer->kernel);
    msg_own_head->taken[peer->kernel].answered = peer->wants_seen;
    msg_signal_room(peer);
}

/* The signals in a peer's hint have changed: the peer may have a new wish for room. */
static __attribute__((noinline)) void follow_signals(struct peer *peer)
{
    uint8_t wants = msg_own_head->wants[peer->kernel];

    if (wants == peer->wants_seen)
        return;
    peer->wants_seen = wants;
    room_wishes |= 1ull << peer->kernel;
    notify_of_room(peer);
}

/* Follows a hint that differs by CHANGE from the last one: checks both rings for messages, lets queued messages go out,
 * and checks for a wish for room. */
static inline void follow_hint(struct peer *peer, uint16_t change)
{
    uint64_t bit = 1ull << peer->kernel;

    if (ring_ready(&peer->in[MSG_URGENT]))
        busy[MSG_URGENT] |= bit;
    if (ring_ready(&peer->in[MSG_ORDINARY]))
        busy[MSG_ORDINARY] |= bit;
    if (peer->blocked != 0)
        msg_unblock(peer);
    if ((change & (HINT_SLOT - 1)) != 0)
        follow_signals(peer);
}

/* The hints are read before the rings, and a sender publishes a slot before it changes its hint. So a message that this
 * scan misses is announced by a later change of the hint. */
static void scan_hints(void)
{
    const volatile uint64_t *hints = msg_hint_words();

    for (uint32_t i = 0; 4 * i < instance.kernels; i++) {
        uint64_t word = hints[i], changed = word ^ msg_seen.words[i];

        if (changed == 0)
            continue;
        msg_seen.words[i] = word;
        while (changed != 0) {
            uint32_t shift = (uint32_t)__builtin_ctzll(changed) & ~15u;
            struct peer *peer = msg_peers[4 * i + shift / 16];
            uint16_t difference = (uint16_t)(changed >> shift);

            changed &= ~(0xffffull << shift);
            if (peer != NULL)
                follow_hint(peer, difference);
        }
    }
}

/* A message as it is copied out of its slot. The handler's view of it, struct msg, begins with the header. */
struct taken {
    struct msg m;
    uint64_t payload[6];
};

_Static_assert(offsetof(struct msg, ticket) == 0 && offsetof(struct msg, length) == 4, "the halves of a short header");

static __attribute__((noinline)) void take_unusual(struct peer *peer, enum msg_class class, uint64_t header,
                                                   const struct taken *taken, uint64_t queued)
{
    struct ring_message message = {.header = header, .time = taken->m.time};

    memcpy(message.payload, taken->payload, sizeof(message.payload));
    msg_receive_unusual(peer, class, &message, queued);
}

/* True for a valid message of one slot in a row with BYTES; counts its bytes. */
static inline bool is_short(struct msg_row *row, uint64_t header, uint64_t source)
{
    uint64_t length = msg_header_length(header);

    if ((header & ~(MSG_REQUEST_BITS | MSG_LENGTH_BITS)) != row->first + source || length > MSG_SHORT ||
        length < row->size)
        return false;
    row->bytes_received += length;
    return true;
}

/* Takes up to QUANTUM messages or runs of fragments. True: the ring may have more. SEVERAL is a constant: whether the
 * instance has several CPUs. */
static inline __attribute__((always_inline)) bool drain(struct peer *peer, enum msg_class class, bool several)
{
    struct ring_receiver *ring = &peer->in[class];
    const uint64_t source = (uint64_t)peer->kernel << MSG_SOURCE_SHIFT;
    volatile uint64_t *counter = ring->counter;
    uint64_t now = msg_ticks();
    struct taken taken;

    taken.m.data = taken.payload;
    for (uint32_t left = QUANTUM; left > 0; left--) {
        const struct ring_slot *slot = &ring->slots[ring->next & ring->mask];
        uint64_t publish = __atomic_load_n(&slot->publish, __ATOMIC_ACQUIRE);
        uint64_t header, queued, then;
        struct msg_row *row;

        if ((uint16_t)publish != ring_sequence(ring->next))
            return false;
        header = slot->header;
        __builtin_memcpy(&taken.m, &header, sizeof(header));
        taken.payload[0] = slot->payload[0];
        taken.payload[1] = slot->payload[1];
        taken.payload[2] = slot->payload[2];
        taken.payload[3] = slot->payload[3];
        taken.payload[4] = slot->payload[4];
        taken.payload[5] = slot->payload[5];
        *counter = ++ring->next; /* returns the slot before a reply can return its credit */
        queued = msg_time_since(publish >> 16, now);
        taken.m.time = now - queued;
        if (__builtin_expect((int64_t)queued < 0, 0) || several) {
            msg_clock_behind(taken.m.time, now);
            queued = (int64_t)queued < 0 ? 0 : queued;
        }
        row = &msg_rows[header & MSG_ROW_BITS];
        if (__builtin_expect((header & ~MSG_REQUEST_BITS) != row->expect + source, 0) &&
            !is_short(row, header, source)) {
            if (!msg_take_fragment(peer, class, header, taken.payload, taken.m.time, queued))
                take_unusual(peer, class, header, &taken, queued);
            now = msg_ticks();
            continue;
        }
        row->received++;
        row->handler(&taken.m);
        then = msg_ticks();
        msg_histogram_add(&row->times->queueing, queued);
        msg_histogram_add(&row->times->handling, then - now);
        now = then;
    }
    return true;
}

static __attribute__((noinline)) bool drain_several(struct peer *peer, enum msg_class class)
{
    return drain(peer, class, true);
}

/* As drain for one message, while the trace or fault injection is on. */
static bool drain_special(struct peer *peer, enum msg_class class)
{
    struct ring_message slot;
    struct ring_receiver *ring = &peer->in[class];
    uint64_t now, queued;

    if (inject_holds(peer->kernel, class, ring) || !ring_take(ring, &slot))
        return false;
    now = msg_ticks();
    queued = msg_time_since(slot.time, now);
    slot.time = now - queued;
    if ((int64_t)queued < 0 || cpu_several)
        msg_clock_behind(slot.time, now);
    msg_receive_unusual(peer, class, &slot, (int64_t)queued < 0 ? 0 : queued);
    return true;
}

static inline __attribute__((always_inline)) void serve(enum msg_class class)
{
    uint64_t rest = busy[class] & ~0ull << turn[class];
    uint32_t kernel = (uint32_t)__builtin_ctzll(rest != 0 ? rest : busy[class]);
    struct peer *peer = msg_peers[kernel];
    uint64_t position;
    bool more;

    more = msg_special   ? drain_special(peer, class)
           : cpu_several ? drain_several(peer, class)
                         : drain(peer, class, false);
    turn[class] = (kernel + 1) % KERNELS_MAX;
    if (more)
        return;
    busy[class] &= ~(1ull << kernel);
    position = peer->in[class].next;
    if (position - peer->empty_at[class] > peer->most[class])
        peer->most[class] = position - peer->empty_at[class];
    peer->empty_at[class] = position;
    if (room_wishes >> kernel & 1)
        notify_of_room(peer);
}

bool msg_poll(void)
{
    bool any = false;

    if (!spin_try(&msg_rx_lock))
        return false;
    msg_stats.polls++;
    if (inject_due != 0) {
        busy[MSG_ORDINARY] |= inject_released(MSG_ORDINARY);
        busy[MSG_URGENT] |= inject_released(MSG_URGENT);
    }
    /* While this CPU polls, the first CPU may arm the doorbell and halt, and no sender rings again for a word for which
     * it has rung. So this CPU has to take everything that is pending. With only one CPU, the same CPU checks again
     * before it halts. */
    for (;;) {
        if (!any || cpu_several || (busy[MSG_URGENT] | busy[MSG_ORDINARY]) != 0)
            scan_hints();
        if ((busy[MSG_URGENT] | busy[MSG_ORDINARY]) == 0)
            break;
        if (any)
            silence_begin();
        serve(busy[MSG_URGENT] != 0 ? MSG_URGENT : MSG_ORDINARY);
        cpu_answer(); /* this loop may run for any length of time */
        any = true;
    }
    spin_unlock(&msg_rx_lock);
    if (inject_due != 0)
        wait_ops.due_changed();
    return any;
}

void msg_receive_reset_locked(struct peer *peer)
{
    uint64_t bit = 1ull << peer->kernel;

    for (uint32_t class = 0; class < MSG_CLASSES; class ++) {
        struct ring_receiver *in = &peer->in[class];

        busy[class] &= ~bit;
        in->next = 0;
        *in->counter = 0;
        memset((void *)(uintptr_t)in->slots, 0, (in->mask + 1) * sizeof(struct ring_slot));
        peer->empty_at[class] = peer->most[class] = 0;
        for (uint32_t i = 0; i < 2; i++) {
            peer->partial[class][i].expected = 0;
            peer->partial[class][i].next = i == 0 ? MSG_REPLY_BIT : 0;
        }
    }
    room_wishes &= ~bit;
    peer->wants_seen = 0;
    msg_own_head->taken[peer->kernel].answered = 0;
    msg_own_head->wants[peer->kernel] = 0;
    msg_own_head->hints[peer->kernel] = 0;
    msg_seen.hints[peer->kernel] = 0;
}
