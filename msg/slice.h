/* Long operations are cut into slices, so that no kernel keeps its peers, its timers and its other threads waiting,
 * whatever its programs ask for. Kernel code runs with interrupts off: an operation whose length a program or a peer
 * decides calls slice_check between its steps, each of some ten thousand instructions at most.
 *
 * Rules for callers:
 * - A task, with no spinlock held. It may hold distributed locks (mm/lock) and references. What a spinlock protects may
 *   be different afterwards: look it up again.
 * - In the handler of a message nothing happens, because handlers run under the lock of receiving. A handler whose work
 *   may be long keeps the request and leaves the work to a worker, which works in slices. */
#ifndef MSG_SLICE_H
#define MSG_SLICE_H

#include <stdbool.h>

#include "kernel/arch/x86_64/silence.h"

#define SLICE_COUNTS 20000u /* of the time stamp counter: under --icount, instructions */

/* Takes the messages and interrupts that are pending and lets other threads run that come first. Returns true if the
 * calling thread has been killed: whoever can stop half-way does so. */
bool slice_pause(void);

/* The same if a slice is over, that is SLICE_COUNTS after messages could last be taken; otherwise returns false. */
static inline bool slice_check(void)
{
    return __builtin_expect(silence_length() > SLICE_COUNTS, 0) && slice_pause();
}

#endif
