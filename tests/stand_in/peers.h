/* One instance's message layer on the host, among simulated peers. Included once, after a definition of
 * REQUIRE(condition), which ends the test when CONDITION is false.
 *
 * The layer keeps its state in globals, so a process holds one instance: OWN. A peer is the few lines below, which
 * write and read the shared memory by the wire format of msg/PROTOCOL.md, without the code under test. The chunks of
 * all instances are one shared memory object; what the layer maps of it has the access rights that it asks for, so a
 * write where only a peer may write ends the program. Time passes by a little with each look at a clock, and when told
 * to. */
#ifndef TESTS_STAND_IN_PEERS_H
#define TESTS_STAND_IN_PEERS_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "boot/options/control.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/apic.h"
#include "kernel/arch/x86_64/traps.h"
#include "kernel/instance/window.h"
#include "kernel/lib/log.h"
#include "msg/channel_internal.h"
#include "msg/idle.h"
#include "msg/lend.h"
#include "msg/request/call.h"
#include "msg/request/multicast.h"
#include "msg/slice.h"
#include "msg/wire.h"

#ifndef OWN
#define OWN 1u /* the instance under test */
#endif
#define PEERS_BASE 0x40000000ull /* physical address of the first chunk */
#define PEERS_CHANNEL 0x3000ull  /* offset of the receiving memory in a chunk */
#define PEERS_HEAD 0x3000ull     /* bytes before the rings */
#define PEERS_APIC(kernel) (10 + 3 * (kernel))

/* As in msg/PROTOCOL.md. */
struct peers_slot {
    uint64_t header, payload[6], publish;
};

struct peers_message {
    uint16_t type;
    bool reply, error, kept, lent;
    uint8_t source;
    uint16_t request;
    uint32_t length, fragment;
    uint64_t time;
    uint8_t data[MSG_MAX];
};

/* A simulated peer. */
struct peers_peer {
    uint64_t put[MSG_CLASSES], taken[MSG_CLASSES]; /* slots, of its rings to us and of ours to it */
    uint16_t slots, signals;
    uint8_t wants;
    uint64_t rung; /* times that we have interrupted it */
    uint32_t expected[MSG_CLASSES];
    struct peers_message partial[MSG_CLASSES]; /* what it puts together of our fragments */
};

static uint8_t *peers_memory; /* all chunks */
static uint32_t peers_slots;  /* of each ring */
static uint64_t peers_rings;  /* bytes of the two rings of one source, and its notes */
static uint64_t peers_stride; /* bytes of a chunk */
static struct peers_peer peers[KERNELS_MAX];
static uint64_t peers_counts; /* the time stamp counter: two a nanosecond */
static uint64_t peers_logged; /* lines */
static char peers_log[LOG_LINE_MAX];
static uint64_t peers_due_changes;

struct instance instance;
struct cpu *cpus[CPUS_MAX];
uint32_t cpu_total;
bool cpu_several;

void silence_note(uint64_t now, uint64_t place)
{
    (void)now;
    (void)place;
}

bool slice_pause(void)
{
    msg_poll();
    return false;
}

void msg_slice_init(void)
{
}

uint64_t rdtsc_unordered(void)
{
    return peers_counts += 32;
}

uint64_t clock_now(void)
{
    return (peers_counts += 2) / 2;
}

uint64_t clock_counts_to_ns(uint64_t counts)
{
    return counts / 2;
}

static inline void peers_pass(uint64_t nanoseconds)
{
    peers_counts += 2 * nanoseconds;
}

static void (*peers_relaxed)(void); /* what happens while we wait for another CPU, or NULL */

void cpu_relax(void)
{
    peers_counts += 32;
    if (peers_relaxed != NULL)
        peers_relaxed();
}

void log_line(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(peers_log, sizeof(peers_log), format, args);
    va_end(args);
    peers_logged++;
}

void log_event(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(peers_log, sizeof(peers_log), format, args);
    va_end(args);
    peers_logged++;
}

void apic_send(uint32_t target, uint8_t vector)
{
    uint32_t kernel = (target - PEERS_APIC(0)) / 3;

    REQUIRE(vector == VECTOR_DOORBELL && target == PEERS_APIC(kernel) && kernel < instance.kernels);
    peers[kernel].rung++;
}

