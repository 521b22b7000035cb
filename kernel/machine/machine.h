/* The instance as a whole: start, the other instances, the end of the machine. */
#ifndef KERNEL_MACHINE_MACHINE_H
#define KERNEL_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/arch/x86_64/traps.h"
#include "msg/call.h"

/* Number of this instance. */
uint32_t machine_kernel(void);

/* Registers the messages by which instances are started, and makes instance 0 able to build others. */
void start_init(void);
/* Starts the kernels of SET that do not run, and waits until they do and every running kernel knows. Any kernel may
 * ask; kernel 0 does it. -EINVAL: no such kernel; -ETIMEDOUT: one did not come up; -ENOSPC: kernels were stopped and
 * started too often; -EAGAIN: one is being stopped, see stop_wait. Tasks only. */
int start_kernels(kernel_set set);
/* Kernel 0, for a task that stops kernels: no kernel is started until start_release; requests get -EAGAIN. */
void start_exclude(void);
void start_release(void);
/* Meanwhile: the kernels that run; and KERNEL has halted and may be built again. */
kernel_set start_running(void);
void start_forget(uint32_t kernel);
/* Called on every instance but 0 once it can take messages: notifies kernel 0. */
void start_announce(void);

/* Changes options of the channel on every kernel that runs: see option_control in boot/options/control.h. -EINVAL when
 * WORDS make no sense; then nothing has changed. Tasks only. */
int control_everywhere(const char *words);
void control_init(void);

/* A non-maskable interrupt: stop for a peer's panic, or log what every task waits for. */
void machine_nmi(const struct trap_frame *frame);

#endif
