/* Process descriptors: helpers shared by the calls on processes. */
#ifndef KERNEL_CALLS_EVENTS_PIDFD_H
#define KERNEL_CALLS_EVENTS_PIDFD_H

#include "kernel/file/event/pidfd.h"

/* Finds the process that descriptor FD of the current process refers to. -EBADF, -ENOMEM. */
int64_t pidfd_find(int64_t fd, struct pidfd_facts *out);
/* group_hooks.open_process: opens a process descriptor for CHILD and writes its number to user ADDRESS. */
int pidfd_open_child(struct group *child, uint64_t address);

#endif
