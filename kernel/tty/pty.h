/* Pseudo-terminals: a terminal (tty.h), the slave, whose other side is a file, the master. They are on kernel 0 and can
 * be opened from any kernel. kernel/tty/terminal.md has the states of a pair. */
#ifndef KERNEL_TTY_PTY_H
#define KERNEL_TTY_PTY_H

#include "kernel/file/file.h"

struct tty;

#define PTY_MAX 4096u /* pairs at a time, as on Linux */

/* Creates a pair and opens its master; the slave is locked and belongs to user UID. -ENOMEM; -ENOSPC: there are PTY_MAX
 * pairs. */
int64_t pty_create(uint32_t flags, uint32_t uid, struct file **out);
/* Opens the slave TTY. -EIO: it is locked or hung up; -ENOMEM. The caller holds the lock of the table of terminals or
 * an open of the master, so that TTY stays. */
int64_t pty_open_slave_locked(struct tty *tty, const struct file_facts *facts, uint32_t flags, struct file **out);

#endif
