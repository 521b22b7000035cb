/* The root directory of a process (chroot(2)). It is kept with the working directory in the table at the process's home
 * (table.h), and shared with it by the process's threads, on any kernels, and by processes made with CLONE_FS. Each
 * thread also caches it in its credentials, to send it along with names. With it the thread keeps the count that the
 * home had on its board at that time; all kernels can read that board without a message. kernel/file/root.md has the
 * protocol. */
#ifndef KERNEL_FILE_ROOT_H
#define KERNEL_FILE_ROOT_H

#include <stddef.h>
#include <stdint.h>

struct credentials;
struct file_table;
struct group;

/* A process whose home is here gets another root. Called under the lock under which roots are looked up, so a lookup
 * that finds the new root finds the new count. */
void root_changed(void);
/* CREDENTIALS, of the first thread of a process that is being made here with TABLE, have its root. */
void root_begin(struct file_table *table, struct credentials *credentials);
/* Updates the root in the current thread's credentials to the one that its process has now, or had since this was
 * called. Asks the home only if a process there has got another root since the last time. Returns 0, or the home's
 * error. Leaves the credentials of kernel tasks as they are. Tasks only; waits. */
int64_t root_look(void);
/* The name of the current thread's working directory from its root on: its length. -EBADF: none was set; errors of
 * FILE_PATH. Tasks only; waits. */
int64_t root_to_working_directory(char *text, size_t room);
/* Programs are quiesced, and processes of another home move here: GROUP's threads here will ask for the root again. */
void root_forget(struct group *group);

#endif
