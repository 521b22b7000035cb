/* Who a thread is: its users, its groups and its root directory (credentials(7)). They belong to the thread and move
 * with it, as in Linux; a C library that means the whole process sets them in each thread. The root is the process's,
 * and here for the thread's use (kernel/file/root.h). There are no capabilities but those of user 0. All zeros: root,
 * in no further group, in the root of the tree. */
#ifndef TASKS_THREAD_CREDENTIALS_H
#define TASKS_THREAD_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>

#define CREDENTIAL_GROUPS 32u /* further groups of a thread at most */

struct credentials {
    uint32_t uid, euid, suid, fsuid;
    uint32_t gid, egid, sgid, fsgid;
    uint32_t group_count;
    uint32_t pad;
    uint64_t root;      /* chroot(2): an open directory of kernel 0; 0: the tree's root. As of root_seen: */
    uint64_t root_seen; /* what the home's board had when it was found; 0: nothing yet (kernel/file/root.h) */
    uint32_t groups[CREDENTIAL_GROUPS];
};

struct group;

/* May everything that is not about files. */
static inline bool credentials_root(const struct credentials *credentials)
{
    return credentials->euid == 0;
}

/* -EPERM unless the current thread is root. */
int64_t credentials_need_root(void);

/* What others ask of a process is asked of its first thread's credentials, which its home keeps: to be called by a
 * thread when its own have changed. Waits for the home, if it is another kernel. */
void credentials_changed(const struct credentials *old);
/* 0 if the current thread may send SIGNAL to process ID (kill(2)), else -EPERM or -ESRCH. Asks ID's home unless the
 * thread is root's. */
int64_t credentials_may_signal(uint32_t id, uint32_t signal);
/* The same for its limits and, if INSIDE, its memory and descriptors (ptrace(2), "access mode checking"). */
int64_t credentials_may_reach(uint32_t id, bool inside);

#endif
