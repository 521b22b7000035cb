/* Sending: straight into the ring if there is room, otherwise through the peer's queue. See msg/PROTOCOL.md. */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/apic.h"
#include "kernel/arch/x86_64/traps.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "kernel/wait/completion.h"
#include "msg/channel_internal.h"
#include "msg/idle.h"
#include "msg/lend.h"
#include "msg/trace.h"

#define LEND_MIN 192u /* bytes: up to so many, slots are cheaper than a loan */

void msg_ring_doorbell(struct peer *peer, uint64_t word)
{
    if (word == peer->rung)
        return;
    peer->rung = word;
    msg_stats.doorbells_sent++;
    apic_send(peer->apic_id, VECTOR_DOORBELL);
}

void msg_set_blocked(struct peer *peer, uint32_t set, uint32_t clear)
{
    bool open;

    peer->blocked = (peer->blocked | set) & ~clear;
    open = (peer->blocked & ~BLOCKED_LENT) == 0 && !cpu_several;
    for (uint32_t class = 0; class < MSG_CLASSES; class ++) {
        struct sender_class *out = &peer->out[class];

        out->fast_limit = open ? out->limit : 0;
        out->fast_reply_limit = open ? out->ring.mask + 1 : 0;
    }
}

/* Returns a hint that differs from HINT but announces no slot. */
static uint16_t hint_signal(uint16_t hint)
{
    return (uint16_t)((hint & ~(HINT_SLOT - 1)) | ((hint + 1) & (HINT_SLOT - 1)));
}

/* Announces slots or a signal by a new hint, and rings the doorbell if it is armed. The slots and the hint must be
 * visible before the doorbell is read, as the receiver arms the doorbell before it reads the hints: at least one of the
 * two sees the other's store. That takes a full fence on both sides. */
static inline void announce_locked(struct peer *peer, uint16_t hint)
{
    uint64_t word;

    peer->hint = hint;
    peer->head->hints[instance.kernel] = hint;
    memory_fence();
    word = peer->head->doorbell;
    if ((word & 1) != 0)
        msg_ring_doorbell(peer, word);
}

static __attribute__((noinline)) bool find_room_locked(struct sender_class *out, uint64_t limit)
{
    ring_refresh(&out->ring);
    return ring_used(&out->ring) < limit;
}

/* Puts a slot without announcing it. There must be room. */
static inline void put_slot_locked(struct ring_sender *ring, uint64_t header, uint64_t time, const void *data,
                                   uint32_t length)
{
    uint64_t words[6];

    if ((length & 7) != 0) { /* never read beyond the sender's last byte */
        words[length / 8] = 0;
        memcpy(words, data, length);
        data = words;
    }
    ring_put(ring, header, time, data, (length + 7) / 8);
}

/* REPLY: a reply of one slot, which may use the reserve and overtakes messages that wait for room. */
static inline bool put_locked(struct peer *peer, enum msg_class class, uint64_t header, const void *data,
                              uint32_t length, bool reply)
{
    struct sender_class *out = &peer->out[class];
    uint64_t limit = reply ? out->ring.mask + 1 : out->limit;

    if (ring_used(&out->ring) >= limit && !find_room_locked(out, limit))
        return false;
    put_slot_locked(&out->ring, header | out->source, msg_clock_tick(), data, length);
    announce_locked(peer, (uint16_t)(peer->hint + HINT_SLOT));
    return true;
}

/* Puts a message to a peer that is traced, not reached yet, or has a queue. */
static __attribute__((noinline)) bool put_blocked_locked(struct peer *peer, enum msg_class class, uint64_t header,
                                                         const void *data, bool reply)
{
    uint32_t length = (uint32_t)msg_header_length(header);

    if (peer->fenced) { /* whoever sends an answer does not care; anything else goes the way of the queue */
        msg_stats.late_epoch += reply ? 1 : 0;
        return reply;
    }
    if ((peer->blocked & (BLOCKED_UNREACHED | BLOCKED_QUEUE)) != 0 && !reply)
        return false;
    if (!put_locked(peer, class, header, data, length, reply))
        return false;
    msg_count_sent(header & MSG_ROW_BITS, length);
    if ((peer->blocked & BLOCKED_TRACE) != 0)
        trace_sent(peer->kernel, header);
    return true;
}

