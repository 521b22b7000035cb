/* Channels to the other instances. See the header and msg/PROTOCOL.md.
 *
 * Locks: rx_lock is held while messages are taken and handled (one CPU at a time, so order per pair is kept through
 * dispatch); a peer's tx_lock while slots are filled. Order: rx_lock, then whatever a handler takes, then tx_lock. */
#include "msg/channel.h"

#include "boot/instance.h"
#include "boot/window.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/apic.h"
#include "kernel/arch/x86_64/layout.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/arch/x86_64/traps.h"
#include "kernel/lib/completion.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "msg/ring.h"

#define RING_BYTES (RING_SLOTS * RING_SLOT_SIZE)
#define BATCH 32u               /* messages taken from one peer before the next one's turn */
#define RING_WINDOW 0x100000ull /* address space for one peer's rings */

/* The head of an instance's receiving memory. The first page is written by senders, the second by the receiver. */
struct channel_head {
    volatile uint8_t pending[KERNELS_MAX]; /* [m] nonzero: look into this source's ring */
    uint8_t pad0[PAGE_SIZE - KERNELS_MAX];
    struct ring_consumed consumed[KERNELS_MAX]; /* by source; read-only for senders */
    volatile uint64_t doorbell;                 /* generation << 1 | armed; read-only for senders */
    uint8_t pad1[PAGE_SIZE - 8];
};

_Static_assert(offsetof(struct channel_head, consumed) == PAGE_SIZE, "pages with different writers");
_Static_assert(sizeof(struct channel_head) % PAGE_SIZE == 0, "rings start on a page");

struct reassembly {
    uint8_t *bytes;    /* MSG_MAX, or NULL until the first fragment */
    uint32_t expected; /* next fragment; 0: none under way */
    uint64_t header;   /* of fragment 0, packed */
};

struct peer {
    uint32_t kernel; /* [i] */
    bool reachable;  /* [a] it has opened its rings: it may be sent to */
    bool started;    /* [a] every kernel can reach it: programs may go there */
    struct spinlock tx_lock;
    struct ring_sender out;       /* [k] tx_lock */
    uint64_t rung;                /* [k] tx_lock: doorbell generation we have rung for */
    bool long_busy;               /* [k] tx_lock: a task is sending fragments */
    struct channel_head *head;    /* [i] the peer's receiving memory */
    uint32_t apic_id;             /* [i] of the CPU that takes its doorbells */
    struct ring_receiver in;      /* [k] rx_lock */
    struct reassembly partial[2]; /* [k] rx_lock: requests and notices, replies */
};

struct type_row {
    const char *name;
    bool notice;
    bool bytes; /* more bytes may follow the payload struct */
};

#define FIXED false
#define BYTES true

static const struct type_row types[MSG_TYPES] = {
#define REQUEST(number, name, request, reply, size, meaning) [number] = {#name, false, size},
#define NOTICE(number, name, payload, size, meaning) [number] = {#name, true, size},
#define RETIRED(number)
#include "msg/messages.def"
#undef REQUEST
#undef NOTICE
#undef RETIRED
};
#undef FIXED
#undef BYTES

static struct peer *peers[KERNELS_MAX]; /* [i] NULL for ourselves */
static msg_handler handlers[MSG_TYPES]; /* [i] */
static uint32_t sizes[MSG_TYPES];       /* [i] of a request's or notice's payload struct */
static void (*reply_handler)(const struct msg_header *header, const struct msg *m); /* [i] */
static struct channel_head *own_head;                                               /* [i] */
static msg_allocator allocate;                                                      /* [i] */
static struct spinlock rx_lock;
static struct msg_stats stats;    /* counters; exact per CPU order is not needed */
static volatile uint64_t lamport; /* [a] */
static uint32_t logged_kinds;     /* [k] rx_lock: bad input logged once per kind */

uint64_t msg_channel_size(uint32_t kernels)
{
    return sizeof(struct channel_head) + (uint64_t)kernels * RING_BYTES;
}

const struct msg_stats *msg_stats(void)
{
    return &stats;
}

void msg_count_late_reply(void)
{
    stats.late_reply++;
}

const char *msg_type_name(uint32_t type)
{
    return type < MSG_TYPES ? types[type].name : NULL;
}

void msg_register(enum msg_type type, msg_handler handler, uint32_t size)
{
    assert(handlers[type] == NULL);
    sizes[type] = size;
    handlers[type] = handler;
}

void msg_set_reply_handler(void (*handler)(const struct msg_header *header, const struct msg *m))
{
    reply_handler = handler;
}

