/* Requests for whose answer no task waits: a handler, or code under a lock, sends another kernel a request this way. */
#ifndef TASKS_REMOTE_POST_H
#define TASKS_REMOTE_POST_H

#include <stdint.h>

#include "msg/request/call.h"

#define POST_MAX 48u /* bytes */

/* Sends another kernel, KERNEL, a request with the LENGTH bytes at DATA, at most POST_MAX, which are copied. The
 * request stays in order with other messages of its class. Returns 0, or -ENOMEM: it was not sent. Any context; never
 * waits. */
int post(uint32_t kernel, enum msg_type type, const void *data, uint32_t length);
/* The same; ANSWERED is called with CONTEXT and the length of the answer or a negative errno, in a handler, or at once
 * if there is no memory: it must not wait. */
void post_answered(uint32_t kernel, enum msg_type type, const void *data, uint32_t length, msg_answer answered,
                   void *context);

#endif
