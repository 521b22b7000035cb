/* FIFOs: pipes with a name, on kernel 0 like their nodes. Bytes stay in a FIFO as long as an end is open. */
#ifndef KERNEL_FS_TREE_FIFO_H
#define KERNEL_FS_TREE_FIFO_H

#include "kernel/file/file.h"

struct fifo;

/* Allocates a FIFO; NULL without memory. */
struct fifo *fifo_new(void);
void fifo_free(struct fifo *fifo);
/* Opens the FIFO of NODE. *WAIT: open(2) has to wait until FILE_OPENED returns 0. -ENXIO: opened for writing with
 * OPEN_NONBLOCK, and there is no reader; -ENOMEM, -EINVAL. */
int64_t fifo_open(struct node *node, uint32_t flags, struct file **out, bool *wait);

/* A kernel has died, and programs are quiesced: who still holds an end of the FIFO of FILE (fifo_is_end) has died with
 * it. */
bool fifo_is_end(const struct file *file);
void fifo_lost(struct file *file);

#endif