uint64_t msg_clock_tick(void)
{
    return __atomic_add_fetch(&lamport, 1, __ATOMIC_RELAXED);
}

static void clock_see(uint64_t time)
{
    uint64_t mine = __atomic_load_n(&lamport, __ATOMIC_RELAXED);

    while (mine < time &&
           !__atomic_compare_exchange_n(&lamport, &mine, time, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static void peer_open(uint32_t kernel)
{
    uint64_t base = instance.plan.kernels[kernel].chunk + instance.layout.channel;
    uint64_t window = RING_BASE + kernel * RING_WINDOW;
    uint64_t ring = sizeof(struct channel_head) + (uint64_t)instance.kernel * RING_BYTES;
    struct peer *peer = allocate(sizeof(*peer));
    int error;

    /* Of the peer's receiving memory we map the pending bytes and our ring writable, its counters to read, no more. */
    error = window_map(window, base, PAGE_SIZE, PAGING_WRITE);
    if (error == 0)
        error = window_map(window + PAGE_SIZE, base + PAGE_SIZE, sizeof(struct channel_head) - PAGE_SIZE, 0);
    if (error == 0)
        error = window_map(window + ring, base + ring, RING_BYTES, PAGING_WRITE);
    if (error != 0 || peer == NULL)
        panic("msg: no memory for the channel to kernel %u", kernel);
    peer->kernel = kernel;
    peer->head = (struct channel_head *)window;
    peer->apic_id = instance.plan.cpus[instance.plan.kernels[kernel].boot_cpu].apic_id;
    peer->out.slots = (struct ring_slot *)(window + ring);
    peer->out.consumed = &peer->head->consumed[instance.kernel];
    peer->in.slots = (const struct ring_slot *)(void *)((uint8_t *)own_head + sizeof(struct channel_head) +
                                                        (uint64_t)kernel * RING_BYTES);
    peer->in.consumed = &own_head->consumed[kernel];
    peers[kernel] = peer;
}

void msg_init(msg_allocator alloc)
{
    allocate = alloc;
    own_head = window_direct(instance.plan.kernels[instance.kernel].chunk + instance.layout.channel);
    for (uint32_t k = 0; k < instance.kernels; k++) {
        if (k != instance.kernel)
            peer_open(k);
    }
}

static struct peer *peer_of(uint32_t kernel)
{
    return kernel < instance.kernels ? peers[kernel] : NULL;
}

void msg_peer_reach(uint32_t kernel)
{
    if (kernel != instance.kernel)
        __atomic_store_n(&peer_of(kernel)->reachable, true, __ATOMIC_RELEASE);
}

bool msg_peer_reachable(uint32_t kernel)
{
    return peer_of(kernel) != NULL && __atomic_load_n(&peer_of(kernel)->reachable, __ATOMIC_ACQUIRE);
}

void msg_peer_start(uint32_t kernel)
{
    if (kernel != instance.kernel)
        __atomic_store_n(&peer_of(kernel)->started, true, __ATOMIC_RELEASE);
}

bool msg_peer_started(uint32_t kernel)
{
    if (kernel == instance.kernel)
        return true;
    return peer_of(kernel) != NULL && __atomic_load_n(&peer_of(kernel)->started, __ATOMIC_ACQUIRE);
}

static uint32_t slots_for(uint32_t length)
{
    return length == 0 ? 1 : (length + MSG_SHORT - 1) / MSG_SHORT;
}

/* Makes the receiver look. The slot and the pending byte must be visible before we read its doorbell, as the receiver
 * arms before it looks at the bytes: one of the two sees the other. That takes a full fence on both sides. */
static void ring_doorbell_locked(struct peer *peer)
{
    uint64_t word;

    peer->head->pending[instance.kernel] = 1;
    memory_fence();
    word = peer->head->doorbell;
    if ((word & 1) != 0 && word != peer->rung) {
        peer->rung = word;
        stats.doorbells_sent++;
        apic_send(peer->apic_id, VECTOR_DOORBELL);
    }
}

static void put_locked(struct peer *peer, struct msg_header *header, uint64_t time, const uint8_t *data)
{
    uint32_t offset = header->fragment * MSG_SHORT;
    uint32_t length = header->length - offset;

    if (length > MSG_SHORT)
        length = MSG_SHORT;
    ring_put(&peer->out, msg_header_pack(header), time, data + offset, length);
}

/* A task that found no room lets others run and takes what has come for us: the peer may wait for the same from us. */
static void wait_for_room(void)
{
    stats.full_waits++;
    msg_poll();
    wait_ops.yield();
}

int msg_transmit(uint32_t kernel, struct msg_header *header, const void *data)
{
    struct peer *peer = peer_of(kernel);
    uint32_t slots = slots_for(header->length);
    uint32_t reserve = header->reply && slots == 1 ? 0 : MSG_RESERVE;
    uint64_t time;

    if (peer == NULL)
        return -EINVAL;
    if (!msg_peer_reachable(kernel))
        return -EAGAIN;
    header->source = (uint8_t)instance.kernel;
    header->fragment = 0;
    stats.types[header->type].sent++;
    stats.types[header->type].bytes_sent += header->length;

    spin_lock(&peer->tx_lock);
    if (slots > 1) { /* fragments of two messages of one kind must not mix */
        while (peer->long_busy) {
            spin_unlock(&peer->tx_lock);
            wait_for_room();
            spin_lock(&peer->tx_lock);
        }
        peer->long_busy = true;
    }
    time = msg_clock_tick();
    while (header->fragment < slots) {
        if (ring_room(&peer->out, reserve + 1) < reserve + 1) {
            if (header->reply && slots == 1)
                panic("msg: no room for a reply to kernel %u: its reserve was overrun", kernel);
            spin_unlock(&peer->tx_lock);
            wait_for_room();
            spin_lock(&peer->tx_lock);
            continue;
        }
        put_locked(peer, header, time, data);
        header->fragment++;
        ring_doorbell_locked(peer);
    }
    if (slots > 1)
        peer->long_busy = false;
    spin_unlock(&peer->tx_lock);
    return 0;
}

int msg_notify(uint32_t kernel, enum msg_type type, const void *data, uint32_t length)
{
    struct msg_header header = {.type = (uint8_t)type, .length = length};

    assert(types[type].notice && length <= MSG_MAX);
    return msg_transmit(kernel, &header, data);
}

void msg_reply(const struct msg_ticket *ticket, const void *data, uint32_t length)
{
    assert(length <= MSG_SHORT);
    msg_reply_long(ticket, data, length);
}

void msg_reply_long(const struct msg_ticket *ticket, const void *data, uint32_t length)
{
    struct msg_header header = {.type = ticket->type, .request = ticket->request, .length = length, .reply = true};
    int error;

    assert(length <= MSG_MAX);
    error = msg_transmit(ticket->kernel, &header, data);
    assert(error == 0); /* it has sent to us, so it runs */
}

void msg_reply_error(const struct msg_ticket *ticket, int error)
{
    struct msg_header header = {
        .type = ticket->type, .request = ticket->request, .length = 8, .reply = true, .error = true};
    int64_t value = error;

    error = msg_transmit(ticket->kernel, &header, &value);
    assert(error == 0);
}

static void drop(uint64_t *counter, uint32_t kind, const struct peer *peer, const char *what)
{
    (*counter)++;
    if ((logged_kinds & 1u << kind) == 0) {
        logged_kinds |= 1u << kind;
        log_line("msg: dropped a message from kernel %u: %s (logged once)", peer->kernel, what);
    }
}

static void deliver(const struct msg_header *header, uint64_t time, const void *data)
{
    struct msg m = {.ticket = {.kernel = header->source, .type = header->type, .request = header->request},
                    .time = time,
                    .length = header->length,
                    .data = data};

    stats.types[header->type].received++;
    stats.types[header->type].bytes_received += header->length;
    if (header->reply)
        reply_handler(header, &m);
    else
        handlers[header->type](&m);
}

/* Adds a fragment of a message longer than one slot; delivers when it was the last. */
static void reassemble(struct peer *peer, const struct msg_header *header, const struct ring_message *slot)
{
    struct reassembly *partial = &peer->partial[header->reply ? 1 : 0];
    struct msg_header first = *header;
    uint32_t offset = header->fragment * MSG_SHORT;
    uint32_t length = header->length - offset;

    first.fragment = 0;
    if (header->fragment == 0) {
        if (partial->expected != 0)
            drop(&stats.bad_fragment, 0, peer, "a fragmented message broke off");
        partial->expected = 0;
        partial->header = msg_header_pack(&first);
        if (partial->bytes == NULL)
            partial->bytes = allocate(MSG_MAX);
    }
    if (header->fragment != partial->expected || msg_header_pack(&first) != partial->header) {
        partial->expected = 0;
        drop(&stats.bad_fragment, 1, peer, "a fragment that does not fit");
        return;
    }
    partial->expected++;
    if (length > MSG_SHORT)
        length = MSG_SHORT;
    if (partial->bytes != NULL)
        memcpy(partial->bytes + offset, slot->payload, length);
    if (offset + length < header->length)
        return;
    partial->expected = 0;
    if (partial->bytes != NULL) {
        deliver(&first, slot->time, partial->bytes);
        return;
    }
    drop(&stats.no_memory, 2, peer, "no memory to put its fragments together");
    if (!header->reply && !types[header->type].notice) {
        struct msg_ticket ticket = {header->source, header->type, header->request};

        msg_reply_error(&ticket, -ENOMEM);
    }
}

static void receive(struct peer *peer, const struct ring_message *slot)
{
    struct msg_header header;

    msg_header_unpack(slot->header, &header);
    if (header.source != peer->kernel) {
        drop(&stats.bad_source, 3, peer, "it names another source");
        return;
    }
    if (header.type >= MSG_TYPES || types[header.type].name == NULL ||
        (!header.reply && handlers[header.type] == NULL) || (header.reply && types[header.type].notice)) {
        drop(&stats.bad_type, 4, peer, "a type that is not in use");
        return;
    }
    if (header.length > MSG_MAX || (header.error && header.length != 8) ||
        (!header.reply &&
         (types[header.type].bytes ? header.length < sizes[header.type] : header.length != sizes[header.type]))) {
        drop(&stats.bad_length, 5, peer, "an impossible length");
        return;
    }
    if (header.fragment * MSG_SHORT >= header.length && header.fragment > 0) {
        drop(&stats.bad_fragment, 6, peer, "a fragment behind the end");
        return;
    }
    if (!msg_peer_reachable(peer->kernel))
        msg_peer_reach(peer->kernel); /* it sends, so it runs; and a request must find its way back */
    clock_see(slot->time);
    if (header.length > MSG_SHORT)
        reassemble(peer, &header, slot);
    else
        deliver(&header, slot->time, slot->payload);
}

/* Takes up to BATCH messages from PEER and returns how many. With BATCH there may be more: the pending byte stays set.
 */
static uint32_t drain(struct peer *peer)
{
    struct ring_message slot;
    uint32_t count = 0;

    own_head->pending[peer->kernel] = 0;
    memory_fence(); /* clear, then look: a sender publishes before it sets the byte */
    while (count < BATCH && ring_take(&peer->in, &slot)) {
        count++;
        /* before a reply gives its credit back: replies in the ring are never more than credits */
        ring_release(&peer->in);
        receive(peer, &slot);
    }
    if (count == BATCH)
        own_head->pending[peer->kernel] = 1;
    return count;
}

static uint64_t pending_word(uint32_t first)
{
    return *(const volatile uint64_t *)(const volatile void *)&own_head->pending[first];
}

static bool anything_pending(void)
{
    for (uint32_t first = 0; first < instance.kernels; first += 8) {
        if (pending_word(first) != 0)
            return true;
    }
    return false;
}

/* Looks once at every peer. Returns true when one had messages, and in *MORE whether one was left with some. */
static bool poll_round_locked(bool *more)
{
    bool any = false;

    *more = false;
    for (uint32_t first = 0; first < instance.kernels; first += 8) {
        if (pending_word(first) == 0)
            continue;
        for (uint32_t k = first; k < first + 8 && k < instance.kernels; k++) {
            uint32_t count;

            if (own_head->pending[k] == 0)
                continue;
            if (peers[k] == NULL) {
                own_head->pending[k] = 0;
                continue;
            }
            count = drain(peers[k]);
            any = any || count > 0;
            *more = *more || count == BATCH;
        }
    }
    return any;
}

bool msg_poll(void)
{
    bool any = false;
    bool more = true;

    if (!anything_pending() || !spin_try(&rx_lock))
        return false;
    stats.polls++;
    /* What a round leaves in a ring is ours to take: while we had its pending byte clear, the first CPU may have armed
     * the doorbell and gone to sleep, and no sender rings for a message that it has rung for before. */
    while (more)
        any = poll_round_locked(&more) || any;
    spin_unlock(&rx_lock);
    return any;
}

void msg_doorbell_disarm(void)
{
    uint64_t word = own_head->doorbell;

    if ((word & 1) != 0)
        own_head->doorbell = word + 1;
}

bool msg_doorbell_arm(void)
{
    uint64_t word = own_head->doorbell;

    own_head->doorbell = (word & 1) != 0 ? word + 2 : word + 1;
    memory_fence(); /* arm, then look: see ring_doorbell_locked */
    if (!anything_pending())
        return true;
    msg_doorbell_disarm();
    return false;
}

void msg_doorbell_interrupt(void)
{
    stats.doorbells_received++;
    for (;;) {
        msg_poll();
        if (msg_doorbell_arm())
            break;
        cpu_relax(); /* another CPU may be at it, and its handler may wait for our TLB */
    }
}
