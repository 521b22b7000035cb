/* Job control at the caller: its identity for a terminal, and the treatment of callers in the background. The terminals
 * are on kernel 0 (tty.h); a process's group and session are known at its home. kernel/tty/terminal.md has the
 * states. */
#ifndef KERNEL_TTY_JOB_H
#define KERNEL_TTY_JOB_H

#include "kernel/file/wire.h"

/* The current process's group as far as this kernel knows it, to be sent with a request. */
uint32_t job_group(void);
/* A request for process group *ASKED was answered -TTY_WHO by ANSWER. 0: the caller sends the request again with the
 * new *ASKED. -EIO; -ERESTARTSYS: the caller's process group was sent SIGNAL, SIGTTIN or SIGTTOU. Waits for the home,
 * and for all kernels before a signal. */
int64_t job_check(uint32_t *asked, const struct file_answer *answer, uint32_t signal);
/* The caller's identity, for commands about sessions; FOREGROUND: a process group to look for on all kernels, or 0. */
struct tty_identity;
void job_identity(struct tty_identity *who, uint32_t foreground);

/* True if what kernel 0 opens for the device NUMBER depends on the caller: /dev/tty, /dev/ptmx. */
bool job_opens(uint64_t number);
/* Opens such a device: the caller owns an open of the file at *PLACE. -ENXIO: the caller has no terminal; the errors of
 * pty_create. */
int64_t job_open(uint64_t number, uint32_t flags, struct file_place *place);
/* The terminal at PLACE, which belongs to SESSION, was opened with FLAGS. If it belongs to no session and the caller
 * leads a session without a terminal, it becomes the controlling terminal, unless O_NOCTTY. */
void job_opened(const struct file_place *place, uint32_t session, uint32_t flags);
/* The current process, which leads SESSION, has ended: notifies its terminal. Waits for kernel 0. */
void job_session_ended(uint32_t session);
/* As tty_of_session, from any kernel. Waits for kernel 0. */
int64_t job_terminal(uint32_t session);

#endif
