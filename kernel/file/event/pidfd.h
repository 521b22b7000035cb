/* Descriptors of processes: pidfd_open(2), CLONE_PIDFD. The file is on the process's home, and can be polled: it is
 * readable once the process has ended, whether it was waited for or not. It keeps what is left of the process's memory,
 * not its id. */
#ifndef KERNEL_FILE_EVENT_PIDFD_H
#define KERNEL_FILE_EVENT_PIDFD_H

#include "kernel/file/file.h"

struct group;

/* What SPECIAL_PROCESS answers. */
struct pidfd_facts {
    uint32_t process;
    uint32_t nonblock; /* of open's flags */
    uint32_t gone;     /* it was waited for: its id may be another one's by now */
};

/* What SPECIAL_PROCESS_FILE is asked for, and by whom: real user and group; any: that may do all. */
struct pidfd_asker {
    int32_t fd;
    uint32_t uid, gid;
    uint32_t any;
};

/* For one that is being made, whose home this kernel is. NULL without memory. */
struct file *pidfd_create_for(uint32_t flags, struct group *group);
/* GROUP, at home here, has ended. Any context, without locks. */
void pidfd_ended(struct group *group);
void pidfd_init(void);

#endif