bool msg_put(struct peer *peer, enum msg_class class, uint64_t header, const void *data, bool reply)
{
    uint32_t length = (uint32_t)msg_header_length(header);
    bool put;

    spin_lock(&peer->tx_lock);
    if (peer->blocked != 0) {
        put = put_blocked_locked(peer, class, header, data, reply);
    } else {
        put = put_locked(peer, class, header, data, length, reply);
        if (put)
            msg_count_sent(header & MSG_ROW_BITS, length);
    }
    spin_unlock(&peer->tx_lock);
    return put;
}

/* Puts the fragments before END, for which there is room. */
static void put_range_locked(struct sender_class *out, const struct msg_outgoing *outgoing, uint64_t time, uint32_t end)
{
    struct ring_sender ring = out->ring; /* in registers: this CPU holds the lock */
    uint64_t header = outgoing->header | (uint64_t)outgoing->fragment << MSG_FRAGMENT_SHIFT | out->source;
    uint32_t left = (uint32_t)msg_header_length(outgoing->header) - outgoing->fragment * MSG_SHORT;
    const uint8_t *data = outgoing->data + outgoing->fragment * MSG_SHORT;

    for (uint32_t i = outgoing->fragment; i < end; i++) {
        if (left >= MSG_SHORT) /* a constant length, so that only the copy remains */
            put_slot_locked(&ring, header, time, data, MSG_SHORT);
        else
            put_slot_locked(&ring, header, time, data, left);
        header += 1ull << MSG_FRAGMENT_SHIFT;
        data += MSG_SHORT;
        left -= MSG_SHORT;
    }
    out->ring.next = ring.next;
}

bool msg_lends(const void *data, uint64_t length)
{
    return length > LEND_MIN && lend_address(data, length) != 0;
}

static bool is_answered(const struct peer *peer)
{
    return peer->head->taken[instance.kernel].answered == peer->wants;
}

/* Makes a wish, unless one is open, and announces it together with the SLOTS that were put last. The receiver sees the
 * wish with the hint, takes all messages, and then changes its hint at this kernel. */
static void wish_locked(struct peer *peer, uint32_t slots)
{
    uint16_t hint = (uint16_t)(peer->hint + HINT_SLOT * slots);

    if (!is_answered(peer)) /* what is awaited is visible before the answer to the open wish is looked for once more */
        memory_fence();
    if (is_answered(peer)) {
        msg_stats.room_waits++;
        peer->head->wants[instance.kernel] = ++peer->wants;
        hint = hint_signal(hint);
    }
    if (hint != peer->hint)
        announce_locked(peer, hint);
}

/* An answer to a wish is awaited for REASON, BLOCKED_QUEUE or BLOCKED_LENT; announces SLOTS. If one was awaited
 * already, a wish is open, or its answer has not been followed: then msg_unblock makes the next wish. So at most a wish
 * for each queue and one for loans lie between two looks at the peer's hint. */
static void await_locked(struct peer *peer, uint32_t reason, uint32_t slots)
{
    bool first = (peer->blocked & (BLOCKED_QUEUE | BLOCKED_LENT)) == 0;

    msg_set_blocked(peer, reason, 0);
    if (first)
        wish_locked(peer, slots);
    else if (slots > 0)
        announce_locked(peer, (uint16_t)(peer->hint + HINT_SLOT * slots));
}

/* OUTGOING, which is in no list, is done when the peer has answered the next wish, behind all messages put so far. The
 * SLOTS put last are not announced yet. */
static void lend_locked(struct peer *peer, struct msg_outgoing *outgoing, uint32_t slots)
{
    outgoing->wish = (uint8_t)(peer->wants + 1);
    outgoing->slot = peer->out[outgoing->class].ring.next;
    list_append(&peer->lent, &outgoing->node);
    await_locked(peer, BLOCKED_LENT, slots);
}

