/* Operations on a thread wherever it is. Its birth kernel, which its id names, has its shadow or knows that it is over;
 * each shadow knows where the thread went last, so following them leads to it. Nothing is told when a thread moves.
 * They are the rows THREAD_SIGNAL to THREAD_DONATE of msg/messages.def.
 * tasks/migrate/migration.md has the protocol. */
#ifndef TASKS_LOCATE_LOCATE_H
#define TASKS_LOCATE_LOCATE_H

#include <stdint.h>

#include "tasks/locate/wire.h"

#define THREAD_ELSEWHERE 1000000 /* value of a result: RESULT->kernel may know more */

void locate_init(void);
/* Does CALL to the thread that it names. Returns the result's value, -ESRCH when there is no such thread. KERNEL,
 * unless NULL: where the thread was then. Tasks only; waits for the kernels that it asks; a caller that is to die gives
 * up while the thread moves, with -ESRCH, but goes on until THREAD_DONATE is done. */
int64_t thread_call(const struct msg_thread_call *call, struct msg_thread_result *result, uint32_t *kernel);
/* Waits until thread TID, which was on its way, has arrived where it may be, or is over. 0, -ERESTARTSYS. */
int64_t thread_wait_settled(uint32_t tid);

#endif
