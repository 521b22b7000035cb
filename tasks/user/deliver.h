/* Signals on the way to user mode: the current thread takes those that are due, performs their default actions or
 * enters a handler, and returns from one. tasks/signal/signal.md has the protocol. */
#ifndef TASKS_USER_DELIVER_H
#define TASKS_USER_DELIVER_H

#include <stdint.h>

#include "tasks/signal/queue/queue.h"

struct thread;

/* Takes the signals that are due for the current thread, which is on its way to user mode: performs their default
 * actions, or makes its frame enter a handler. Waits for the home. */
void signal_deliver(struct thread *thread);
/* rt_sigreturn(2): restores the current thread's frame, FPU state, mask and alternate stack from the signal frame on
 * its stack. An invalid frame raises SIGSEGV. */
void signal_return(struct thread *thread);

/* Converts INFO to a siginfo_t. */
void signal_info_to_user(const struct signal_info *info, uint8_t out[128]);

#endif
