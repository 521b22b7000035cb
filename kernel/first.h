/* The machine's first process; the machine ends with it. */
#ifndef KERNEL_FIRST_H
#define KERNEL_FIRST_H

/* Starts the first process as `.kettle/run` in the initramfs says. Kernel 0, in a task, once all kernels run. */
void first_process_start(void);

#endif
