/* Fault injection: messages are held back in their rings for a random time, determined by a seed. A held message also
 * delays the messages behind it in the same ring, but not those of other rings: so the order within a ring is kept, and
 * the order between rings is not. */
#ifndef MSG_INJECT_H
#define MSG_INJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/arch/x86_64/clock.h"
#include "msg/message.h"
#include "msg/ring.h"

struct inject_rule {
    uint64_t seed;  /* of the schedule; each ring has its own sequence */
    uint32_t rate;  /* percent of messages that are delayed */
    uint64_t delay; /* ns, at most */
    int32_t peer;   /* only messages from this kernel, or -1 */
    int32_t type;   /* only messages of this type and their replies, or -1 */
    uint64_t hold;  /* ns from now during which no message is taken */
    uint64_t slow;  /* ns that each message waits at the head of its ring: a slow consumer */
    int32_t kernel; /* only on this kernel, or -1 */
    uint64_t dies;  /* this kernel dies when so many messages for which the rule is have come to a head; 0: never */
};

/* [i] Ends this kernel at once. Set by the part that knows how. */
extern void (*inject_die)(void);

void inject_init(void);
/* Sets the rule; NULL stops the injection. */
void inject_set(const struct inject_rule *wanted);
bool inject_is_on(void);

/* True when the next message of RING, from KERNEL, must not be taken yet. Under rx_lock. */
bool inject_holds(uint32_t kernel, enum msg_class class, const struct ring_receiver *ring);
/* Returns the kernels whose ring of CLASS was held and is held no longer. Under rx_lock. */
uint64_t inject_released(enum msg_class class);

/* Drops what is recorded of KERNEL's rings, which hold no message back any more. Under rx_lock. */
void inject_reset(uint32_t kernel);

extern volatile uint64_t inject_due; /* [a] ns, as clock_now: when the next ring is released; 0: none is held */

static inline bool inject_due_now(void)
{
    return inject_due != 0 && clock_now() >= inject_due;
}

#endif
