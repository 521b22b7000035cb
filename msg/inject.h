/* Fault injection: messages are held back in their rings for a time, by a seed. What is held back holds back what is
 * behind it in the same ring, and is passed by all other rings: so the order of a pair is kept, and that across pairs
 * is not. */
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
    uint64_t hold;  /* ns: first of all nothing is taken for so long */
    uint64_t slow;  /* ns after each message: a slow consumer */
};

void inject_init(void);
/* From now on by WANTED; NULL: no more. */
void inject_set(const struct inject_rule *wanted);
bool inject_is_on(void);

/* The next message of RING, from KERNEL, is not to be taken yet. Under rx_lock. */
bool inject_holds(uint32_t kernel, enum msg_class class, const struct ring_receiver *ring);
/* Kernels whose ring of CLASS was held and is no more. Under rx_lock. */
uint64_t inject_released(enum msg_class class);

/* Nothing of KERNEL is held. Under rx_lock. */
void inject_reset(uint32_t kernel);

extern volatile uint64_t inject_due; /* [a] ns, as clock_now: when the next ring is released; 0: none is held */

static inline bool inject_due_now(void)
{
    return inject_due != 0 && clock_now() >= inject_due;
}

#endif
