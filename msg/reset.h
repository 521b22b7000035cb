/* A peer that has halted: the channel to it becomes as it was before that kernel first started. */
#ifndef MSG_RESET_H
#define MSG_RESET_H

#include <stdint.h>

/* KERNEL, all of whose CPUs have halted, is forgotten: it is neither started nor reachable, and both sides of the
 * channel that are in this kernel's hands begin at zero, as those in its own memory do when it is built again. No
 * request to it or of it is under way. -EBUSY: one is, or a message to it waits for room; nothing has changed. Tasks
 * only. */
int msg_peer_reset(uint32_t kernel);

#endif
