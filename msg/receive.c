/* Receiving: which peer's turn it is, what is taken from a ring, checks, and dispatch. See msg/PROTOCOL.md.
 *
 * The short way through drain() is for a message whose header is exactly what its row expects; all else, and everything
 * while messages are traced or held back, goes the long way. A long file: both ways lead to one dispatch, and share
 * what they check. */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "msg/channel_internal.h"
#include "msg/inject.h"
#include "msg/quiet.h"
#include "msg/trace.h"

struct msg_stays msg_stays;

#define QUANTUM 8u    /* messages taken from one peer before urgent ones, and the next peer, are looked for */
#define FRAGMENTS 24u /* and fragments, which are only copied */

struct spinlock msg_rx_lock;
struct msg_row msg_rows[MSG_ROWS];

_Static_assert((sizeof(struct msg_row) & (sizeof(struct msg_row) - 1)) == 0, "a row is found by a shift");

union msg_seen msg_seen __attribute__((aligned(64)));

/* [k] rx_lock */
static uint64_t busy[MSG_CLASSES]; /* peers whose ring may have more */
static uint32_t turn[MSG_CLASSES]; /* whose turn it is */
static uint64_t room_wishes;       /* peers to be told when their rings are empty */
static uint32_t logged_kinds;      /* bad input is logged once per kind */

/* Answers a peer's wish for room once both its rings are empty. */
static __attribute__((noinline)) void tell_of_room(struct peer *peer)
{
    if (ring_ready(&peer->in[MSG_URGENT]) || ring_ready(&peer->in[MSG_ORDINARY]))
        return; /* they are taken first: see serve */
    room_wishes &= ~(1ull << peer->kernel);
    msg_own_head->taken[peer->kernel].answered = peer->wants_seen;
    msg_signal_room(peer);
}

/* The peer's signals have changed: it wishes for room. */
static __attribute__((noinline)) void follow_signals(struct peer *peer)
{
    uint8_t wants = msg_own_head->wants[peer->kernel];

    if (wants == peer->wants_seen)
        return;
    peer->wants_seen = wants;
    room_wishes |= 1ull << peer->kernel;
    tell_of_room(peer);
}

/* Follows a hint that has changed by CHANGE: which rings have something, has it made room for us, does it wish for
 * some. */
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

/* The hint is read before the rings: a sender publishes before it changes its hint. So what is not found now comes with
 * another change. */
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

/* A message as it is copied out of its slot: what a handler sees begins with the header itself. */
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

static uint64_t no_fragment(const struct reassembly *partial)
{
    return ~partial->header & MSG_REPLY_BIT; /* of the other kind */
}

/* The next fragment is number EXPECTED. */
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

/* The fragment HEADER in the middle of a long message, whose PAYLOAD has been taken out, and up to FRAGMENTS of those
 * that lie behind it, are only to be copied. They bring no time of their own: what is done with a message is done when
 * its last fragment comes. */
static inline void take_middle(struct reassembly *partial, struct ring_receiver *shared, uint64_t header,
                               const uint64_t *payload)
{
    struct ring_receiver ring = *shared; /* in registers: nobody else changes it */
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

static void deliver(uint64_t word, uint64_t time, const void *data, uint64_t queued);

/* A fragment of a long message that is what is to be expected: the next, or the first when none is under way. False,
 * and nothing has happened: it is not. */
static __attribute__((noinline)) bool take_long(struct peer *peer, enum msg_class class, uint64_t header,
                                                const struct taken *taken, uint64_t queued)
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

        memcpy(partial->bytes + offset, taken->payload, msg_header_length(header) - offset);
        partial->expected = 0;
        partial->next = no_fragment(partial);
        deliver(partial->header, taken->m.time, partial->bytes, queued);
        return true;
    }
    take_middle(partial, &peer->in[class], header, taken->payload);
    return true;
}

