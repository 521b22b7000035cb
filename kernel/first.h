/* The machine's first process, and the machine's end with it. */
#ifndef KERNEL_FIRST_H
#define KERNEL_FIRST_H

/* Starts it, as `.kettle/run` in the initramfs says. Kernel 0, in a task, once all kernels run. */
void first_process_start(void);

#endif
