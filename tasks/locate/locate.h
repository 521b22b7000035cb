/* Operations on a thread wherever it is: the rows THREAD_SIGNAL to THREAD_DONATE of msg/messages.def. The thread's
 * birth kernel, which its id names, has its shadow or knows that the thread has ended; each shadow knows where the
 * thread went last, so following the shadows leads to it. No kernel is notified when a thread moves.
 * tasks/migrate/migration.md has the protocol. */
#ifndef TASKS_LOCATE_LOCATE_H
#define TASKS_LOCATE_LOCATE_H

#include <stdint.h>

#include "tasks/locate/wire.h"

#define THREAD_ELSEWHERE 1000000 /* value of a result: ask RESULT->kernel */

void locate_init(void);
/* Performs CALL on the thread that it names. Returns the result's value, or -ESRCH if there is no such thread. KERNEL,
 * unless NULL: where the thread was then. Tasks only; waits for the kernels that it asks. A caller that is to die gives
 * up with -ESRCH while the thread moves, but not for THREAD_DONATE. */
int64_t thread_call(const struct msg_thread_call *call, struct msg_thread_result *result, uint32_t *kernel);
/* Waits until thread TID, which was moving, has arrived on a kernel where it may be, or has ended. 0, -ERESTARTSYS. */
int64_t thread_wait_settled(uint32_t tid);

#endif
