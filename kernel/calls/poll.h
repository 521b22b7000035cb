/* What restart_syscall(2) goes on with. */
#ifndef KERNEL_CALLS_POLL_H
#define KERNEL_CALLS_POLL_H

#include <stdint.h>

/* RESTART_POLL: context.restart_argument are deadline, user address and count. */
int64_t poll_restart(void);

#endif
