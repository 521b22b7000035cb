/* Serves, on kernel 0, the requests of other kernels for operations on names of the tree. */
#ifndef KERNEL_FS_REMOTE_SERVE_H
#define KERNEL_FS_REMOTE_SERVE_H

/* Registers the handlers. Called once on every kernel. */
void tree_serve_init(void);

#endif
