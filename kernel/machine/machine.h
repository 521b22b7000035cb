/* Starting the other instances, changing options on all of them, and the NMI. */
#ifndef KERNEL_MACHINE_MACHINE_H
#define KERNEL_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/arch/x86_64/traps.h"
#include "kernel/file/wire.h"
#include "msg/request/call.h"

/* Registers the messages by which instances are started, and makes instance 0 able to build others. */
void start_init(void);
/* Starts the kernels of SET that do not run, and waits until they run and every running kernel has received their
 * announcement. Any kernel may call it; kernel 0 performs it. -EINVAL: no such kernel; -ETIMEDOUT: a kernel did not
 * start; -ENOSPC: no role is left, because kernels were stopped and started too often; -EAGAIN: a kernel is being
 * stopped, see stop_wait. Tasks only. */
int start_kernels(kernel_set set);
/* Starts KERNEL, which does not run, from the image in the open file at PLACE, which the caller keeps open; for
 * instance.kernels it only checks the image. Errors as start_kernels and image_read (kernel/machine/image.h), after
 * which KERNEL is as before; and -EBUSY: KERNEL runs. */
int start_image(uint32_t kernel, const struct file_place *place);
/* On kernel 0, for a task that stops kernels: no kernel is started until start_release; requests get -EAGAIN.
 * start_exclude waits for a start that is under way. */
void start_exclude(void);
void start_release(void);
/* Between the two: start_running returns the kernels that run; start_forget records that KERNEL has halted, so that it
 * may be built again. */
kernel_set start_running(void);
void start_forget(uint32_t kernel);
/* Called on every instance but 0 when it can receive messages: notifies kernel 0. */
void start_announce(void);

/* Changes options on every kernel that runs: see option_control in boot/options/control.h. Of changes that are made at
 * once, all kernels make the same one last. -EINVAL: WORDS are invalid; nothing has changed. Another error, from a
 * kernel, may come after some kernels have changed the options. Tasks only; waits for the other kernels. */
int control_everywhere(const char *words);
void control_init(void);

/* Handles an NMI: halts if a peer panics, otherwise logs what every task waits for. */
void machine_nmi(const struct trap_frame *frame);

#endif
