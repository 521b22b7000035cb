/* Serving requests of other kernels for operations on descriptors and files. */
#ifndef KERNEL_FILE_SERVE_H
#define KERNEL_FILE_SERVE_H

/* Registers the messages. Once. */
void serve_init(void);

#endif
