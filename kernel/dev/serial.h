/* The serial line COM1 (16550A), the program's terminal: raw bytes both ways. Kernel 0 owns it. A break condition on
 * the line is the end of input: the host sends one when its own input has ended. */
#ifndef KERNEL_DEV_SERIAL_H
#define KERNEL_DEV_SERIAL_H

#include <stddef.h>
#include <stdint.h>

struct group;

void serial_init(void);
void serial_interrupt(void);
/* Writes all of it; returns when the UART has taken the last byte. */
void serial_write(const void *data, size_t size);
/* Waits until there is input and takes up to SIZE bytes; 0 at the end of input; -EINTR when GROUP is exiting. Tasks
 * only. */
int64_t serial_read(void *data, size_t size, const struct group *group);
/* Wakes all who wait for input, so that they look whether their group is exiting. */
void serial_wake_readers(void);

#endif
