/* Requests for whose answer no task waits: how a handler, or code under a lock, sends another kernel a request. */
#ifndef TASKS_REMOTE_POST_H
#define TASKS_REMOTE_POST_H

#include <stdint.h>

#include "msg/call.h"

#define POST_MAX 48u /* bytes */

/* Sends DATA (LENGTH bytes, at most POST_MAX, copied) to KERNEL, another one, in order with other messages of the
 * class. -ENOMEM: not sent. Any context; never waits. */
int post(uint32_t kernel, enum msg_type type, const void *data, uint32_t length);
/* The same; ANSWERED is called with CONTEXT and the result: 0 or more, or a negative errno. In a handler: must not
 * wait. It is called at once when there is no memory. */
void post_answered(uint32_t kernel, enum msg_type type, const void *data, uint32_t length, msg_answer answered,
                   void *context);

#endif
