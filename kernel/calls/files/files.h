/* Helpers shared by the system calls on files. */
#ifndef KERNEL_CALLS_FILES_FILES_H
#define KERNEL_CALLS_FILES_FILES_H

#include <stdbool.h>
#include <stdint.h>

struct call;

/* fcntl's lock commands; a struct flock is at user ADDRESS. */
int64_t files_lock(int64_t fd, uint32_t command, uint64_t address);
/* True if no other thread can close the caller's descriptors during the call. False also when only the home would
 * know. */
bool files_alone(void);
/* restart_syscall(2) of a write that was interrupted halfway. */
int64_t files_write_again(struct call *c);

#endif
