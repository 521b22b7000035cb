/* New threads of a running group: clone(2) with the flags of pthread_create. */
#ifndef TASKS_CLONE_H
#define TASKS_CLONE_H

#include <stdint.h>

#include "kernel/arch/x86_64/traps.h"

/* As clone(2): FLAGS must be those of a thread (VM, FS, FILES, SIGHAND, THREAD together; SETTLS, PARENT_SETTID,
 * CHILD_SETTID, CHILD_CLEARTID and SYSVSEM may be added); the new thread starts on this kernel with FRAME's registers,
 * 0 in rax and STACK. Returns its id. -ENOSYS: flags that would make a process; -EINVAL: flags that contradict;
 * -EFAULT; -ENOMEM; -EAGAIN: the group is exiting. Waits for the home. */
int64_t clone_thread(const struct trap_frame *frame, uint64_t flags, uint64_t stack, uint64_t parent_tid,
                     uint64_t child_tid, uint64_t tls);

#endif
