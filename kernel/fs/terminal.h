/* The terminal: the serial line of kernel 0 behind a line discipline (kernel/fs/line.h). Every opening is a file of its
 * own; they share input, modes, size and foreground process group. Kernel 0 only. */
#ifndef KERNEL_FS_TERMINAL_H
#define KERNEL_FS_TERMINAL_H

#include "kernel/fs/file.h"

#define TERMINAL_DEVICE 0x440 /* major 4, minor 64: the first serial line */

void terminal_init(void);
/* NULL without memory. */
struct file *terminal_open(uint32_t flags);
void terminal_facts(struct file_facts *facts);
/* How long a read waits for input at most, in tenths of a second; 0: as long as it takes. */
uint32_t terminal_timeout(void);
extern const struct file_kind file_terminal_kind;
/* Sends all that was written; for the end of the machine. Spins. */
void terminal_drain(void);

#endif
