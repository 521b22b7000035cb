/* The serial line COM1 (16550A), which the terminal (kernel/tty/terminal.h) sends and receives bytes with. Kernel 0
 * owns it. A break condition on the line is the end of input: the host sends one when its own input has ended. All
 * under the terminal's lock; nothing waits but serial_finish. */
#ifndef KERNEL_DEV_SERIAL_H
#define KERNEL_DEV_SERIAL_H

#include <stdbool.h>
#include <stdint.h>

#define SERIAL_NONE (-1)
#define SERIAL_BREAK (-2)

void serial_init(void);
void serial_interrupt(void);
/* Called by every interrupt of the line: takes input, gives output. */
extern void (*serial_on_interrupt)(void); /* [i] */

/* The next byte that has come, SERIAL_NONE, or SERIAL_BREAK. */
int serial_get(void);
/* Sends BYTE if the UART takes it now. */
bool serial_put(uint8_t byte);
/* Whether input, or room for output, interrupts. */
void serial_want_input(bool wanted);
void serial_want_output(bool wanted);
/* Spins until the last byte has left. */
void serial_finish(void);

#endif
