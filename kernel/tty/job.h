/* Job control at the caller: who it is to a terminal, and what happens to one in the background. The terminals are on
 * kernel 0 (tty.h); a process's group and session are known at its home. kernel/tty/terminal.md has the states. */
#ifndef KERNEL_TTY_JOB_H
#define KERNEL_TTY_JOB_H

#include "kernel/file/wire.h"

/* The current process's group as far as this kernel knows it: for a request. */
uint32_t job_group(void);
/* A request for process group *ASKED was answered -TTY_WHO by ANSWER. 0: to be sent again, with *ASKED as it is now.
 * -EIO; -ERESTARTSYS: the caller's process group was sent SIGNAL, SIGTTIN or SIGTTOU. Waits for the home, and for all
 * kernels before a signal. */
int64_t job_check(uint32_t *asked, const struct file_answer *answer, uint32_t signal);
/* Who the caller is, for commands about sessions; FOREGROUND: a process group to be looked for in all kernels, or 0. */
struct tty_identity;
void job_identity(struct tty_identity *who, uint32_t foreground);

/* The device NUMBER is opened by kernel 0 for who asks: /dev/tty, /dev/ptmx. */
bool job_opens(uint64_t number);
/* Opens it: an open of the file at *PLACE is the caller's. -ENXIO: the caller has no terminal; what pty_create says. */
int64_t job_open(uint64_t number, uint32_t flags, struct file_place *place);
/* The terminal at PLACE was opened with FLAGS and is of SESSION: if of none, the leader of a session that has no
 * terminal gets it, unless O_NOCTTY. */
void job_opened(const struct file_place *place, uint32_t session, uint32_t flags);
/* The current process, which leads SESSION, has ended: its terminal hears of it. Waits for kernel 0. */
void job_session_ended(uint32_t session);
/* As tty_of_session, from any kernel. Waits for kernel 0. */
int64_t job_terminal(uint32_t session);

#endif
