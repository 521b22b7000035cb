/* Descriptors of processes: pidfd_open(2), CLONE_PIDFD. The file is on the process's home, and can be polled: it is
 * readable once the process has ended, whether or not it has been waited for. It keeps the struct group allocated, but
 * not the process's id. */
#ifndef KERNEL_FILE_EVENT_PIDFD_H
#define KERNEL_FILE_EVENT_PIDFD_H

#include "kernel/file/file.h"

struct group;

/* Result data of SPECIAL_PROCESS. */
struct pidfd_facts {
    uint32_t process;
    uint32_t nonblock; /* of open's flags */
    uint32_t gone;     /* it has been waited for, so another process may have its id by now */
};

/* Data of SPECIAL_PROCESS_FILE: the descriptor, and the asker's real user and group. ANY: 1: no permission check. */
struct pidfd_asker {
    int32_t fd;
    uint32_t uid, gid;
    uint32_t any;
};

/* A pidfd for GROUP, which is being made with this kernel as its home. NULL without memory. */
struct file *pidfd_create_for(uint32_t flags, struct group *group);
/* Notifies the pidfds of GROUP, at home here, that it has ended. Any context, without locks. */
void pidfd_ended(struct group *group);
void pidfd_init(void);

#endif
