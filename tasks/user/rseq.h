/* Restartable sequences (rseq(2)): a word of the program's that says which CPU its thread runs on, and critical
 * sections that begin again when the thread was interrupted in one. The registration moves with the thread. */
#ifndef TASKS_USER_RSEQ_H
#define TASKS_USER_RSEQ_H

#include "tasks/thread/thread.h"

/* rseq(2) for the current thread. -EINVAL, -EBUSY, -EPERM as there. */
int64_t rseq_register(uint64_t address, uint32_t size, uint32_t flags, uint32_t signature);
/* The current thread may have been off its CPU, or enters a signal handler: updates the word, and aborts the critical
 * section that its registers are in. A thread whose area cannot be used gets SIGSEGV. */
void rseq_update(struct thread *thread);

#endif
