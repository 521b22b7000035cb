/* Programs that other kernels start here: kettle_spawn. */
#ifndef KERNEL_CALLS_PROCESS_EXEC_H
#define KERNEL_CALLS_PROCESS_EXEC_H

/* Registers the messages. Once. */
void exec_init(void);

#endif
