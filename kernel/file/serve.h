/* Operations on descriptors and files at the kernel that is asked. */
#ifndef KERNEL_FILE_SERVE_H
#define KERNEL_FILE_SERVE_H

/* Registers the messages. Once. */
void serve_init(void);

#endif
