/* Files of /proc that show the state at each operation, not that of their opening: the memory of a process
 * (/proc/PID/mem) and its descriptors (/proc/PID/fd). The open file has the process, an offset, and for memory the
 * program that it belongs to. The process may be on another kernel, and a file's operations do not wait for other
 * kernels. So a read, a write or a listing returns -EAGAIN with FILE_YOURS and the process, and the caller performs the
 * operation itself: kernel/calls/files/live.c. */
#ifndef KERNEL_FS_PROC_LIVE_H
#define KERNEL_FS_PROC_LIVE_H

#include "kernel/file/file.h"

#define PROC_FD_INODE(process, fd) ((uint64_t)(process) << 32 | (0x1000u + (uint32_t)(fd)))

/* Opens the memory of PROCESS, with the access of FLAGS. -EACCES: the caller may not; -ENOENT: there is no such
 * process; -ENOMEM. Tasks only: asks the home. */
int64_t proc_live_memory(uint32_t process, const struct file_facts *facts, uint32_t flags, struct file **out);
/* Opens NAME, the directory of the descriptors of PROCESS. -EACCES: the caller may not read it; -ENOMEM. Tasks only. */
int64_t proc_live_descriptors(uint32_t process, const char *name, const struct file_facts *facts, uint32_t flags,
                              struct file **out);

/* lseek of such a file. SEEK_END is refused: there is no end to count from. */
int64_t proc_live_seek(struct file *file, int64_t offset, uint32_t whence);

#endif
