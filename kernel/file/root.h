/* The root directory of a process (chroot(2)). It is beside the working directory, in the table at the process's home
 * (table.h), and all who share that have it: threads, on any kernels, and processes made with CLONE_FS. Each thread
 * has it in its credentials, too, to send it along with names, and the count that the home had on its board at that
 * time, which all kernels read without a message. kernel/file/root.md has the protocol. */
#ifndef KERNEL_FILE_ROOT_H
#define KERNEL_FILE_ROOT_H

#include <stddef.h>
#include <stdint.h>

struct credentials;
struct file_table;
struct group;

/* A process at home here has another root. Under the lock under which it is found, so whoever finds the new one finds
 * the new count. */
void root_changed(void);
/* CREDENTIALS, of the first thread of a process that is being made here with TABLE, have its root. */
void root_begin(struct file_table *table, struct credentials *credentials);
/* The current thread's credentials have the root that its process has now, or had since this was called. Asks the home
 * only if some process at home there has got another one since it was asked last. 0, or what the home answers. A task
 * of the kernel has what it was given. Tasks only; waits. */
int64_t root_look(void);
/* The name of the current thread's working directory from its root on: its length. -EBADF: none was set; errors of
 * FILE_PATH. Tasks only; waits. */
int64_t root_to_working_directory(char *text, size_t room);
/* Programs are quiesced: processes at home elsewhere come here. GROUP's threads here look again. */
void root_forget(struct group *group);

#endif