/* Of a message that may be long: waits for room, is in the ring, or is in the ring while its memory is in use until an
 * answer to a wish. (The memory of a request is its asker's until the answer in any case.) */
enum put { PUT_NOT, PUT_DONE, PUT_LENT };

static void put_last_locked(const struct peer *peer, struct msg_outgoing *outgoing)
{
    msg_count_sent(outgoing->header & MSG_ROW_BITS, msg_header_length(outgoing->header));
    if ((peer->blocked & BLOCKED_TRACE) != 0)
        trace_sent(peer->kernel, outgoing->header);
    if (outgoing->queued)
        list_remove(&outgoing->node);
    outgoing->queued = false;
}

static enum put put_lent_locked(struct peer *peer, struct msg_outgoing *outgoing, uint64_t address)
{
    struct sender_class *out = &peer->out[outgoing->class];
    uint64_t header = outgoing->header;

    if (ring_used(&out->ring) >= out->limit && !find_room_locked(out, out->limit))
        return PUT_NOT;
    put_slot_locked(&out->ring, header | MSG_LENT_BIT | out->source, msg_clock_tick(), &address, sizeof(address));
    put_last_locked(peer, outgoing);
    if ((header & MSG_REPLY_BIT) == 0 && !msg_kinds[header & MSG_TYPE_BITS].notice) {
        announce_locked(peer, (uint16_t)(peer->hint + HINT_SLOT));
        return PUT_DONE;
    }
    lend_locked(peer, outgoing, 1);
    return PUT_LENT;
}

/* Puts as many fragments as there is room for, and announces them once. */
static enum put put_fragments_locked(struct peer *peer, struct msg_outgoing *outgoing)
{
    struct sender_class *out = &peer->out[outgoing->class];
    uint32_t length = (uint32_t)msg_header_length(outgoing->header);
    uint32_t fragments = length <= MSG_SHORT ? 1 : (length + MSG_SHORT - 1) / MSG_SHORT;

    while (outgoing->fragment < fragments &&
           (ring_used(&out->ring) < out->limit || find_room_locked(out, out->limit))) {
        uint64_t room = out->limit - ring_used(&out->ring);
        uint32_t first = outgoing->fragment;
        uint32_t end = fragments - first < room ? fragments : first + (uint32_t)room;
        uint64_t time = msg_clock_tick();

        put_range_locked(out, outgoing, time, end);
        outgoing->fragment = end;
        announce_locked(peer, (uint16_t)(peer->hint + HINT_SLOT * (end - first)));
    }
    if (outgoing->fragment < fragments)
        return PUT_NOT;
    put_last_locked(peer, outgoing);
    return PUT_DONE;
}

/* OUTGOING is in no queue afterwards, unless PUT_NOT. */
static enum put put_outgoing_locked(struct peer *peer, struct msg_outgoing *outgoing)
{
    uint64_t length = msg_header_length(outgoing->header);
    uint64_t address = length > LEND_MIN ? lend_address(outgoing->data, length) : 0;

    return address != 0 ? put_lent_locked(peer, outgoing, address) : put_fragments_locked(peer, outgoing);
}

static bool queues_empty_locked(const struct peer *peer)
{
    return list_empty(&peer->out[MSG_ORDINARY].queue) && list_empty(&peer->out[MSG_URGENT].queue);
}

void msg_queue(struct peer *peer, struct msg_outgoing *outgoing)
{
    void (*done)(struct msg_outgoing *
                 outgoing) = outgoing->done; /* read now, because OUTGOING may be freed as soon as it has gone out */
    struct list *queue = &peer->out[outgoing->class].queue;
    enum put put = PUT_NOT;

    outgoing->fragment = 0;
    outgoing->queued = false;
    spin_lock(&peer->tx_lock);
    if (peer->fenced) {
        msg_stats.late_epoch++;
        put = PUT_DONE;
    } else if (list_empty(queue)) {
        put = put_outgoing_locked(peer, outgoing);
    }
    if (put == PUT_NOT) {
        list_append(queue, &outgoing->node);
        outgoing->queued = true;
        await_locked(peer, BLOCKED_QUEUE, 0);
    }
    spin_unlock(&peer->tx_lock);
    if (put == PUT_DONE && done != NULL)
        done(outgoing);
}