/* Memory, counted. Each object ends where the sanitizer sees what goes beyond. */
struct peers_object {
    struct peers_object *next, *previous;
    size_t size;
};

#define PEERS_OBJECT 64

static struct peers_object peers_objects = {&peers_objects, &peers_objects, 0};
static uint64_t peers_live_bytes, peers_most_bytes, peers_live_objects, peers_allocations;
static uint64_t peers_fail_from, peers_fail_to; /* allocations of these numbers, from 1, fail */

static void *peers_allocate(size_t size)
{
    struct peers_object *object;
    void *memory;

    peers_allocations++;
    if (peers_allocations >= peers_fail_from && peers_allocations < peers_fail_to)
        return NULL;
    REQUIRE(size > 0 && posix_memalign(&memory, PEERS_OBJECT, PEERS_OBJECT + size) == 0);
    memset(memory, 0, PEERS_OBJECT + size);
    object = memory;
    *object = (struct peers_object){peers_objects.next, &peers_objects, size};
    object->next->previous = object;
    peers_objects.next = object;
    peers_live_bytes += size;
    peers_live_objects++;
    if (peers_live_bytes > peers_most_bytes)
        peers_most_bytes = peers_live_bytes;
    return (uint8_t *)memory + PEERS_OBJECT;
}

static void peers_release(void *memory, size_t size)
{
    struct peers_object *object = (struct peers_object *)(void *)((uint8_t *)memory - PEERS_OBJECT);

    REQUIRE(object->size == size);
    object->previous->next = object->next;
    object->next->previous = object->previous;
    peers_live_bytes -= size;
    peers_live_objects--;
    free(object);
}

static inline void peers_fail_next(uint64_t count)
{
    peers_fail_from = peers_allocations + 1;
    peers_fail_to = peers_fail_from + count;
}

/* Tasks: the test is the only one. While it waits, PEERS_WAITING is called until what it waits for is done; without one
 * nothing may wait. */
static void (*peers_waiting)(const struct wait_reason *reason);
static bool peers_dying;
static uint64_t peers_waits;
static const char *peers_waited_for; /* the last reason */

static void *peers_current(void)
{
    return &peers_waits;
}

static void peers_block(struct spinlock *lock, const struct wait_reason *reason, enum wait_end end, uint64_t deadline)
{
    uint64_t before = peers_counts;

    (void)end;
    spin_unlock(lock);
    peers_waited_for = reason->what;
    peers_waits++;
    if (peers_waiting == NULL && deadline == 0)
        fprintf(stderr, "# waits for ever: %s\n", reason->what);
    REQUIRE(peers_waiting != NULL || deadline != 0);
    REQUIRE(peers_waits < 10000000);
    if (peers_waiting != NULL)
        peers_waiting(reason);
    else
        peers_counts = 2 * deadline;
    REQUIRE(peers_counts >= before);
}

static bool peers_ended(enum wait_end end)
{
    return end != WAIT_FIRM && peers_dying;
}

static void peers_due_changed(void)
{
    peers_due_changes++;
}

static bool peers_no_other_thread; /* so a waiting task looks for messages itself before it blocks */

static bool peers_alone(void)
{
    return peers_no_other_thread;
}

static uint32_t peers_wake(void *thread)
{
    REQUIRE(thread == &peers_waits);
    return 0;
}

/* The shared memory. */
static inline struct channel_head *peers_head(uint32_t kernel)
{
    return (struct channel_head *)(void *)(peers_memory + kernel * peers_stride + PEERS_CHANNEL);
}

static inline struct peers_slot *peers_ring(uint32_t receiver, uint32_t source, enum msg_class class)
{
    uint8_t *rings = (uint8_t *)peers_head(receiver) + PEERS_HEAD + source * peers_rings;

    return (struct peers_slot *)(void *)rings + (size_t) class * peers_slots;
}

void *window_direct(uint64_t pa)
{
    return peers_memory + (pa - PEERS_BASE);
}

/* Lent memory: what lies between these is OWN's, and what lies between the others is that of each peer. Without them
 * nothing can be lent, and long messages are in fragments. A physical address is one of the test's. */
