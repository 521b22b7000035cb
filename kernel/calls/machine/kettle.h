/* Resumption of an interrupted kernel stop by restart_syscall(2). */
#ifndef KERNEL_CALLS_MACHINE_KETTLE_H
#define KERNEL_CALLS_MACHINE_KETTLE_H

#include <stdint.h>

/* RESTART_STOP: continues to wait for the stop of a kernel. */
int64_t kettle_stop_again(void);

#endif