void msg_return(struct peer *peer, struct msg_outgoing *outgoing)
{
    bool fenced;

    spin_lock(&peer->tx_lock);
    fenced = peer->fenced;
    if (!fenced)
        lend_locked(peer, outgoing, 0);
    spin_unlock(&peer->tx_lock);
    if (fenced)
        outgoing->done(outgoing);
}

bool msg_unqueue(struct peer *peer, struct msg_outgoing *outgoing)
{
    bool untouched = false;

    spin_lock(&peer->tx_lock);
    list_for_each(node, &peer->out[outgoing->class].queue)
        untouched = untouched || (node == &outgoing->node && outgoing->fragment == 0);
    if (untouched) {
        list_remove(&outgoing->node);
        outgoing->queued = false;
        if (queues_empty_locked(peer))
            msg_set_blocked(peer, 0, BLOCKED_QUEUE);
    }
    spin_unlock(&peer->tx_lock);
    return untouched;
}

/* Puts the first message of QUEUE. False: there is none, or no room. *DONE: the message, if it is done, else NULL. */
static bool flush_first(struct peer *peer, struct list *queue, struct msg_outgoing **done)
{
    enum put put = PUT_NOT;

    *done = NULL;
    spin_lock(&peer->tx_lock);
    if (!list_empty(queue)) {
        struct msg_outgoing *first = container_of(queue->next, struct msg_outgoing, node);

        put = put_outgoing_locked(peer, first);
        if (put != PUT_NOT && queues_empty_locked(peer))
            msg_set_blocked(peer, 0, BLOCKED_QUEUE);
        *done = put == PUT_DONE ? first : NULL;
    }
    spin_unlock(&peer->tx_lock);
    return put != PUT_NOT;
}

/* Returns the first of the messages whose memory PEER may read, removed from their list, if it does not any more;
 * otherwise NULL. A peer whose rings are never empty answers no wish; but it takes a slot only after it has handled
 * those before it in the same ring. */
static struct msg_outgoing *take_returned(struct peer *peer)
{
    struct msg_outgoing *first = NULL;

    spin_lock(&peer->tx_lock);
    if (!list_empty(&peer->lent)) {
        uint8_t answered = peer->head->taken[instance.kernel].answered;

        first = container_of(peer->lent.next, struct msg_outgoing, node);
        ring_refresh(&peer->out[first->class].ring);
        if ((int8_t)(answered - first->wish) >= 0 || peer->out[first->class].ring.known_taken > first->slot) {
            list_remove(&first->node);
            if (list_empty(&peer->lent))
                msg_set_blocked(peer, 0, BLOCKED_LENT);
        } else {
            first = NULL;
        }
    }
    spin_unlock(&peer->tx_lock);
    return first;
}

void msg_unblock(struct peer *peer)
{
    struct msg_outgoing *done;

    if ((peer->blocked & BLOCKED_UNREACHED) != 0)
        msg_peer_reach(peer->kernel); /* it sends, so it runs */
    if ((peer->blocked & BLOCKED_QUEUE) != 0) {
        for (int class = MSG_CLASSES - 1; class >= 0; class --) {
            while (flush_first(peer, &peer->out[class].queue, &done)) {
                if (done != NULL && done->done != NULL) /* its answer cannot be taken before rx_lock is released */
                    done->done(done);
            }
        }
    }
    if ((peer->blocked & BLOCKED_LENT) != 0) {
        while ((done = take_returned(peer)) != NULL) {
            if (done->done != NULL)
                done->done(done);
        }
    }
    spin_lock(&peer->tx_lock);
    if ((peer->blocked & (BLOCKED_QUEUE | BLOCKED_LENT)) != 0)
        wish_locked(peer, 0);
    spin_unlock(&peer->tx_lock);
}

