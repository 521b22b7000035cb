/* Fault injection. See the header. */
#include "msg/inject.h"

#include "msg/channel_internal.h"
#include "msg/trace.h"

struct held_ring {
    uint64_t until;   /* ns, as clock_now */
    uint64_t decided; /* one more than the position of the last message that was decided on */
    uint64_t random;  /* state of the ring's sequence */
};

volatile uint64_t inject_due;
void (*inject_die)(void);

/* [k] rx_lock */
static struct inject_rule rule;
static volatile bool on;
static uint64_t started; /* ns */
static struct held_ring rings[KERNELS_MAX][MSG_CLASSES];
static uint64_t held[MSG_CLASSES];

void inject_init(void)
{
    inject_due = 0;
}

bool inject_is_on(void)
{
    return on;
}

void inject_set(const struct inject_rule *wanted)
{
    spin_lock(&msg_rx_lock);
    on = wanted != NULL;
    if (on) {
        rule = *wanted;
        started = clock_now();
        for (uint32_t k = 0; k < KERNELS_MAX; k++) {
            for (uint32_t class = 0; class < MSG_CLASSES; class ++)
                rings[k][class] = (struct held_ring){
                    .random = rule.seed ^ (((uint64_t)instance.kernel << 16 | k << 1 | class) << 32)};
        }
    }
    msg_set_special(on || trace_is_on());
    if (inject_due != 0)
        inject_due = 1; /* so that held messages are checked again at once */
    spin_unlock(&msg_rx_lock);
}

/* splitmix64: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014. */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

/* Decides how long the next message of RING is held, in ns. */
static uint64_t decide(uint32_t kernel, struct held_ring *ring, uint64_t header, uint64_t now)
{
    uint64_t time = rule.slow;

    if ((rule.peer >= 0 && rule.peer != (int32_t)kernel) ||
        (rule.type >= 0 && rule.type != (int32_t)(header & MSG_TYPE_BITS)) ||
        (header >> MSG_FRAGMENT_SHIFT & 0x7ff) != 0)
        return 0;
    if (rule.dies != 0 && --rule.dies == 0 && inject_die != NULL)
        inject_die();
    if (rule.hold > now - started)
        time += rule.hold - (now - started);
    if (rule.delay > 0 && draw(&ring->random) % 100 < rule.rate)
        time += draw(&ring->random) % rule.delay;
    return time;
}

static void hold(uint32_t kernel, enum msg_class class, uint64_t until)
{
    held[class] |= 1ull << kernel;
    if (inject_due == 0 || until < inject_due)
        inject_due = until;
}

bool inject_holds(uint32_t kernel, enum msg_class class, const struct ring_receiver *ring)
{
    struct held_ring *state = &rings[kernel][class];
    uint64_t now;

    if (!on || !ring_ready(ring))
        return false;
    now = clock_now();
    if (state->decided != ring->next + 1) {
        uint64_t time = decide(kernel, state, ring->slots[ring->next & ring->mask].header, now);

        state->decided = ring->next + 1;
        state->until = time == 0 ? 0 : now + time;
    }
    if (state->until <= now)
        return false;
    hold(kernel, class, state->until);
    return true;
}

void inject_reset(uint32_t kernel)
{
    for (uint32_t class = 0; class < MSG_CLASSES; class ++) {
        held[class] &= ~(1ull << kernel);
        rings[kernel][class].decided = 0;
        rings[kernel][class].until = 0;
    }
}

uint64_t inject_released(enum msg_class class)
{
    uint64_t now, due = 0, released = 0;

    if ((held[MSG_ORDINARY] | held[MSG_URGENT]) == 0) {
        inject_due = 0;
        return 0;
    }
    now = clock_now();
    for (uint32_t c = 0; c < MSG_CLASSES; c++) {
        for (uint64_t rest = held[c]; rest != 0; rest &= rest - 1) {
            uint64_t until = rings[__builtin_ctzll(rest)][c].until;

            if (c == class && (until <= now || !on))
                released |= rest & -rest;
            else if (due == 0 || until < due)
                due = until;
        }
    }
    held[class] &= ~released;
    inject_due = due;
    return released;
}
