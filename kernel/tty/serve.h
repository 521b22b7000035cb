/* The interfaces of terminals for other rooms: named devices (kernel/fs/device/device.h), files without a name
 * (kernel/file/anonymous.h), and operations about sessions. */
#ifndef KERNEL_TTY_SERVE_H
#define KERNEL_TTY_SERVE_H

/* Registers them. To be called once. */
void tty_serve_init(void);

#endif
