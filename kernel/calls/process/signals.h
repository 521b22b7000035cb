/* Resumption of an interrupted wait for signals by restart_syscall(2). */
#ifndef KERNEL_CALLS_PROCESS_SIGNALS_H
#define KERNEL_CALLS_PROCESS_SIGNALS_H

#include <stdint.h>

/* RESTART_SIGNAL: context.restart_argument are the deadline, the user address and the set. */
int64_t signal_wait_again(void);

#endif
