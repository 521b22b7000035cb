/* Receiving: the order in which peers are served, and taking messages from a ring. See msg/PROTOCOL.md.
 *
 * The fast path through drain() is for a message whose header is exactly what its row expects. All others, and all
 * messages while the trace or fault injection is on, take the slow path: msg/fragment.c, msg/dispatch.c. */
#include "kernel/arch/x86_64/apic.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/silence.h"
#include "kernel/arch/x86_64/traps.h"
#include "kernel/lib/string.h"
#include "msg/channel_internal.h"
#include "msg/inject.h"

#define QUANTUM 8u /* messages taken from one ring before the next check for urgent messages and other peers */
#define QUANTA 64u /* after so many a poll ends, whatever peers still send; or after MSG_POLL_TICKS */

struct spinlock msg_rx_lock;
union msg_seen msg_seen __attribute__((aligned(64)));

/* [k] rx_lock */
static uint64_t busy[MSG_CLASSES]; /* peers whose ring may have more messages */
static uint32_t turn[MSG_CLASSES]; /* the kernel that is served next */
static uint64_t room_wishes;       /* peers to be signalled when both of their rings are empty */
static uint64_t poll_end;          /* msg_ticks after which this poll takes no message; 0: it has taken none */
static bool poll_over;             /* it has found a message after that */

volatile bool msg_direct;

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

    if (peer->fenced) { /* a store that was under way when its CPUs were stopped */
        msg_stats.late_epoch++;
        return;
    }
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

/* Ticks that a message with TIME was in its ring, at NOW. */
static inline uint64_t queued_ticks(uint64_t time, uint64_t now)
{
    return now > time ? now - time : 0;
}

/* Handles a message of the sample whose times are measured. */
static __attribute__((noinline)) void handle_measured(struct msg_row *row, const struct msg *m)
{
    uint64_t start = msg_ticks();

    row->handler(m);
    msg_measure(row, queued_ticks(m->time, start), start);
}

/* The fast path's end: counts and handles a message whose header is right. */
static inline void handle(struct msg_row *row, const struct msg *m)
{
    if (__builtin_expect(msg_row_count(row), 0))
        handle_measured(row, m);
    else
        row->handler(m);
}

/* Handles a message with another header than its row expects: a valid one of one slot in a row with BYTES, a fragment,
 * or one of those that msg/dispatch.c checks. */
static __attribute__((noinline)) void handle_other(struct peer *peer, enum msg_class class, const struct taken *taken)
{
    struct ring_message message = {.time = taken->m.time};
    uint64_t header, length, queued;
    struct msg_row *row;

    __builtin_memcpy(&header, &taken->m, sizeof(header));
    length = msg_header_length(header);
    row = &msg_rows[header & MSG_ROW_BITS];
    if ((header & ~(MSG_REQUEST_BITS | MSG_LENGTH_BITS)) == row->first + ((uint64_t)peer->kernel << MSG_SOURCE_SHIFT) &&
        length <= MSG_SHORT && length >= row->size) {
        row->bytes_received += length;
        handle(row, &taken->m);
        return;
    }
    if ((header & MSG_LENT_BIT) == 0 && msg_take_fragment(peer, class, header, taken->payload, taken->m.time))
        return;
    queued = queued_ticks(taken->m.time, msg_ticks());
    message.header = header;
    __builtin_memcpy(message.payload, taken->payload, sizeof(message.payload));
    msg_receive_unusual(peer, class, &message, queued);
}

static inline const struct ring_slot *next_slot(const struct ring_receiver *ring)
{
    return &ring->slots[ring->next & ring->mask];
}

/* Takes and handles the message in SLOT, the next one of RING, whose last word is PUBLISH; or a run of fragments. NOW:
 * msg_ticks. SEVERAL is a constant: whether the instance has several CPUs. */
