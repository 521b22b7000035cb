/* Pseudo-terminals: a terminal (tty.h) whose other side is a file, the master. On kernel 0; any kernel opens them.
 * kernel/tty/terminal.md has the states of a pair. */
#ifndef KERNEL_TTY_PTY_H
#define KERNEL_TTY_PTY_H

#include "kernel/file/file.h"

struct tty;

#define PTY_MAX 4096u /* at a time, as Linux */

/* Creates a pair and returns its master; the slave is locked and belongs to user UID. -ENOMEM; -ENOSPC: there are
 * PTY_MAX. */
int64_t pty_create(uint32_t flags, uint32_t uid, struct file **out);
/* Opens the slave TTY. -EIO: it is locked; -ENOMEM. Under the lock of the table of terminals, or the caller has its
 * master. */
int64_t pty_open_slave_locked(struct tty *tty, const struct file_facts *facts, uint32_t flags, struct file **out);

#endif
