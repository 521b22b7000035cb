/* Requests and their replies, from the asking side: one request, or one to each of a set of kernels with all replies
 * gathered. Tasks only: the calls wait. Every request is answered exactly once by a live peer. */
#ifndef MSG_CALL_H
#define MSG_CALL_H

#include <stdint.h>

#include "kernel/abi/limits.h"
#include "kernel/lib/completion.h"
#include "msg/message.h"

/* A set of kernels: bit k is kernel k. */
typedef uint64_t kernel_set;
_Static_assert(KERNELS_MAX <= 64, "kernel_set has a bit for each kernel");

static inline uint32_t kernel_set_count(kernel_set set)
{
    uint32_t count = 0;

    for (; set != 0; set &= set - 1)
        count++;
    return count;
}

/* Takes an answer, in the context of a handler: it must not wait. LENGTH bytes at REPLY, or LENGTH is a negative errno.
 */
typedef void (*msg_answer)(void *context, uint32_t kernel, const void *reply, int length);

void msg_call_init(void);

/* Asks KERNEL and waits for the answer, which is copied to REPLY (at most ROOM bytes; a longer one is -EMSGSIZE).
 * Returns the reply's length, or a negative errno: the peer's, -EAGAIN when it cannot be reached yet, -EINVAL when
 * there is no such kernel. WHY names the wait in a dump. */
int msg_call(uint32_t kernel, enum msg_type type, const void *data, uint32_t length, void *reply, uint32_t room,
             const char *why, uint64_t key);

/* Asks every kernel of SET and waits for all answers. EACH is called once per kernel in the context of a handler (it
 * must not wait; calls do not overlap), with LENGTH or a negative errno. NULL: nobody looks at the answers. */
void msg_gather(kernel_set set, enum msg_type type, const void *data, uint32_t length, msg_answer each, void *context,
                const char *why, uint64_t key);

/* Asks KERNEL and returns at once; ANSWER is called with the answer, exactly once, also when the request could not be
 * sent. Waits only for room. */
void msg_ask(uint32_t kernel, enum msg_type type, const void *data, uint32_t length, msg_answer answer, void *context);

#endif
