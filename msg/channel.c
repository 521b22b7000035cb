/* The shared memory of the channels, the peers, and the doorbell. See the header and msg/PROTOCOL.md. */
#include "msg/channel_internal.h"

#include "boot/options/options.h"
#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/instance/window.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "msg/inject.h"
#include "msg/lend.h"
#include "msg/trace.h"

#define RING_WINDOW 0x100000ull /* address space for one peer's channel */
#define RESERVE_MAX 16u

_Static_assert(sizeof(struct channel_head) == 3 * PAGE_SIZE, "pages with different writers");
_Static_assert(offsetof(struct channel_head, taken) == PAGE_SIZE, "a sender writes the first page only");
_Static_assert(offsetof(struct channel_head, doorbell) == 2 * PAGE_SIZE, "the doorbell has a page of its own");
_Static_assert(sizeof(struct channel_head) + MSG_CLASSES * RING_SLOTS_MAX * RING_SLOT_SIZE + MSG_NOTES_SIZE <=
                   RING_WINDOW,
               "a window");
_Static_assert(MSG_NOTES_SIZE == PAGE_SIZE, "whole pages");

struct peer *msg_peers[KERNELS_MAX];
struct sender_class *msg_senders[KERNELS_MAX][MSG_CLASSES];
struct channel_head *msg_own_head;
struct msg_memory msg_memory;
uint32_t msg_reserve;
volatile bool msg_ready;
volatile bool msg_special;

/* Slots of every ring: a power of two from RING_SLOTS_MIN to RING_SLOTS_MAX. */
static uint32_t ring_slots(const char *cmdline)
{
    return (uint32_t)option_number(cmdline, "ring");
}

/* Bytes that a source alone writes: its two rings, in whole pages, and behind them its notes. */
static uint64_t source_size(uint32_t slots)
{
    return (((uint64_t)MSG_CLASSES * slots * RING_SLOT_SIZE + PAGE_SIZE - 1) & ~(uint64_t)(PAGE_SIZE - 1)) +
           MSG_NOTES_SIZE;
}

uint64_t msg_channel_size(uint32_t kernels, const char *cmdline)
{
    return sizeof(struct channel_head) + kernels * source_size(ring_slots(cmdline));
}

/* Maps, of the peer's receiving memory, its first page and this kernel's rings and notes writable, and its counters
 * read-only; nothing else. */
static void peer_open(uint32_t kernel, uint32_t slots)
{
    uint64_t base = instance.plan.kernels[kernel].chunk + instance.layout.channel;
    uint64_t window = RING_BASE + kernel * RING_WINDOW;
    uint64_t rings = sizeof(struct channel_head);
    uint64_t bytes = source_size(slots);
    struct peer *peer = msg_memory.allocate(sizeof(*peer));
    const uint8_t *own;
    int error;

    error = window_map(window, base, PAGE_SIZE, PAGING_WRITE);
    if (error == 0)
        error = window_map(window + PAGE_SIZE, base + PAGE_SIZE, sizeof(struct channel_head) - PAGE_SIZE, 0);
    if (error == 0)
        error = window_map(window + rings, base + rings + instance.kernel * bytes, bytes, PAGING_WRITE);
    if (error != 0 || peer == NULL)
        panic("msg: no memory for the channel to kernel %u", kernel);
    own = (const uint8_t *)msg_own_head + rings + kernel * bytes;
    peer->kernel = kernel;
    peer->notes = (void *)(window + rings + bytes - MSG_NOTES_SIZE);
    peer->noted = own + bytes - MSG_NOTES_SIZE;
    list_init(&peer->lent);
    peer->blocked = BLOCKED_UNREACHED;
    for (uint32_t class = 0; class < MSG_CLASSES; class ++)
        peer->partial[class][0].next = MSG_REPLY_BIT;
    peer->head = (struct channel_head *)window;
    peer->apic_id = instance.plan.cpus[instance.plan.kernels[kernel].boot_cpu].apic_id;
    for (uint32_t class = 0; class < MSG_CLASSES; class ++) {
        struct sender_class *out = &peer->out[class];
        struct ring_receiver *in = &peer->in[class];

        list_init(&out->queue);
        list_init(&out->credits.waiting);
        out->class = (uint8_t) class;
        out->reply = (uint32_t)MSG_REPLY_BIT | kernel << MSG_SOURCE_SHIFT;
        out->peer = peer;
        out->source = (uint64_t)instance.kernel << MSG_SOURCE_SHIFT;
        msg_senders[kernel][class] = out;
        out->hint = &peer->head->hints[instance.kernel];
        out->bell = &peer->head->doorbell;
        out->limit = slots - msg_reserve;
        out->ring.mask = in->mask = slots - 1;
        out->ring.slots = (struct ring_slot *)(window + rings) + (size_t) class * slots;
        out->ring.counter = &peer->head->taken[instance.kernel].count[class];
        in->slots = (const struct ring_slot *)(const void *)own + (size_t) class * slots;
        in->counter = &msg_own_head->taken[kernel].count[class];
    }
    msg_peers[kernel] = peer;
}