static const uint8_t *peers_own_from, *peers_own_to, *peers_lent_from, *peers_lent_to;
static uint32_t peers_open; /* windows that are open */

void lend_init(void)
{
    peers_open = 0;
}

uint64_t lend_address(const void *memory, size_t size)
{
    const uint8_t *bytes = memory;

    return bytes >= peers_own_from && bytes < peers_own_to && size <= (size_t)(peers_own_to - bytes) ? (uint64_t)bytes
                                                                                                     : 0;
}

void *lend_open(uint32_t kernel, uint64_t address, size_t size, bool write)
{
    uint8_t *bytes = (uint8_t *)(uintptr_t)address;

    REQUIRE(kernel != OWN && peers_open == 0 && !write);
    if (size == 0 || size > MSG_MAX || bytes < peers_lent_from || bytes >= peers_lent_to ||
        size > (size_t)(peers_lent_to - bytes))
        return NULL;
    peers_open++;
    return bytes;
}

void lend_close(void)
{
    REQUIRE(peers_open == 1);
    peers_open--;
}

static int peers_file = -1;

int window_map(uint64_t va, uint64_t pa, uint64_t size, uint64_t flags)
{
    static struct peers_mapping {
        uint64_t va, pa, size, flags;
    } mapped[3 * KERNELS_MAX];
    static uint32_t count;
    int access = PROT_READ | ((flags & PAGING_WRITE) != 0 ? PROT_WRITE : 0);
    void *place = (void *)(uintptr_t)va;

    REQUIRE(size % PAGE_SIZE == 0 && va % PAGE_SIZE == 0 && pa % PAGE_SIZE == 0);
    for (uint32_t i = 0; i < count; i++) { /* in a program that starts the layer anew for each input */
        if (mapped[i].va == va && mapped[i].pa == pa && mapped[i].size == size && mapped[i].flags == flags)
            return 0;
    }
    REQUIRE(count < 3 * KERNELS_MAX);
    mapped[count++] = (struct peers_mapping){va, pa, size, flags};
    return mmap(place, size, access, MAP_SHARED | MAP_FIXED, peers_file, (off_t)(pa - PEERS_BASE)) == place ? 0
                                                                                                            : -ENOMEM;
}

/* The memory of all chunks, zeroed: what anybody can have written of it. */
static inline void peers_make_memory(uint32_t kernels)
{
    if (peers_memory == NULL) {
        peers_file = memfd_create("chunks", 0);
        REQUIRE(peers_file >= 0 && ftruncate(peers_file, (off_t)(kernels * peers_stride)) == 0);
        peers_memory = mmap(NULL, kernels * peers_stride, PROT_READ | PROT_WRITE, MAP_SHARED, peers_file, 0);
        REQUIRE(peers_memory != MAP_FAILED);
        return;
    }
    memset(peers_head(OWN), 0, PEERS_HEAD + kernels * peers_rings);
    for (uint32_t k = 0; k < kernels; k++) {
        memset(peers_head(k), 0, PEERS_HEAD);
        memset(peers_ring(k, OWN, MSG_ORDINARY), 0, peers_rings);
    }
}

/* Sets up OWN and KERNELS - 1 peers, the kernels of each node beside each other, and starts the layer with boot options
 * CMDLINE. No peer is reached yet. If it is not the first time, KERNELS and the bytes of all rings are as before. */
