/* The end of the machine because a kernel dies whose death the others do not survive: kernel 0, or any kernel before it
 * is watched. kernel/machine/death.md, "The end of the machine". */
#ifndef KERNEL_MACHINE_END_H
#define KERNEL_MACHINE_END_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/arch/x86_64/traps.h"
#include "msg/message.h"

/* Makes panics end this kernel, or the machine. Once, when there is a boot page and CPUs take NMIs. */
void end_init(void);

/* Whether other kernels notice the death of KERNEL, and go on or end the machine: else only its own panic is noticed.
 */
bool end_is_noticed(uint32_t kernel);
/* Whether all CPUs of the kernels of SET have halted for good, but the calling one. */
bool end_has_halted(kernel_set set);

/* Ends the machine because kernel 0 has died, as WHY says: has all CPUs say on the log where they are, what their
 * threads wait for and which processes are lost, and halt. Not on kernel 0. Within ten seconds, as long as the line of
 * the terminal takes something; any context. */
_Noreturn void end_without_first(const char *why);

/* What an NMI means when a kernel or the machine ends: halts this CPU, once it has said what it is to say, or returns
 * whether the NMI was for this. False: the host, or firmware, has sent it. */
bool end_nmi(const struct trap_frame *frame);

#endif
