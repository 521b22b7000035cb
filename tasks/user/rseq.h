/* Restartable sequences (rseq(2)): a word in the program's memory with the CPU on which the thread runs, and critical
 * sections that are aborted when the thread is interrupted in one. The registration moves with the thread. */
#ifndef TASKS_USER_RSEQ_H
#define TASKS_USER_RSEQ_H

#include "tasks/thread/thread.h"

/* rseq(2) for the current thread. -EINVAL, -EBUSY, -EPERM, -EFAULT as on Linux. */
int64_t rseq_register(uint64_t address, uint32_t size, uint32_t flags, uint32_t signature);
/* To be called when the current thread may have been switched away, or enters a signal handler: updates the word, and
 * aborts the critical section that the thread is in. A thread whose area cannot be used gets SIGSEGV. */
void rseq_update(struct thread *thread);

#endif
