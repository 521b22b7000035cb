/* Whether messages are under way, for the code that quiesces all kernels. The messages of the quiescing protocol
 * itself, with types from MSG_QUIET_FIRST up to MSG_QUIET_END, are not counted. */
#ifndef MSG_QUIET_H
#define MSG_QUIET_H

#include <stdbool.h>
#include <stdint.h>

#define MSG_QUIET_FIRST 80u
#define MSG_QUIET_END 112u

static inline bool msg_is_quiet(uint32_t type)
{
    return type >= MSG_QUIET_FIRST && type < MSG_QUIET_END;
}

/* Requests of this kernel that are not yet answered; peers are told again of those that nobody waits for. Any context.
 */
uint32_t msg_unanswered(void);
/* Messages that this kernel has taken since it started. Any context. */
uint64_t msg_taken(void);

#endif
