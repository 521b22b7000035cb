/* Resumption of an interrupted poll(2) by restart_syscall(2), and signal masks of waiting calls. */
#ifndef KERNEL_CALLS_EVENTS_POLL_H
#define KERNEL_CALLS_EVENTS_POLL_H

#include <stdint.h>

/* RESTART_POLL: context.restart_argument are the deadline, the user address and the count. */
int64_t poll_restart(void);

/* Sets the signal mask at user ADDRESS (0: leaves it) while a call waits. poll_mask_leave restores the previous mask
 * and returns RESULT; after an interruption the delivery of signals restores it (CONTEXT_RESTORE_MASK). -EINVAL (SIZE),
 * -EFAULT. */
int64_t poll_mask_enter(uint64_t address, uint64_t size);
int64_t poll_mask_leave(int64_t result);

#endif
