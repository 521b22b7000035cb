/* Whether messages are under way, for the code that quiesces all kernels. Messages of the quiescing protocol itself,
 * with types from MSG_QUIET_FIRST up to MSG_QUIET_END, are not counted; nor is a GROUP_STOP that a peer keeps, as that
 * may wait for a thread in vfork: the kernel that keeps it tells whether it waits for a thread that moves. */
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

/* Returns the number of this kernel's requests that are not answered yet. Sends CANCEL again for abandoned requests
 * that a peer keeps. Any context. */
uint32_t msg_unanswered(void);
/* Returns the number of messages that this kernel has taken since it started. Any context. */
uint64_t msg_taken(void);

#endif
