/* Helpers shared by the system calls that send and await signals. */
#ifndef KERNEL_CALLS_COMMON_SIGNAL_H
#define KERNEL_CALLS_COMMON_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "tasks/signal/signal.h"

/* Returns the siginfo of a signal that the current process sends. */
struct signal_info signal_user_info(uint64_t signal, int32_t code);
/* Reads the siginfo_t at user address ADDRESS for a signal to TARGET. A process may claim only in a signal to itself
 * that the kernel or another process is the sender: -EPERM. -EFAULT; -EINVAL: with THE_SAME, SIGNAL differs from the
 * number in the siginfo_t. If there is no signal SIGNAL, INFO has signal 0: the caller checks that after it has looked
 * for the target, as Linux does. */
int64_t signal_read_info(uint64_t address, uint64_t signal, uint32_t target, bool the_same, struct signal_info *info);
/* Waits until a signal, or an event that makes the call begin again, is due for the current thread, at most until
 * DEADLINE (clock_now ns, 0: none). */
void signal_wait_due(uint64_t deadline);
/* Takes a signal of SET, which the current thread awaits until DEADLINE (clock_now ns, 0: none). EXPIRED: takes only a
 * signal that is already pending. 0; -EAGAIN: none came; -EINTR; -ERESTARTSYS: the call is to begin again. */
int64_t signal_wait_take(uint64_t set, uint64_t deadline, bool expired, struct signal_info *info);

#endif
