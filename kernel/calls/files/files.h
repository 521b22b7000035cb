/* What the system calls on files share. */
#ifndef KERNEL_CALLS_FILES_FILES_H
#define KERNEL_CALLS_FILES_FILES_H

#include <stdbool.h>
#include <stdint.h>

struct call;

/* fcntl's commands for locks; ADDRESS: of a struct flock. */
int64_t files_lock(int64_t fd, uint32_t command, uint64_t address);
/* Nobody else can close the caller's descriptors meanwhile. False also when only the home would know. */
bool files_alone(void);
/* restart_syscall(2) of a write that was interrupted halfway. */
int64_t files_write_again(struct call *c);

#endif
