/* FILE_NAME at kernel 0: what other kernels ask about names of the tree. */
#ifndef KERNEL_FS_REMOTE_SERVE_H
#define KERNEL_FS_REMOTE_SERVE_H

/* Registers the message. Every kernel, once. */
void tree_serve_init(void);

#endif
