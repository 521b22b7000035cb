/* What the calls that send signals share. */
#ifndef KERNEL_CALLS_PROCESS_SIGNALS_H
#define KERNEL_CALLS_PROCESS_SIGNALS_H

#include <stdbool.h>

#include "tasks/signal/signal.h"

/* What the current process sends. */
struct signal_info signal_user_info(uint64_t signal, int32_t code);
/* A siginfo_t at user address ADDRESS that goes to TARGET. Only to oneself one may say that the kernel or another sends
 * it: -EPERM. -EFAULT; -EINVAL: no SIGNAL, or, if it is to be THE_SAME, not the one in it. */
int64_t signal_read_info(uint64_t address, uint64_t signal, uint32_t target, bool the_same, struct signal_info *info);

#endif
