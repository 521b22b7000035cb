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

/* May everything that is not about files. */
static inline bool credentials_root(const struct credentials *credentials)
{
    return credentials->euid == 0;
}

/* -EPERM unless the current thread is root. */
int64_t credentials_need_root(void);

#endif
