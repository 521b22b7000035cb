/* Resumption of an interrupted epoll_wait(2) by restart_syscall(2). */
#ifndef KERNEL_CALLS_EVENTS_EPOLL_H
#define KERNEL_CALLS_EVENTS_EPOLL_H

#include <stdint.h>

struct call;

/* RESTART_EPOLL: C still has the arguments of the call; context.restart_argument are the deadline, and 1 if the call
 * has a signal mask. */
int64_t epoll_wait_again(struct call *c);

#endif