static inline __attribute__((always_inline)) void take_next(struct peer *peer, struct ring_receiver *ring,
                                                            const struct ring_slot *slot, uint64_t publish,
                                                            uint64_t now, bool several)
{
    uint64_t header = slot->header;
    int64_t ahead; /* of this kernel's counter */
    struct msg_row *row = &msg_rows[header & MSG_ROW_BITS];
    struct taken taken;

    taken.payload[0] = slot->payload[0];
    taken.payload[1] = slot->payload[1];
    taken.payload[2] = slot->payload[2];
    taken.payload[3] = slot->payload[3];
    taken.payload[4] = slot->payload[4];
    taken.payload[5] = slot->payload[5];
    *ring->counter = ++ring->next; /* returns the slot before a reply can return its credit */
    __builtin_memcpy(&taken.m, &header, sizeof(header));
    taken.m.data = taken.payload;
    ahead = (int64_t)(((publish >> 16) - now) << 16) >> 16;
    taken.m.time = now + (uint64_t)ahead;
    if (__builtin_expect(ahead > 0, 0) || several)
        msg_clock_behind(taken.m.time, now);
    if (__builtin_expect((header & ~MSG_REQUEST_BITS) - ((uint64_t)peer->kernel << MSG_SOURCE_SHIFT) == row->expect, 1))
        handle(row, &taken.m);
    else
        handle_other(peer, ring == &peer->in[MSG_URGENT] ? MSG_URGENT : MSG_ORDINARY, &taken);
}

/* NOW is after poll_end: that of the first message begins the poll's millisecond. */
static bool is_over(uint64_t now)
{
    poll_over = poll_end != 0;
    poll_end = poll_over ? poll_end : now + MSG_POLL_TICKS;
    return poll_over;
}

/* Takes up to QUANTUM messages or runs of fragments, while the poll is not over. True: the ring may have more. One look
 * at the clock is for both: it is the message's time and the poll's. */
static inline __attribute__((always_inline)) bool drain(struct peer *peer, enum msg_class class, bool several)
{
    struct ring_receiver *ring = &peer->in[class];

    for (uint32_t left = QUANTUM; left > 0; left--) {
        const struct ring_slot *slot = next_slot(ring);
        uint64_t publish = __atomic_load_n(&slot->publish, __ATOMIC_ACQUIRE), now;

        if ((uint16_t)publish != ring_sequence(ring->next))
            return false;
        now = msg_ticks();
        if (__builtin_expect(now > poll_end, 0) && is_over(now))
            break;
        take_next(peer, ring, slot, publish, now, several);
    }
    return true;
}

static __attribute__((noinline)) bool drain_several(struct peer *peer, enum msg_class class)
{
    return drain(peer, class, true);
}

static __attribute__((noinline)) bool drain_one_cpu(struct peer *peer, enum msg_class class)
{
    return drain(peer, class, false);
}

/* RING is empty: notes how many slots in a row were taken from it. */
static inline void note_empty(struct ring_receiver *ring)
{
    if (ring->next - ring->empty_at > ring->most)
        ring->most = ring->next - ring->empty_at;
    ring->empty_at = ring->next;
}

/* Remembers, and returns, the hint by which PEER announces exactly the slots that have been taken: those behind them
 * change it. For messages that were taken without following their hint. (A slot may be taken before it is announced,
 * while one of the other ring that was announced is not; then the announcement under way changes the hint.) */
static inline uint16_t remember_taken(const struct peer *peer)
{
    uint64_t slots = peer->in[MSG_ORDINARY].next + peer->in[MSG_URGENT].next;
    uint16_t *seen = &msg_seen.hints[peer->kernel];

    return *seen = (uint16_t)(slots * HINT_SLOT | (*seen & (HINT_SLOT - 1)));
}

/* True if messages of PEER may be taken directly: as msg_direct, and nothing waits for room at PEER. */
static inline bool may_take_directly(const struct peer *peer)
{
    return __builtin_expect(msg_direct, 1) && __builtin_expect(peer->out[MSG_ORDINARY].fast_limit != 0, 1);
}

bool msg_handling(void)
{
    return spin_held(&msg_rx_lock);
}

bool msg_poll_ring(struct peer *peer, struct ring_receiver *ring)
{
    const struct ring_slot *slot = next_slot(ring);
    uint64_t publish = __atomic_load_n(&slot->publish, __ATOMIC_ACQUIRE);

    if (!may_take_directly(peer))
        return msg_poll();
    if (__builtin_expect((uint16_t)publish != ring_sequence(ring->next), 0) || !spin_try_alone(&msg_rx_lock))
        return false;
    msg_stats.polls++;
    take_next(peer, ring, slot, publish, msg_ticks(), false);
    remember_taken(peer);
    spin_unlock(&msg_rx_lock);
    return true;
}

