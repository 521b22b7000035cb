/* Operations on a thread of any kernel: the rows THREAD_SIGNAL to THREAD_DONATE of msg/messages.def. The thread's birth
 * kernel, which its id names, has its shadow or knows that the thread has ended. Each shadow has the kernel to which
 * the thread went, so following the shadows leads to it; no kernel is notified when a thread moves.
 * tasks/migrate/migration.md has the protocol. */
#ifndef TASKS_LOCATE_LOCATE_H
#define TASKS_LOCATE_LOCATE_H

#include <stdint.h>

#include "tasks/locate/wire.h"

#define THREAD_ELSEWHERE 1000000 /* value of a result: the next kernel to ask is RESULT->kernel */

void locate_init(void);
/* Performs CALL on the thread that it names. Returns the result's value, or -ESRCH if there is no such thread. *KERNEL,
 * unless KERNEL is NULL, is the kernel where the thread was. Tasks only; waits for the kernels that it asks. A dying
 * caller gives up with -ESRCH, except with THREAD_DONATE. */
int64_t thread_call(const struct msg_thread_call *call, struct msg_thread_result *result, uint32_t *kernel);
/* Waits until thread TID, which has been ordered to move, has arrived on a kernel that its affinity allows, is stopped,
 * waits for processes that use its memory (vfork), or has ended. 0, -ERESTARTSYS. */
int64_t thread_wait_settled(uint32_t tid);

#endif
