/* FIFOs: pipes with a name, on kernel 0 as their nodes. Bytes are there as long as somebody has an end open. */
#ifndef KERNEL_FS_TREE_FIFO_H
#define KERNEL_FS_TREE_FIFO_H

#include "kernel/file/file.h"

struct fifo;

/* NULL without memory. */
struct fifo *fifo_new(void);
void fifo_free(struct fifo *fifo);
/* Opens NODE, which is one. *WAIT: open(2) has to wait until FILE_OPENED says 0. -ENXIO: nobody reads, and
 * OPEN_NONBLOCK does not wait for it; -ENOMEM. */
int64_t fifo_open(struct node *node, uint32_t flags, struct file **out, bool *wait);

#endif
