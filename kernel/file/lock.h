/* Locks on files as those ask for them who are not on the file's kernel: what they are, and giving them back when a
 * process closes a descriptor, or ends. The locks themselves are with the node (kernel/fs/node/lock.h). */
#ifndef KERNEL_FILE_LOCK_H
#define KERNEL_FILE_LOCK_H

#include <stdint.h>

struct file;

/* Whose a lock is. Those of whole files (flock) and the others know nothing of each other. */
enum lock_kind { LOCK_PROCESS = 1, LOCK_OPEN_FILE, LOCK_WHOLE };
enum lock_type { LOCK_READ, LOCK_WRITE, LOCK_NONE }; /* as F_RDLCK, F_WRLCK, F_UNLCK */

/* PROCESS closes a descriptor of FILE, of any kernel and pinned: the locks that it has there go. The first waits for
 * that. */
void file_unlock(uint32_t kernel, uint64_t id, uint32_t process);
void file_unlock_later(struct file *file, uint32_t process);
/* The current task waits for no lock any more. Waits for kernel 0. */
void file_lock_over(void);

#endif
