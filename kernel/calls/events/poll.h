/* What restart_syscall(2) goes on with. */
#ifndef KERNEL_CALLS_EVENTS_POLL_H
#define KERNEL_CALLS_EVENTS_POLL_H

#include <stdint.h>

/* RESTART_POLL: context.restart_argument are deadline, user address and count. */
int64_t poll_restart(void);

/* A call waits with the signal mask at user ADDRESS (0: as it is). The mask from before is restored when it leaves with
 * RESULT, or, when it was interrupted, by the delivery of signals (CONTEXT_RESTORE_MASK). -EINVAL (SIZE), -EFAULT. */
int64_t poll_mask_enter(uint64_t address, uint64_t size);
int64_t poll_mask_leave(int64_t result);

#endif
