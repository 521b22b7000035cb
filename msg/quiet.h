/* Is anything under way? For whoever brings all kernels to rest. The messages by which that is done do not count: they
 * have the types from MSG_QUIET_FIRST on. */
#ifndef MSG_QUIET_H
#define MSG_QUIET_H

#include <stdint.h>

#define MSG_QUIET_FIRST 80u

/* Requests of this kernel that are not yet answered; peers are told again of those that nobody waits for. Any context.
 */
uint32_t msg_unanswered(void);
/* Messages that this kernel has taken since it started. Any context. */
uint64_t msg_taken(void);

#endif
