/* /proc/PID and below: every process of the machine, the same from every kernel. The data comes from
 * tasks/account/facts.h. For kernel/fs/proc/proc.c. */
#ifndef KERNEL_FS_PROC_PROCESS_H
#define KERNEL_FS_PROC_PROCESS_H

#include "kernel/fs/proc/proc.h"

extern const struct proc_directory process_directory; /* at->keys: process, 0 */
extern const struct proc_directory thread_directory;  /* at->keys: process, thread */

/* `find` and `list` of /proc itself. */
const struct proc_directory *process_find(struct proc_at *at, const char *name, size_t length);
void process_list(const struct proc_at *at, struct dirents *to);

/* self and thread-self. */
void process_enter_self(struct proc_at *at);
void process_enter_thread(struct proc_at *at);
int64_t process_link_self(const struct proc_at *at, char *out, size_t size);
int64_t process_link_thread(const struct proc_at *at, char *out, size_t size);

#endif
