/* Serves the requests of other kernels to kernel 0 about names of the tree. */
#ifndef KERNEL_FS_REMOTE_SERVE_H
#define KERNEL_FS_REMOTE_SERVE_H

/* Registers the messages. Every kernel, once. */
void tree_serve_init(void);

#endif
