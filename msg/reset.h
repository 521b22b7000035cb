/* Resetting the channel to a peer that has halted to the state before that kernel first started. */
#ifndef MSG_RESET_H
#define MSG_RESET_H

#include <stdbool.h>
#include <stdint.h>

/* Resets the channel to KERNEL, all of whose CPUs have halted: it is neither started nor reachable, and the parts of
 * the channel in this kernel's memory are zero, as the parts in its own memory are when it is built again. No request
 * may be under way in either direction. -EBUSY: one is, or a message to it waits for room, or a part of its fence is
 * left; nothing has changed. What is left of the fence of another kernel does not matter. Tasks only. */
int msg_peer_reset(uint32_t kernel);

/* Ends the epoch of KERNEL, which has died and whose CPUs stand still: it is neither started nor reachable, and remains
 * so until msg_peer_reset. This is the one place where a request learns of the death: every request to KERNEL that is
 * not answered is completed with -EHOSTDOWN; what waits for room in its rings is dropped; who keeps a request of it is
 * notified as by CANCEL, and the answer is dropped. Nothing more is taken from its rings. Dropped messages are counted
 * (late_epoch). May be repeated. A task does all of it, in slices. The handler of a message of another kernel does a
 * part, and returns true if it is to be called again for the rest. Does not wait. */
bool msg_peer_fence(uint32_t kernel);

#endif
