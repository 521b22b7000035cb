/* A hostile peer. See the header.
 *
 * A payload is made of words that are likely to reach far into a handler: the victim's ids, small numbers, kernels,
 * addresses of programs and of frames, limits, and some that are merely random. What orders from kernel 0 alone would
 * do is refused by the receiver without a look at the payload, so these are sent, too. */
#include "msg/exercise/hostile.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "msg/channel_internal.h"
#include "msg/request/call.h"

#define PATIENCE 20000000ull /* ns: for an answer; some requests are kept */
#define NEAR (8ull << 20)
#define LONGEST 2048u /* bytes of a long payload, but for one of 64 */

static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

static uint64_t any_frame(uint64_t *state)
{
    const struct plan_range *range = &instance.plan.ranges[draw(state) % instance.plan.range_count];

    uint64_t part = draw(state) % 2 == 0 && range->size > NEAR ? NEAR
                                                               : range->size; /* more are in use near its begin */

    return range->base + (draw(state) % part & ~(uint64_t)(PAGE_SIZE - 1));
}

static uint64_t word(const struct hostile *hostile, uint64_t *state)
{
    uint64_t z = draw(state);

    switch (z >> 8 & 15) {
    case 0:
    case 1:
    case 2:
        return hostile->victim;
    case 3:
        return hostile->victim | (uint64_t)hostile->victim << 32;
    case 4:
        return (uint64_t)hostile->victim << 32;
    case 5:
        return 0;
    case 6:
        return 16 + (z >> 16) % 48; /* lower ones are ids of the processes that look on */
    case 7:
        return (z >> 16) % 2 << 32 | (16 + (z >> 20) % 16);
    case 8:
        return 0x400000 + ((z >> 16 & 0x3fff) << PAGE_SHIFT);
    case 9:
        return USER_END - ((z >> 16 & 7) << PAGE_SHIFT) + (z >> 20 & 1);
    case 10:
    case 11:
        return any_frame(state) + ((z >> 16 & 7) == 0 ? 8 : 0);
    case 12:
        return ~0ull >> (z >> 16) % 59;
    case 13:
        return 16ull << (z >> 16) % 60;
    case 14:
        return (z >> 16 & 0xff) << PAGE_SHIFT;
    default:
        return z;
    }
}

static uint32_t choose_type(const struct hostile *hostile, uint64_t *state)
{
    uint32_t type = hostile->type >= 0 ? (uint32_t)hostile->type % MSG_TYPES : (uint32_t)(draw(state) % MSG_TYPES);

    while (msg_kinds[type].name == NULL || type == MSG_KILL_KERNEL) /* that ends a kernel, as it should */
        type = (type + 1) % MSG_TYPES;
    return type;
}

static uint32_t choose_length(uint32_t type, uint64_t *state)
{
    uint32_t size = msg_rows[type].size, z = (uint32_t)draw(state);

    if (z % 64 == 0 && msg_kinds[type].notice) /* a request of a wrong length would keep its credit for ever */
        return z >> 8 & 63;
    if (!msg_kinds[type].bytes)
        return size;
    z >>= 8;
    return size + ((z & 63) == 0 ? (z >> 6) % (MSG_MAX - size) : (z & 1) != 0 ? (z >> 6) % LONGEST : (z >> 6) % 8 * 8);
}

/* The messages that consist of frames of their receiver: most words are frames, or it would refuse nearly all. */
static bool is_of_frames(uint32_t type)
{
    return type == MSG_FRAME_RELEASE || type == MSG_FRAME_SHARE;
}

/* A frame in KERNEL's memory. */
static uint64_t frame_of(uint32_t kernel, uint64_t *state)
{
    uint64_t frame = any_frame(state);

    for (int tries = 0; tries < 64; tries++) {
        for (uint32_t i = 0; i < instance.plan.range_count; i++) {
            const struct plan_range *range = &instance.plan.ranges[i];

            if (range->kernel == kernel && frame - range->base < range->size)
                return frame;
        }
        frame = any_frame(state);
    }
    return frame;
}

static uint32_t choose_kernel(kernel_set set, uint64_t *state)
{
    uint32_t count = kernel_set_count(set);

    for (uint32_t skip = count > 1 ? (uint32_t)(draw(state) % count) : 0; skip > 0; skip--)
        set &= set - 1;
    return (uint32_t)__builtin_ctzll(set);
}

/* Lends KERNEL memory that is somewhere, seldom this kernel's own. The next message announces the slot. */
static void lend_anything(uint32_t kernel, uint64_t *state)
{
    uint64_t place = any_frame(state) + ((draw(state) & 1) != 0 ? draw(state) % PAGE_SIZE : 0);
    struct sender_class *out = msg_sender(kernel, MSG_ORDINARY);
    uint64_t length = 1 + draw(state) % MSG_MAX;

    spin_lock(&out->peer->tx_lock);
    if (out->peer->blocked == 0 && ring_used(&out->ring) + 1 < out->limit) {
        if (draw(state) % 8 == 0)
            place = draw(state);
        ring_put(&out->ring, MSG_TELL_BYTES | length << MSG_LENGTH_SHIFT | MSG_LENT_BIT | out->source, msg_clock_tick(),
                 &place, 1);
        out->peer->hint = (uint16_t)(out->peer->hint + HINT_SLOT);
    }
    spin_unlock(&out->peer->tx_lock);
}

int hostile_send(const struct hostile *hostile, uint64_t number)
{
    static const struct msg_policy policy = {.timeout = PATIENCE};
    uint64_t state = hostile->seed * 0x2545f4914f6cdd1dull ^ number << 20;
    uint32_t type = choose_type(hostile, &state), kernel = choose_kernel(hostile->kernels, &state);
    uint32_t length = choose_length(type, &state);
    uint64_t *payload = msg_memory.allocate_unset(MSG_MAX), *reply;

    if (payload == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < (length + 7) / 8; i++)
        payload[i] = i > 0 && draw(&state) % 6 == 0 ? payload[i - 1] : word(hostile, &state);
    if (is_of_frames(type) && draw(&state) % 4 != 0) {
        length = draw(&state) % 4 != 0 ? 8 : 16; /* twice the same, often */
        payload[0] = frame_of(kernel, &state);
        payload[1] = draw(&state) % 2 != 0 ? payload[0] : frame_of(kernel, &state);
    }
    if (msg_kinds[type].class == MSG_URGENT && length > MSG_SHORT && !msg_kinds[type].bytes)
        length = MSG_SHORT;
    if (draw(&state) % 8 == 0)
        lend_anything(kernel, &state);
    if (msg_kinds[type].notice) {
        (void)msg_notify(kernel, type, payload, length);
    } else {
        reply = msg_memory.allocate_unset(MSG_MAX);
        if (reply != NULL)
            (void)msg_call_within(&policy, kernel, type, payload, length, reply, MSG_MAX, "hostile", number);
        msg_memory.release(reply, MSG_MAX);
    }
    msg_memory.release(payload, MSG_MAX);
    return 0;
}
