/* Stopping a kernel while programs run: its threads move to other kernels, all programs are quiesced briefly, its
 * successor takes over its responsibilities, and it halts. It may be started again. tasks/handover/stop_kernel.md has
 * the protocol. */
#ifndef KERNEL_MACHINE_STOP_H
#define KERNEL_MACHINE_STOP_H

#include <stdint.h>

#include "msg/message.h"

void stop_kernel_init(void);

/* Begins to stop KERNEL. Any kernel may call it; kernel 0 performs it. *TICKET identifies the stop. Returns 0; -EINVAL:
 * no such kernel; -EBUSY: kernel 0; -EALREADY: KERNEL does not run, so there is nothing to wait for; -EAGAIN: another
 * kernel is being stopped, see stop_wait; -ENOMEM. Tasks only. */
int stop_kernel_begin(uint32_t kernel, uint64_t *ticket);
/* Waits for the end of stop TICKET and returns its result: 0; -EBUSY: something on the kernel could not be moved, and
 * it runs on; -ENOMEM: the same for lack of memory. -ERESTARTSYS. */
int stop_kernel_result(uint64_t ticket);
/* Waits until no kernel is being stopped, or cleaned up after. 0, -ERESTARTSYS. */
int stop_wait(void);

/* Calls WHAT on kernel 0 while all programs of the machine are quiesced and no work on their behalf is under way. WHAT
 * may wait and changes nothing; RUNNING are the kernels that run. Called in a work item of kernel 0. Returns 0;
 * -EAGAIN: a kernel is being stopped, or has died, see stop_wait; -EBUSY: programs do not quiesce within ten seconds.
 */
int quiesce_machine(void (*what)(kernel_set running, void *context), void *context);

#endif
