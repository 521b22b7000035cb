/* The root directory of a process (chroot(2)). It is kept with the working directory in the table at the process's home
 * (table.h), and shared with it by the process's threads, on any kernels, and by processes made with CLONE_FS. Each
 * thread also caches it in its credentials, to send it with names, together with the count that the home had on its
 * board at that time. All kernels can read that board without a message. kernel/file/root.md has the protocol. */
#ifndef KERNEL_FILE_ROOT_H
#define KERNEL_FILE_ROOT_H

#include <stddef.h>
#include <stdint.h>

struct credentials;
struct file_table;
struct group;

/* Increments the count: a process whose home is here gets another root. Called under the lock under which roots are
 * looked up, so a lookup that finds the new root finds the new count. */
void root_changed(void);
/* Caches TABLE's root in CREDENTIALS, those of the first thread of a process that is being made here. */
void root_begin(struct file_table *table, struct credentials *credentials);
/* Updates the root in the current thread's credentials to one that its process has had since this was called. Asks the
 * home only if a process there has changed its root since the last time. Returns 0, or the home's error. Leaves the
 * credentials of kernel tasks as they are. Tasks only; waits. */
int64_t root_look(void);
/* The name of the current thread's working directory from its root on: its length. -EBADF: none was set; errors of
 * FILE_PATH. Tasks only; waits. */
int64_t root_to_working_directory(char *text, size_t room);
/* Called while programs are quiesced and processes move to another home: invalidates the root that GROUP's threads on
 * this kernel have cached. */
void root_forget(struct group *group);

#endif
