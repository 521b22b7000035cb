/* Making threads and processes: clone(2), clone3(2), fork(2) and vfork(2). */
#ifndef TASKS_PROGRAM_CLONE_H
#define TASKS_PROGRAM_CLONE_H

#include <stdint.h>

#include "kernel/arch/x86_64/traps.h"

#define CLONE_VM 0x100u
#define CLONE_FS 0x200u
#define CLONE_FILES 0x400u
#define CLONE_SIGHAND 0x800u
#define CLONE_PIDFD 0x1000u
#define CLONE_VFORK 0x4000u
#define CLONE_PARENT 0x8000u
#define CLONE_THREAD 0x10000u
#define CLONE_SYSVSEM 0x40000u
#define CLONE_SETTLS 0x80000u
#define CLONE_PARENT_SETTID 0x100000u
#define CLONE_CHILD_CLEARTID 0x200000u
#define CLONE_DETACHED 0x400000u /* ignored by Linux; musl sets it */
#define CLONE_CHILD_SETTID 0x1000000u
#define CLONE_CLEAR_SIGHAND 0x100000000ull /* clone3 only */

struct clone_arguments {
    uint64_t flags;       /* CLONE_*, without the exit signal */
    uint64_t exit_signal; /* 0 to 64 */
    uint64_t stack;       /* 0: as the caller's */
    uint64_t parent_tid, child_tid, tls;
    uint64_t pidfd; /* user address, with CLONE_PIDFD */
};

/* Makes a thread of the caller's process (CLONE_THREAD) or a child process. The caller's registers are FRAME. The new
 * thread begins on this kernel or on the one that the balancer chooses, with FRAME's registers, 0 in rax and the given
 * stack. Returns its id. -EINVAL: flags that contradict each other or are not supported (namespaces, ptrace, sharing
 * handlers); -EFAULT; -ENOMEM; -EAGAIN: the new parent is ending, or all ids are taken. -ERESTARTNOINTR: with
 * CLONE_FILES or CLONE_FS the caller moves home first. Waits for the home, for every kernel of the group when memory is
 * copied, and with CLONE_VFORK until the child has ended or runs another program. */
int64_t clone_task(const struct trap_frame *frame, const struct clone_arguments *arguments);

/* To be called after the current thread has moved home for an operation that is only possible there: if its affinity
 * does not allow this kernel, it moves to an allowed one on its way to user mode. */
void clone_go_back(void);

#endif
