/* The death of a kernel: it is noticed, fenced, cleaned up by the others, and may be started again. kernel 0's own ends
 * the machine. kernel/machine/death.md has the protocol. */
#ifndef KERNEL_MACHINE_DEATH_H
#define KERNEL_MACHINE_DEATH_H

#include <stdint.h>

#include "kernel/abi/kettle.h"

void death_init(void);

/* Ends KERNEL, as HOW (KETTLE_KILL_*) says, for tests. Any kernel may call it; kernel 0 performs it. *TICKET is for
 * stop_kernel_result: the others have cleaned up; it does not return if KERNEL is 0, whose death ends the machine. 0;
 * -EINVAL: no such kernel or way; -EBUSY: nobody would notice it, as kernel 0 is the only one, or with death=off; but
 * kernel 0 panics all the same;
 * -EALREADY: it does not run; -EAGAIN: another kernel is being stopped, see stop_wait. Tasks only. */
int death_cause(uint32_t kernel, uint32_t how, uint64_t *ticket);

/* On kernel 0: KERNEL, whose stop is committed, is about to halt. Others that die are not told to it any more; waits
 * until it has answered what it has been told. The second function is for when nobody can ask it any more. */
void death_halts(uint32_t kernel);
void death_has_halted(uint32_t kernel);

#endif
