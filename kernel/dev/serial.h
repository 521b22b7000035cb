/* The serial line COM1 (16550A), which the terminal (kernel/tty/terminal.h) uses. Kernel 0 owns it. A break condition
 * on the line means the end of input: the host sends one when its own input has ended. The caller holds the terminal's
 * lock. Only serial_finish waits. */
#ifndef KERNEL_DEV_SERIAL_H
#define KERNEL_DEV_SERIAL_H

#include <stdbool.h>
#include <stdint.h>

#define SERIAL_NONE (-1)
#define SERIAL_BREAK (-2)

void serial_init(void);
void serial_interrupt(void);
/* Called at every interrupt of the line, to receive input and to send output. */
extern void (*serial_on_interrupt)(void); /* [i] */

/* Returns the next received byte, SERIAL_NONE, or SERIAL_BREAK. */
int serial_get(void);
/* Sends BYTE if the UART has room for it now; returns whether it had. */
bool serial_put(uint8_t byte);
/* Enable or disable the interrupts for received input and for room for output. */
void serial_want_input(bool wanted);
void serial_want_output(bool wanted);
/* Spins until the UART has sent the last byte, at most for TRIES looks. */
void serial_finish(uint32_t tries);

#endif
