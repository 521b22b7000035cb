/* Programs change how kernels find the pages of a process, and where its memory moves, while it runs.
 * mm/retrieve/switch.c does it at the process's home; this file sends the requests there. */
#ifndef KERNEL_PROCESS_RETRIEVE_H
#define KERNEL_PROCESS_RETRIEVE_H

#include <stdint.h>

void retrieve_calls_init(void);

/* Sets the retrieval strategy of PROCESS (0: the caller's) to STRATEGY, a name as in retrieve=. Returns 0; -EINVAL: no
 * such strategy; -ESRCH: the process does not exist, is ending, or is about to run another program; -ENOMEM: nothing
 * has changed; -EINTR: the caller has been killed. Waits for all kernels that have the memory. */
int retrieve_process(int64_t process, const char *strategy);
/* The same for the policy by which memory of PROCESS follows its users: POLICY is a name as in numa=, or "default":
 * that of the option. */
int numa_process(int64_t process, const char *policy);
/* Replicates the caller's pages of [START, END), which are whole, as space_replicate. Returns how many are, or an error
 * as above; -EOPNOTSUPP: the process's strategy finds pages by asking. */
int64_t replicate_own(uint64_t start, uint64_t end);

#endif
