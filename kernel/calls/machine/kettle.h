/* What restart_syscall(2) goes on with. */
#ifndef KERNEL_CALLS_MACHINE_KETTLE_H
#define KERNEL_CALLS_MACHINE_KETTLE_H

#include <stdint.h>

/* RESTART_STOP: a stop of a kernel goes on to be waited for. */
int64_t kettle_stop_again(void);

#endif