bool msg_maps(uint64_t va, uint64_t pa, bool write)
{
    uint64_t bytes = source_size(ring_slots(instance.cmdline)), rings = sizeof(struct channel_head);
    uint64_t kernel = (va - RING_BASE) / RING_WINDOW, offset = (va - RING_BASE) % RING_WINDOW;
    uint64_t base;

    if (va < RING_BASE || kernel >= instance.kernels || kernel == instance.kernel || offset >= rings + bytes)
        return false;
    base = instance.plan.kernels[kernel].chunk + instance.layout.channel;
    if (offset < rings)
        return pa == base + offset && (!write || offset < PAGE_SIZE);
    return pa == base + instance.kernel * bytes + offset;
}

void msg_init(const struct msg_memory *memory)
{
    uint32_t slots = ring_slots(instance.cmdline);

    msg_memory = *memory;
    msg_reserve = slots / 4 < RESERVE_MAX ? slots / 4 : RESERVE_MAX;
    msg_own_head = window_direct(instance.plan.kernels[instance.kernel].chunk + instance.layout.channel);
    for (uint32_t i = 0; i < MSG_ROWS; i++)
        msg_rows[i].expect = msg_rows[i].first = i ^ 1;
    for (uint32_t k = 0; k < instance.kernels; k++) {
        if (k != instance.kernel)
            peer_open(k, slots);
    }
    lend_init();
    msg_dispatch_init();
    msg_call_init();
    msg_kept_init();
    msg_multicast_init();
    msg_exercise_init();
    trace_init();
    inject_init();
    msg_slice_init();
    msg_control_init();
    msg_ready = true;
}

void msg_register(enum msg_type type, msg_handler handler, uint32_t size, uint32_t reply_size)
{
    const struct msg_kind *kind = &msg_kinds[type];
    struct msg_row *row = &msg_rows[type];
    struct msg_row *reply = &msg_rows[type | MSG_REPLY_BIT];

    assert(kind->name != NULL && row->handler == NULL);
    row->handler = handler;
    row->size = size;
    row->bytes = kind->bytes;
    if (kind->notice)
        return;
    reply->handler = msg_take_reply;
    reply->size = reply_size;
    reply->bytes = kind->reply_bytes;
}

void msg_peer_reach(uint32_t kernel)
{
    struct peer *peer = msg_peer(kernel);

    if (peer == NULL)
        return;
    spin_lock(&peer->tx_lock);
    if (!peer->fenced)
        msg_set_blocked(peer, 0, BLOCKED_UNREACHED);
    spin_unlock(&peer->tx_lock);
}

bool msg_peer_reachable(uint32_t kernel)
{
    const struct peer *peer = msg_peer(kernel);

    return peer != NULL && (peer->blocked & BLOCKED_UNREACHED) == 0;
}

bool msg_peer_fenced(uint32_t kernel)
{
    return msg_peer(kernel) != NULL && msg_peer(kernel)->fenced;
}

kernel_set msg_peers_fenced(void)
{
    kernel_set fenced = 0;

    for (uint32_t k = 0; k < instance.kernels; k++)
        fenced |= (kernel_set)(msg_peer_fenced(k) ? 1 : 0) << k;
    return fenced;
}

kernel_set msg_peers_reachable(void)
{
    kernel_set set = 0;

    for (uint32_t k = 0; k < instance.kernels; k++) {
        if (k != instance.kernel && msg_peer_reachable(k))
            set |= 1ull << k;
    }
    return set;
}

kernel_set msg_peers_known(void)
{
    kernel_set set = 0;

    for (kernel_set rest = msg_peers_reachable(); rest != 0; rest &= rest - 1) {
        if (__atomic_load_n(&msg_peer((uint32_t)__builtin_ctzll(rest))->known, __ATOMIC_ACQUIRE))
            set |= rest & -rest;
    }
    return set;
}

uint64_t msg_time(void)
{
    return msg_clock_tick();
}

void msg_peer_start(uint32_t kernel)
{
    struct peer *peer = msg_peer(kernel);

    if (peer == NULL)
        return;
    spin_lock(&peer->tx_lock);
    if (!peer->fenced) {
        __atomic_store_n(&peer->known, true, __ATOMIC_RELEASE);
        __atomic_store_n(&peer->started, true, __ATOMIC_RELEASE);
    }
    spin_unlock(&peer->tx_lock);
}

void msg_peer_leave(uint32_t kernel)
{
    if (msg_peer(kernel) != NULL)
        __atomic_store_n(&msg_peer(kernel)->started, false, __ATOMIC_RELEASE);
}

bool msg_peer_started(uint32_t kernel)
{
    if (kernel == instance.kernel)
        return true;
    return msg_peer(kernel) != NULL && __atomic_load_n(&msg_peer(kernel)->started, __ATOMIC_ACQUIRE);
}

volatile uint64_t *msg_board_own(void)
{
    return msg_own_head->board;
}

const volatile uint64_t *msg_board_of(uint32_t kernel)
{
    if (kernel == instance.kernel)
        return msg_own_head->board;
    return msg_peer(kernel) != NULL ? msg_peer(kernel)->head->board : NULL;
}

volatile void *msg_notes_at(uint32_t kernel)
{
    return msg_peer(kernel) != NULL ? msg_peer(kernel)->notes : NULL;
}

const volatile void *msg_notes_of(uint32_t kernel)
{
    return msg_peer(kernel) != NULL ? msg_peer(kernel)->noted : NULL;
}

const char *msg_type_name(uint32_t type)
{
    return type < MSG_TYPES ? msg_kinds[type].name : NULL;
}