static void peers_start(uint32_t kernels, uint32_t nodes, const char *cmdline)
{
    static const struct msg_memory memory = {peers_allocate, peers_allocate, peers_release};
    static struct cpu cpu;
    const char *ring = strstr(cmdline, "ring=");

    peers_slots = ring != NULL ? (uint32_t)atoi(ring + 5) : RING_SLOTS_DEFAULT;
    peers_rings = (2ull * peers_slots * sizeof(struct peers_slot) + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE +
                  MSG_NOTES_SIZE;
    peers_stride = PEERS_CHANNEL + PEERS_HEAD + kernels * peers_rings;
    REQUIRE(PEERS_HEAD + kernels * peers_rings == msg_channel_size(kernels, cmdline));
    peers_make_memory(kernels);
    memset(&instance, 0, sizeof(instance));
    instance.kernel = OWN;
    instance.kernels = instance.plan.kernel_count = kernels;
    instance.layout.channel = PEERS_CHANNEL;
    instance.rates.tsc_hz = UINT64_MAX; /* whatever the host does between two looks, they are soon after each other */
    snprintf(instance.cmdline, sizeof(instance.cmdline), "%s", cmdline);
    for (uint32_t k = 0; k < kernels; k++) {
        instance.plan.kernels[k].chunk = PEERS_BASE + k * peers_stride;
        instance.plan.kernels[k].node = k * nodes / kernels;
        instance.plan.kernels[k].boot_cpu = k;
        instance.plan.cpus[k].apic_id = PEERS_APIC(k);
    }
    cpus[0] = &cpu;
    cpu_total = 1;
    wait_ops = (struct wait_ops){.current = peers_current,
                                 .block = peers_block,
                                 .ended = peers_ended,
                                 .due_changed = peers_due_changed,
                                 .alone = peers_alone,
                                 .wake = peers_wake};
    option_start(instance.cmdline, OWN, kernels);
    msg_init(&memory);
}

static inline void peers_reach_all(void)
{
    for (uint32_t k = 0; k < instance.kernels; k++)
        msg_peer_reach(k);
}

/* What a peer does. */
static inline uint64_t peers_header(uint32_t source, uint32_t type, uint32_t request, uint64_t length)
{
    return type | (uint64_t)source << 10 | (uint64_t)request << 16 | length << 32;
}

#define PEERS_REPLY (1ull << 9)
#define PEERS_ERROR (1ull << 60)
#define PEERS_KEPT (1ull << 61)
#define PEERS_LENT (1ull << 62)
#define PEERS_FRAGMENT(n) ((uint64_t)(n) << 49)

static inline bool peers_room(uint32_t kernel, enum msg_class class)
{
    return peers[kernel].put[class] - peers_head(OWN)->taken[kernel].count[class] < peers_slots;
}

/* Fills the next slot; the hint is not changed. */
static inline void peers_put_quietly(uint32_t kernel, enum msg_class class, uint64_t header, const void *data,
                                     size_t length)
{
    uint64_t position = peers[kernel].put[class]++;
    struct peers_slot *slot = &peers_ring(OWN, kernel, class)[position % peers_slots];

    memset(slot->payload, 0xee, sizeof(slot->payload));
    if (length > 0)
        memcpy(slot->payload, data, length);
    slot->header = header;
    slot->publish = peers_counts / 32 % (1ull << 48) << 16 | ((position + 1) & 0xffff);
    peers[kernel].slots++;
}

static inline void peers_write_hint(uint32_t kernel)
{
    peers_head(OWN)->hints[kernel] = (uint16_t)(peers[kernel].slots << 4 | (peers[kernel].signals & 15));
}

static inline void peers_signal(uint32_t kernel)
{
    peers[kernel].signals++;
    peers_write_hint(kernel);
}

/* Answers our wishes for room, those seen so far. */
static inline void peers_answer_wish(uint32_t kernel)
{
    peers_head(kernel)->taken[OWN].answered = peers_head(kernel)->wants[OWN];
    peers_signal(kernel);
}

static inline void peers_wish(uint32_t kernel)
{
    peers_head(OWN)->wants[kernel] = ++peers[kernel].wants;
    peers_signal(kernel);
}

/* One slot, which must have room. */
static inline void peers_put(uint32_t kernel, enum msg_class class, uint64_t header, const void *data, size_t length)
{
    REQUIRE(peers_room(kernel, class));
    peers_put_quietly(kernel, class, header, data, length);
    peers_write_hint(kernel);
}

static inline enum msg_class peers_class(uint32_t type)
{
    return (enum msg_class)msg_kinds[type % MSG_TYPES].class;
}

/* A whole message; FLAGS: PEERS_REPLY, PEERS_ERROR, PEERS_KEPT. We are polled when there is no room. */
static inline void peers_send(uint32_t kernel, uint32_t type, uint64_t flags, uint32_t request, const void *data,
                              uint32_t length)
{
    uint64_t header = peers_header(kernel, type, request, length) | flags;
    uint32_t offset = 0, fragment = 0;

    do {
        uint32_t part = length - offset < MSG_SHORT ? length - offset : MSG_SHORT;

        if (!peers_room(kernel, peers_class(type)))
            msg_poll();
        peers_put(kernel, peers_class(type), header | PEERS_FRAGMENT(fragment++),
                  part > 0 ? (const uint8_t *)data + offset : NULL, part);
        offset += part;
    } while (offset < length);
}

static inline bool peers_has_message(uint32_t kernel, enum msg_class class)
{
    uint64_t position = peers[kernel].taken[class];

    return (uint16_t)peers_ring(kernel, OWN, class)[position % peers_slots].publish == ((position + 1) & 0xffff);
}

static inline void peers_decode(uint64_t header, struct peers_message *m)
{
    m->type = header & 0x1ff;
    m->reply = header >> 9 & 1;
    m->source = header >> 10 & 0x3f;
    m->request = (uint16_t)(header >> 16);
    m->length = header >> 32 & 0x1ffff;
    m->fragment = header >> 49 & 0x7ff;
    m->error = header >> 60 & 1;
    m->kept = header >> 61 & 1;
    m->lent = header >> 62 & 1;
    REQUIRE(header >> 63 == 0);
}

/* The next slot that we have sent to KERNEL, given back. */
static inline bool peers_take_slot(uint32_t kernel, enum msg_class class, struct peers_slot *slot)
{
    uint64_t position = peers[kernel].taken[class];

    if (!peers_has_message(kernel, class))
        return false;
    *slot = peers_ring(kernel, OWN, class)[position % peers_slots];
    peers_head(kernel)->taken[OWN].count[class] = ++peers[kernel].taken[class];
    return true;
}

/* Takes slots until a message is whole; what is not yet whole is kept for the next time. */
static inline struct peers_message *peers_take(uint32_t kernel, enum msg_class class)
{
    struct peers_peer *peer = &peers[kernel];
    struct peers_message *m = &peer->partial[class];
    struct peers_slot slot;
    static struct peers_message whole;

    while (peers_take_slot(kernel, class, &slot)) {
        uint32_t fragments;

        peers_decode(slot.header, &whole);
        REQUIRE(whole.source == OWN && whole.length <= MSG_MAX && whole.type < MSG_TYPES);
        REQUIRE(msg_kinds[whole.type].name != NULL && msg_kinds[whole.type].class == class);
        if (whole.length <= MSG_SHORT) { /* a short reply may come between fragments */
            REQUIRE(whole.fragment == 0 && (peer->expected[class] == 0 || whole.reply));
            memcpy(whole.data, slot.payload, whole.length);
            whole.time = slot.publish >> 16;
            return &whole;
        }
        if (whole.lent) { /* the slot is given back before the bytes are copied, as by the code under test */
            REQUIRE(whole.fragment == 0 && !whole.error && !whole.kept && peer->expected[class] == 0);
            memcpy(whole.data, (const void *)(uintptr_t)slot.payload[0], whole.length);
            whole.time = slot.publish >> 16;
            return &whole;
        }
        REQUIRE(whole.fragment == peer->expected[class]);
        if (whole.fragment == 0)
            peers_decode(slot.header, m);
        else
            REQUIRE(m->type == whole.type && m->reply == whole.reply && m->request == whole.request &&
                    m->length == whole.length && m->error == whole.error && m->kept == whole.kept);
        fragments = (m->length + MSG_SHORT - 1) / MSG_SHORT;
        REQUIRE(whole.fragment < fragments);
        memcpy(m->data + (size_t)MSG_SHORT * whole.fragment, slot.payload,
               whole.fragment + 1 < fragments ? MSG_SHORT : m->length - MSG_SHORT * whole.fragment);
        m->time = slot.publish >> 16;
        if (++peer->expected[class] == fragments) {
            peer->expected[class] = 0;
            return m;
        }
    }
    return NULL;
}

static inline uint16_t peers_hint_at(uint32_t kernel)
{
    return peers_head(kernel)->hints[OWN];
}

#endif
