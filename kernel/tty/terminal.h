/* The serial line of kernel 0 as a terminal (kernel/tty/tty.h). Each open makes a file of its own; these files share
 * input, modes, window size, session and foreground process group. Kernel 0 only. */
#ifndef KERNEL_TTY_TERMINAL_H
#define KERNEL_TTY_TERMINAL_H

#include "kernel/file/file.h"

#define TERMINAL_DEVICE 0x440u /* major 4, minor 64: the first serial line */
#define TERMINAL_CONSOLE 0x501u

void terminal_init(void);
/* Opens the serial line for the first process; NULL without memory. */
struct file *terminal_open(uint32_t flags);
/* True if the device NUMBER is the serial line. */
bool terminal_is(uint64_t number);
/* Makes the serial line the controlling terminal of SESSION, a new session, whose leader's process group is in the
 * foreground. */
void terminal_begin_session(uint32_t session);
extern const struct file_kind file_terminal_kind;
/* Sends all written bytes when the machine is shut down. Spins. */
void terminal_drain(void);
/* The same in a panic or an NMI, when no other CPU of this kernel runs any more: without a lock. Gives up when the line
 * takes nothing for TERMINAL_FLUSH_TIME. */
#define TERMINAL_FLUSH_TIME 5000000000ull /* ns */
void terminal_flush(void);

#endif
