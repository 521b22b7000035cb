/* The credentials of a thread: its users, its groups and its root directory (credentials(7)). They belong to the thread
 * and move with it, as in Linux; a C library that wants to change those of the whole process sets them in each thread.
 * The root directory belongs to the process; this is the thread's copy (kernel/file/root.h). There are no capabilities
 * except those of user 0. All zeros: user root, no supplementary groups, the root of the tree. */
#ifndef TASKS_THREAD_CREDENTIALS_H
#define TASKS_THREAD_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>

#define CREDENTIAL_GROUPS 32u /* maximum number of supplementary groups of a thread */

struct credentials {
    uint32_t uid, euid, suid, fsuid;
    uint32_t gid, egid, sgid, fsgid;
    uint32_t group_count;
    uint32_t pad;
    uint64_t root; /* chroot(2): an open directory of kernel 0; 0: the tree's root. Valid as of root_seen */
    uint64_t
        root_seen; /* the value on the home's board when ROOT was fetched; 0: not fetched yet (kernel/file/root.h) */
    uint32_t groups[CREDENTIAL_GROUPS];
};

/* Whether CREDENTIALS allow every privileged operation that does not concern files. */
static inline bool credentials_root(const struct credentials *credentials)
{
    return credentials->euid == 0;
}

/* -EPERM unless the current thread is root. */
int64_t credentials_need_root(void);

#endif