/* A message of one slot of a row with bytes, whose length is good; it is counted. */
static inline bool is_short(struct msg_row *row, uint64_t header, uint64_t source)
{
    uint64_t length = msg_header_length(header);

    if ((header & ~(MSG_REQUEST_BITS | MSG_LENGTH_BITS)) != row->first + source || length > MSG_SHORT ||
        length < row->size)
        return false;
    row->bytes_received += length;
    return true;
}

/* Takes up to QUANTUM messages, or runs of fragments. True: the ring may have more. SEVERAL is a constant: the instance
 * has several CPUs. */
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
        *counter = ++ring->next; /* gives the slot back: before a reply returns its credit */
        queued = msg_time_since(publish >> 16, now);
        taken.m.time = now - queued;
        if (__builtin_expect((int64_t)queued < 0, 0) || several) {
            msg_clock_behind(taken.m.time, now);
            queued = (int64_t)queued < 0 ? 0 : queued;
        }
        row = &msg_rows[header & MSG_ROW_BITS];
        if (__builtin_expect((header & ~MSG_REQUEST_BITS) != row->expect + source, 0) &&
            !is_short(row, header, source)) {
            if (!take_long(peer, class, header, &taken, queued))
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

/* As drain, one message, when some are traced or held back. */
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
        tell_of_room(peer);
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
    /* While this CPU is at it, the first CPU may arm the doorbell and go to sleep, and no sender rings for a message
     * that it has rung for before: so all that is there is taken here. One CPU alone looks again before it sleeps. */
    for (;;) {
        if (!any || cpu_several || (busy[MSG_URGENT] | busy[MSG_ORDINARY]) != 0)
            scan_hints();
        if ((busy[MSG_URGENT] | busy[MSG_ORDINARY]) == 0)
            break;
        serve(busy[MSG_URGENT] != 0 ? MSG_URGENT : MSG_ORDINARY);
        cpu_answer(); /* there may be no end to it */
        any = true;
    }
    spin_unlock(&msg_rx_lock);
    if (inject_due != 0)
        wait_ops.due_changed();
    return any;
}

static void drop(uint64_t *counter, uint32_t kind, const struct peer *peer, const char *what)
{
    (*counter)++;
    if ((logged_kinds & 1u << kind) == 0) {
        logged_kinds |= 1u << kind;
        log_line("msg: dropped a message from kernel %u: %s (logged once)", peer->kernel, what);
    }
}

/* Memory that is never given back, as what it is for comes again. */
static void *allocate_for_good(size_t size)
{
    void *memory = msg_memory.allocate(size);

    if (memory != NULL) {
        msg_stays.objects++;
        msg_stays.bytes += (size + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1);
    }
    return memory;
}

/* The first message of a row: from now on it may go the short way. */
static bool row_prepare(struct msg_row *row, uint32_t number)
{
    if (row->times != NULL)
        return true;
    row->times = allocate_for_good(sizeof(*row->times));
    if (row->times == NULL)
        return false;
    if (row->bytes)
        row->first = number;
    else if (row->size <= MSG_SHORT)
        row->expect = number | (uint64_t)row->size << MSG_LENGTH_SHIFT;
    return true;
}

void msg_deliver(struct msg_row *row, const struct msg *m, uint64_t queued)
{
    uint64_t now = msg_ticks();

    row->received++;
    if (row->bytes)
        row->bytes_received += m->length;
    row->handler(m);
    if (!row_prepare(row, (uint32_t)(row - msg_rows)))
        return;
    msg_histogram_add(&row->times->queueing, queued);
    msg_histogram_add(&row->times->handling, msg_ticks() - now);
}

static void deliver(uint64_t word, uint64_t time, const void *data, uint64_t queued)
{
    struct msg_row *row = &msg_rows[word & MSG_ROW_BITS];
    struct msg m = {.length = (uint32_t)msg_header_length(word), .time = time, .data = data};
    uint64_t start = msg_ticks();

    memcpy(&m.ticket, &word, sizeof(m.ticket));
    if ((word & MSG_ERROR_BIT) != 0) {
        int64_t error;

        memcpy(&error, data, sizeof(error));
        row->received++;
        msg_take_reply_error(&m, error < 0 && error > -4096 ? (int)error : -EPROTO);
    } else if ((word & MSG_KEPT_BIT) != 0) {
        msg_take_kept(&m);
    } else {
        msg_deliver(row, &m, queued);
    }
    if (msg_special)
        trace_taken(word, time, queued, msg_ticks() - start);
}

