/* Descriptors of processes: what the calls on processes share. */
#ifndef KERNEL_CALLS_EVENTS_PIDFD_H
#define KERNEL_CALLS_EVENTS_PIDFD_H

#include "kernel/file/event/pidfd.h"

/* The process that descriptor FD of the current one stands for. -EBADF. */
int64_t pidfd_find(int64_t fd, struct pidfd_facts *out);
/* group_hooks.open_process. */
int pidfd_open_child(struct group *child, uint64_t address);

#endif