/* Returns the only peer whose hint has changed, if only slots have been announced; otherwise NULL. *NONE: no hint has
 * changed. */
static inline struct peer *only_changed(bool *none)
{
    const volatile uint64_t *hints = msg_hint_words();
    uint32_t last = (instance.kernels - 1) / 4, first = 0, shift;
    uint64_t change;

    while ((change = hints[first] ^ msg_seen.words[first]) == 0) {
        if (first++ == last) {
            *none = true;
            return NULL;
        }
    }
    for (uint32_t i = first; i < last; i++) {
        if (hints[i + 1] != msg_seen.words[i + 1])
            return NULL;
    }
    shift = (uint32_t)__builtin_ctzll(change) & ~15u;
    return (change >> shift & ~(0xffffull & ~(HINT_SLOT - 1ull))) != 0 ? NULL : msg_peers[4 * first + shift / 16];
}

/* The most frequent cases: no peer has announced anything, or one has announced few messages of one class. Returns
 * whether any was taken; *DONE: no peer is left to look at; otherwise *END is what poll_end is to be. */
static inline __attribute__((always_inline)) bool poll_directly(bool *done, uint64_t *end)
{
    bool none = false;
    struct peer *peer = only_changed(&none);
    struct ring_receiver *ring;
    const struct ring_slot *slot;
    uint32_t left = QUANTUM;
    uint64_t publish, now;

    *end = 0;
    if (peer == NULL) {
        *done = none && msg_direct;
        return false;
    }
    if (!may_take_directly(peer))
        return false;
    ring = &peer->in[MSG_URGENT];
    if (!ring_ready(ring))
        ring = &peer->in[MSG_ORDINARY];
    slot = next_slot(ring);
    publish = __atomic_load_n(&slot->publish, __ATOMIC_ACQUIRE);
    if ((uint16_t)publish != ring_sequence(ring->next))
        return false;
    now = msg_ticks();
    for (;;) {
        take_next(peer, ring, slot, publish, now, false);
        if (remember_taken(peer) == msg_own_head->hints[peer->kernel]) {
            note_empty(ring);
            *done = true;
            return true;
        }
        if (left == QUANTUM)
            *end = now + MSG_POLL_TICKS;
        slot = next_slot(ring);
        publish = __atomic_load_n(&slot->publish, __ATOMIC_ACQUIRE);
        if ((uint16_t)publish != ring_sequence(ring->next))
            return true; /* those announced are in the other ring */
        now = msg_ticks();
        if (--left == 0 || now > *end)
            break; /* if the poll is over, poll_in_turn finds the same, and leaves the rest */
    }
    turn[ring == &peer->in[MSG_URGENT] ? MSG_URGENT : MSG_ORDINARY] = (peer->kernel + 1) % KERNELS_MAX;
    return true;
}

/* As drain for one message, while the trace or fault injection is on. */
static bool drain_special(struct peer *peer, enum msg_class class)
{
    struct ring_message slot;
    struct ring_receiver *ring = &peer->in[class];
    uint64_t now = msg_ticks(), queued;

    if (ring_ready(ring) && now > poll_end && is_over(now))
        return true;
    if (inject_holds(peer->kernel, class, ring) || !ring_take(ring, &slot))
        return false;
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
    uint64_t before = peer->in[class].next;
    bool more;

    more = msg_special   ? drain_special(peer, class)
           : cpu_several ? drain_several(peer, class)
                         : drain_one_cpu(peer, class);
    turn[class] = (kernel + (peer->in[class].next != before)) % KERNELS_MAX; /* if the poll was over, it is still its */
    if (more)
        return;
    busy[class] &= ~(1ull << kernel);
    note_empty(&peer->in[class]);
    if (room_wishes >> kernel & 1)
        notify_of_room(peer);
}

/* Ends a poll while rings may have more: what was announced there counts as not seen. A ring of which the last message
 * has just been taken is announced no more, so its sender's wish for room is answered now, or never. And what is left
 * may have been announced long ago and held back since: then no doorbell rings for it, and a timer has to. Nor does one
 * if the first CPU has armed and halted while another one polled; that one rings. */
