/* Locks on files, seen from other kernels than the file's: their kinds, and their removal when a process closes a
 * descriptor or ends. The node has the locks themselves (kernel/fs/node/lock.h). */
#ifndef KERNEL_FILE_LOCK_H
#define KERNEL_FILE_LOCK_H

#include <stdint.h>

struct file;

/* The kind of a lock's owner. Locks of whole files (flock) do not conflict with the others. */
enum lock_kind { LOCK_PROCESS = 1, LOCK_OPEN_FILE, LOCK_WHOLE };
enum lock_type { LOCK_READ, LOCK_WRITE, LOCK_NONE }; /* as F_RDLCK, F_WRLCK, F_UNLCK */

/* Remove all locks of PROCESS on a file, of which it closes a descriptor. file_unlock waits until they are removed;
 * file_unlock_later does not, and takes a pinned FILE of any kernel; without memory for a message it leaves the locks
 * and writes to the log. */
void file_unlock(uint32_t kernel, uint64_t id, uint32_t process);
void file_unlock_later(struct file *file, uint32_t process);
/* The current task no longer waits for a lock: kernel 0 forgets its wait. Waits for kernel 0's answer. */
void file_lock_over(void);

#endif
