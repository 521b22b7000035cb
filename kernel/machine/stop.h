/* Stopping a kernel while programs run: its threads move to other kernels, all programs are quiesced briefly, its
 * successor takes over its responsibilities, and it halts. It may be started again. tasks/handover/stop_kernel.md has
 * the protocol.
 *  */
#ifndef KERNEL_MACHINE_STOP_H
#define KERNEL_MACHINE_STOP_H

#include <stdint.h>

#include "msg/message.h"

void stop_kernel_init(void);

/* Begins to stop KERNEL; any kernel may ask, kernel 0 does it. *TICKET names the stop. 0; -EINVAL: no such kernel;
 * -EBUSY: kernel 0; -EALREADY: it does not run, there is nothing to wait for; -EAGAIN: another is being stopped, see
 * stop_wait. Tasks only. */
int stop_kernel_begin(uint32_t kernel, uint64_t *ticket);
/* How stop TICKET ended: 0; -EBUSY: something on the kernel could not be moved, and it runs on; -ENOMEM: the same for
 * want of memory. Waits for it; -ERESTARTSYS. */
int stop_kernel_result(uint64_t ticket);
/* Waits until no kernel is being stopped. 0, -ERESTARTSYS. */
int stop_wait(void);

/* Kernel 0, in a work item: calls WHAT while all programs of the machine are quiesced and nothing of theirs is under
 * way; it may wait, and changes nothing. RUNNING: the kernels that run. 0; -EAGAIN: a kernel is being stopped, see
 * stop_wait; -EBUSY: programs do not quiesce within ten seconds. */
int quiesce_machine(void (*what)(kernel_set running, void *context), void *context);

#endif