static __attribute__((noinline)) void leave_rest(void)
{
    for (uint64_t rest = busy[MSG_URGENT] | busy[MSG_ORDINARY]; rest != 0; rest &= rest - 1) {
        struct peer *peer = msg_peers[__builtin_ctzll(rest)];

        remember_taken(peer);
        if (room_wishes >> peer->kernel & 1)
            notify_of_room(peer);
    }
    busy[MSG_URGENT] = busy[MSG_ORDINARY] = 0;
    if (!cpu_several || cpu_index() == 0) {
        msg_look_later();
    } else {
        memory_fence(); /* whoever takes the interrupt sees what counts as not seen */
        msg_stats.doorbells_sent++;
        apic_send(cpus[0]->apic_id, VECTOR_DOORBELL);
    }
}

/* ANY: the poll has taken messages, and END is its end. */
static __attribute__((noinline)) bool poll_in_turn(bool any, uint64_t end)
{
    bool scanned = false;
    uint32_t quanta = 0;

    poll_end = end;
    poll_over = false;
    if (inject_due != 0) {
        busy[MSG_ORDINARY] |= inject_released(MSG_ORDINARY);
        busy[MSG_URGENT] |= inject_released(MSG_URGENT);
    }
    /* While this CPU polls, the first CPU may arm the doorbell and halt, and no sender rings again for a word for which
     * it has rung. So this CPU has to take everything that is pending, or ring itself (leave_rest). With only one CPU,
     * the same CPU checks again before it halts. Interrupts are off, and timers, programs and the beats by which
     * others know that this kernel lives wait for the end of the poll: so it ends, whatever comes. */
    for (;;) {
        if (!scanned || cpu_several || (busy[MSG_URGENT] | busy[MSG_ORDINARY]) != 0)
            scan_hints();
        if ((busy[MSG_URGENT] | busy[MSG_ORDINARY]) == 0)
            break;
        if (quanta == QUANTA || poll_over) {
            leave_rest();
            break;
        }
        if (any)
            silence_begin();
        serve(busy[MSG_URGENT] != 0 ? MSG_URGENT : MSG_ORDINARY);
        cpu_answer();
        any = scanned = true;
        quanta++;
    }
    msg_direct = !cpu_several && !msg_special && inject_due == 0 && room_wishes == 0;
    return any;
}

__attribute__((noinline)) bool msg_poll(void)
{
    bool done = false, any;
    uint64_t end;

    if (!spin_try(&msg_rx_lock))
        return false;
    msg_stats.polls++;
    any = poll_directly(&done, &end);
    if (__builtin_expect(!done, 0))
        any = poll_in_turn(any, end);
    spin_unlock(&msg_rx_lock);
    if (__builtin_expect(inject_due != 0, 0))
        wait_ops.due_changed();
    return any;
}

void msg_receive_fence_locked(struct peer *peer)
{
    uint64_t bit = 1ull << peer->kernel;

    for (uint32_t class = 0; class < MSG_CLASSES; class ++) {
        const struct ring_receiver *in = &peer->in[class];

        busy[class] &= ~bit;
        for (uint64_t at = in->next; at < in->next + in->mask + 1; at++) {
            if ((uint16_t)in->slots[at & in->mask].publish == ring_sequence(at))
                msg_stats.late_epoch++;
        }
    }
    room_wishes &= ~bit;
    msg_direct = false; /* until the next poll that looks at all peers */
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
        in->empty_at = in->most = 0;
        for (uint32_t i = 0; i < 2; i++) {
            peer->partial[class][i].expected = 0;
            peer->partial[class][i].next = i == 0 ? MSG_REPLY_BIT : 0;
        }
    }
    memset((void *)(uintptr_t)peer->noted, 0, MSG_NOTES_SIZE);
    room_wishes &= ~bit;
    peer->wants_seen = 0;
    msg_own_head->taken[peer->kernel].answered = 0;
    msg_own_head->wants[peer->kernel] = 0;
    msg_own_head->hints[peer->kernel] = 0;
    msg_seen.hints[peer->kernel] = 0;
}
