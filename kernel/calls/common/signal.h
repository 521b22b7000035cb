/* What the system calls that send and await signals share. */
#ifndef KERNEL_CALLS_COMMON_SIGNAL_H
#define KERNEL_CALLS_COMMON_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "tasks/signal/signal.h"

/* What the current process sends. */
struct signal_info signal_user_info(uint64_t signal, int32_t code);
/* A siginfo_t at user address ADDRESS that goes to TARGET. Only to oneself one may say that the kernel or another sends
 * it: -EPERM. -EFAULT; -EINVAL: no SIGNAL, or, if it is to be THE_SAME, not the one in it. */
int64_t signal_read_info(uint64_t address, uint64_t signal, uint32_t target, bool the_same, struct signal_info *info);
/* Waits until something is due for the current thread: a signal, or what makes the call begin again; until DEADLINE
 * (clock_now ns, 0: none). */
void signal_wait_due(uint64_t deadline);
/* Takes a signal of SET, which the current thread awaits until DEADLINE (clock_now ns, 0: none). EXPIRED: it takes only
 * what is there. 0; -EAGAIN: none came; -EINTR; -ERESTARTSYS: it is to begin again. */
int64_t signal_wait_take(uint64_t set, uint64_t deadline, bool expired, struct signal_info *info);

#endif
