/* Resetting the channel to a peer that has halted to the state before that kernel first started. */
#ifndef MSG_RESET_H
#define MSG_RESET_H

#include <stdint.h>

/* Resets the channel to KERNEL, all of whose CPUs have halted: it is neither started nor reachable, and the parts of
 * the channel in this kernel's memory are zero, as the parts in its own memory are when it is built again. No request
 * may be under way in either direction. -EBUSY: one is, or a message to it waits for room; nothing has changed. Tasks
 * only. */
int msg_peer_reset(uint32_t kernel);

#endif
