/* Helpers shared by the system calls on files. */
#ifndef KERNEL_CALLS_FILES_FILES_H
#define KERNEL_CALLS_FILES_FILES_H

#include <stdbool.h>
#include <stdint.h>

struct call;

/* Performs a lock command of fcntl(2); a struct flock is at user ADDRESS. */
int64_t files_lock(int64_t fd, uint32_t command, uint64_t address);
/* Returns true if no other thread can close the caller's descriptors during the call. Returns false, too, on other
 * kernels than the home, which do not know. */
bool files_alone(void);
/* RESTART_WRITE: resumes a write that was interrupted halfway; context.restart_argument is the number of bytes
 * written. */
int64_t files_write_again(struct call *c);

#endif
