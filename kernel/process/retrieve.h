/* Programs change how kernels find the pages of a process, while it runs. mm/retrieve/switch.c does it at the process's
 * home; this file sends the requests there. */
#ifndef KERNEL_PROCESS_RETRIEVE_H
#define KERNEL_PROCESS_RETRIEVE_H

#include <stdint.h>

void retrieve_calls_init(void);

/* From now on the memory of PROCESS, 0 for that of the current thread, has the retrieval strategy STRATEGY, as
 * retrieve= has it. 0; -EINVAL: there is none; -ESRCH: no such process, or it is ending or beginning a program;
 * -ENOMEM: nothing has changed; -EINTR: the caller is to die. Waits for all kernels that have the memory. */
int retrieve_process(int64_t process, const char *strategy);

#endif