void msg_signal_room(struct peer *peer)
{
    spin_lock(&peer->tx_lock);
    msg_stats.room_signals++;
    announce_locked(peer, hint_signal(peer->hint));
    spin_unlock(&peer->tx_lock);
}

struct waiting_send {
    struct msg_outgoing outgoing;
    struct completion gone;
};

static void send_done(struct msg_outgoing *outgoing)
{
    completion_signal(&container_of(outgoing, struct waiting_send, outgoing)->gone);
}

/* Puts a message into its ring, and waits until there was room. 0, -EAGAIN, -EINVAL. */
static __attribute__((noinline)) int send_waiting(uint32_t kernel, enum msg_class class, uint64_t header,
                                                  const void *data)
{
    struct peer *peer = msg_peer(kernel);
    struct waiting_send waiting = {.outgoing = {.header = header, .data = data, .class = class, .done = send_done}};
    struct wait_reason reason = {.what = "room in its ring", .kernel = (int32_t)kernel};

    if (peer == NULL)
        return -EINVAL;
    if (!msg_peer_reachable(kernel))
        return -EAGAIN;
    msg_queue(peer, &waiting.outgoing);
    msg_wait(&waiting.gone, &reason);
    return 0;
}

/* On the only CPU, with no other thread ready: looks for room for a while, because the peer is likely to take messages
 * soon, and handles messages meanwhile. Until half of the ring is free: the peer has work, and the next messages find
 * room. */
static __attribute__((noinline)) void idle_poll_room(const struct sender_class *out)
{
    struct ring_sender *ring = &out->peer->out[out->class].ring;
    uint32_t left = msg_idle_budget();
    uint64_t last = rdtsc_unordered();

    if (left > IDLE_LOOKS_MAX)
        left = IDLE_LOOKS_MAX;
    for (; left > 0 && out->fast_limit != 0 && !idle_poll_away(&last); left--) {
        ring_refresh(ring);
        if (ring_used(ring) <= out->limit / 2)
            return;
        if (!idle_poll_look() || !msg_poll())
            cpu_relax();
        else if (!wait_ops.alone())
            return;
    }
}

static __attribute__((noinline)) int notify_slowly(uint32_t kernel, enum msg_class class, uint64_t header,
                                                   const void *data)
{
    struct peer *peer = msg_peer(kernel);

    assert(msg_kinds[header % MSG_TYPES].notice && header >> MSG_LENGTH_SHIFT <= MSG_MAX);
    if (peer != NULL && msg_header_length(header) <= MSG_SHORT) {
        if (msg_put(peer, class, header, data, false))
            return 0;
        if (peer->out[class].fast_limit != 0 && wait_ops.alone()) {
            idle_poll_room(&peer->out[class]);
            if (msg_put(peer, class, header, data, false))
                return 0;
        }
    }
    return send_waiting(kernel, class, header, data);
}

int msg_notify(uint32_t kernel, enum msg_type type, const void *data, uint32_t length)
{
    uint64_t header = type | (uint64_t)length << MSG_LENGTH_SHIFT;
    enum msg_class class = msg_kinds[type].class;
    struct sender_class *out = msg_sender(kernel, class);

    if (out != NULL && msg_put_fast(out, header, data, false))
        return 0;
    return notify_slowly(kernel, class, header, data);
}

void msg_post(struct msg_outgoing *outgoing, uint32_t kernel, enum msg_type type, const void *data, uint32_t length,
              void (*done)(struct msg_outgoing *outgoing))
{
    uint64_t header = type | (uint64_t)length << MSG_LENGTH_SHIFT;
    enum msg_class class = msg_kinds[type].class;
    struct sender_class *out = msg_sender(kernel, class);

    assert(out != NULL && msg_kinds[type].notice && length <= MSG_MAX);
    if (msg_put_fast(out, header, data, false)) {
        if (done != NULL)
            done(outgoing);
        return;
    }
    *outgoing = (struct msg_outgoing){.header = header, .data = data, .class = class, .done = done};
    msg_queue(out->peer, outgoing);
}