/* Adds a fragment of a message longer than one slot; delivers when it was the last. */
static void reassemble(struct peer *peer, enum msg_class class, const struct msg_header *header,
                       const struct ring_message *slot, uint64_t queued)
{
    struct reassembly *partial = &peer->partial[class][header->reply ? 1 : 0];
    uint64_t first = slot->header & ~(0x7ffull << MSG_FRAGMENT_SHIFT);
    uint32_t offset = header->fragment * MSG_SHORT;
    uint32_t length = header->length - offset;

    if (header->fragment == 0) {
        if (partial->expected != 0)
            drop(&msg_stats.bad_fragment, 0, peer, "a fragmented message broke off");
        partial->expected = 0;
        partial->header = first;
        partial->last = (header->length - 1) / MSG_SHORT;
        partial->next = no_fragment(partial);
        if (partial->bytes == NULL)
            partial->bytes = allocate_for_good(MSG_MAX);
    }
    if (header->fragment != partial->expected || first != partial->header) {
        partial->expected = 0;
        partial->next = no_fragment(partial);
        drop(&msg_stats.bad_fragment, 1, peer, "a fragment that does not fit");
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
        deliver(first, slot->time, partial->bytes, queued);
        return;
    }
    drop(&msg_stats.no_memory, 2, peer, "no memory to put its fragments together");
    if (header->reply) {
        struct msg m = {.ticket = {header->type, header->source, header->request}, .data = slot->payload};

        msg_take_reply_error(&m, -ENOMEM);
    } else if (!msg_kinds[header->type].notice) {
        struct msg_ticket ticket = {header->type, header->source, header->request};

        msg_reply_error(&ticket, -ENOMEM);
    }
}

static bool length_right(const struct msg_header *header, const struct msg_row *row)
{
    if (header->length > MSG_MAX)
        return false;
    if (header->error || header->kept)
        return header->reply && header->length == (header->error ? 8 : 0);
    return row->bytes ? header->length >= row->size : header->length == row->size;
}

void msg_receive_unusual(struct peer *peer, enum msg_class class, const struct ring_message *slot, uint64_t queued)
{
    const struct msg_row *row = &msg_rows[slot->header & MSG_ROW_BITS];
    struct msg_header header;

    msg_header_unpack(slot->header, &header);
    if (header.source != peer->kernel) {
        drop(&msg_stats.bad_source, 3, peer, "it names another source");
        return;
    }
    if ((slot->header & MSG_ZERO_BITS) != 0 || (header.error && header.kept)) {
        drop(&msg_stats.bad_header, 4, peer, "bits of its header that are not in use");
        return;
    }
    if (row->handler == NULL || msg_kinds[header.type].class != class) {
        drop(&msg_stats.bad_type, 5, peer, "a type that is not in use, or not in this class");
        return;
    }
    if (!length_right(&header, row)) {
        drop(&msg_stats.bad_length, 6, peer, "an impossible length");
        return;
    }
    if (header.fragment * MSG_SHORT >= header.length && header.fragment > 0) {
        drop(&msg_stats.bad_fragment, 7, peer, "a fragment behind the end");
        return;
    }
    if (header.length > MSG_SHORT)
        reassemble(peer, class, &header, slot, queued);
    else
        deliver(slot->header, slot->time, slot->payload, queued);
}

uint64_t msg_taken(void)
{
    uint64_t taken = 0;

    for (uint32_t type = 0; type < MSG_TYPES; type++) {
        if (!msg_is_quiet(type))
            taken += msg_rows[type].received + msg_rows[type | MSG_REPLY_BIT].received;
    }
    return taken;
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
