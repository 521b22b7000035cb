/* What the system calls on policies and on priorities share. */
#ifndef KERNEL_CALLS_PROCESS_POLICY_H
#define KERNEL_CALLS_PROCESS_POLICY_H

#include <stdint.h>

struct msg_thread_call;
struct msg_thread_result;

/* Performs CALL on the thread TID (0: the caller). -ESRCH. */
int64_t sched_with_thread(uint32_t tid, struct msg_thread_call *call, struct msg_thread_result *result);
/* Returns the soft limit WHICH of the process of thread TID (0: the caller), at most FAIR_PRIORITY_MAX; 0 on
 * an error. */
uint32_t sched_limit_of(uint32_t tid, uint32_t which);

#endif
