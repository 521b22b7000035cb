/* Sending: straight into the ring if there is room, otherwise through the peer's queue. See msg/PROTOCOL.md. */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/apic.h"
#include "kernel/arch/x86_64/traps.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "kernel/wait/completion.h"
#include "msg/call.h"
#include "msg/channel_internal.h"
#include "msg/idle.h"
#include "msg/trace.h"

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
    open = peer->blocked == 0 && !cpu_several;
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

/* Puts as many fragments as there is room for, and announces them once. True if the last one is in the ring. */
static bool put_fragments_locked(struct peer *peer, struct msg_outgoing *outgoing)
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
        return false;
    msg_count_sent(outgoing->header & MSG_ROW_BITS, length);
    if ((peer->blocked & BLOCKED_TRACE) != 0)
        trace_sent(peer->kernel, outgoing->header);
    return true;
}

/* The receiver sees the wish with the hint, takes all messages, and then changes its hint at this kernel. */
static void wish_for_room_locked(struct peer *peer)
{
    if (peer->head->taken[instance.kernel].answered != peer->wants)
        return; /* the previous wish is not answered yet */
    msg_stats.room_waits++;
    peer->head->wants[instance.kernel] = ++peer->wants;
    announce_locked(peer, hint_signal(peer->hint));
}

static bool queues_empty_locked(const struct peer *peer)
{
    return list_empty(&peer->out[MSG_ORDINARY].queue) && list_empty(&peer->out[MSG_URGENT].queue);
}

void msg_queue(struct peer *peer, struct msg_outgoing *outgoing)
{
    struct list *queue = &peer->out[outgoing->class].queue;
    void (*done)(struct msg_outgoing *
                 outgoing) = outgoing->done; /* read now, because OUTGOING may be freed as soon as it has gone out */
    bool gone;

    outgoing->fragment = 0;
    outgoing->queued = false;
    spin_lock(&peer->tx_lock);
    gone = peer->fenced || (list_empty(queue) && put_fragments_locked(peer, outgoing));
    msg_stats.late_epoch += peer->fenced ? 1 : 0;
    if (!gone) {
        list_append(queue, &outgoing->node);
        outgoing->queued = true;
        msg_set_blocked(peer, BLOCKED_QUEUE, 0);
        wish_for_room_locked(peer);
    }
    spin_unlock(&peer->tx_lock);
    if (gone && done != NULL)
        done(outgoing);
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

/* Puts the first message of QUEUE. Returns it, removed from the queue, if all of it is in the ring; otherwise NULL. */
static struct msg_outgoing *flush_first(struct peer *peer, struct list *queue)
{
    struct msg_outgoing *outgoing = NULL;

    spin_lock(&peer->tx_lock);
    if (!list_empty(queue)) {
        outgoing = container_of(queue->next, struct msg_outgoing, node);
        if (put_fragments_locked(peer, outgoing)) {
            list_remove(&outgoing->node);
            outgoing->queued = false;
            if (queues_empty_locked(peer))
                msg_set_blocked(peer, 0, BLOCKED_QUEUE);
        } else {
            outgoing = NULL;
            wish_for_room_locked(peer);
        }
    }
    spin_unlock(&peer->tx_lock);
    return outgoing;
}

void msg_unblock(struct peer *peer)
{
    if ((peer->blocked & BLOCKED_UNREACHED) != 0)
        msg_peer_reach(peer->kernel); /* it sends, so it runs */
    if ((peer->blocked & BLOCKED_QUEUE) == 0)
        return;
    for (int class = MSG_CLASSES - 1; class >= 0; class --) {
        struct msg_outgoing *outgoing;

        while ((outgoing = flush_first(peer, &peer->out[class].queue)) != NULL) {
            if (outgoing->done != NULL) /* its answer cannot be taken before rx_lock is released */
                outgoing->done(outgoing);
        }
    }
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

int msg_send(uint32_t kernel, enum msg_class class, uint64_t header, const void *data)
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

    if (left > IDLE_LOOKS_MAX)
        left = IDLE_LOOKS_MAX;
    for (; left > 0 && out->fast_limit != 0; left--) {
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
    return msg_send(kernel, class, header, data);
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
