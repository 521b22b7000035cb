/* FILE_CALL at the kernel that is asked. */
#ifndef KERNEL_FILE_SERVE_H
#define KERNEL_FILE_SERVE_H

/* Registers the message. Once. */
void serve_init(void);

#endif
