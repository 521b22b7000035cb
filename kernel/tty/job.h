/* Job control at the caller: its identity as terminals need it, and the treatment of callers in the background.
 * Terminals are on kernel 0 (tty.h); the home of a process knows its process group and session. kernel/tty/terminal.md
 * has the states. */
#ifndef KERNEL_TTY_JOB_H
#define KERNEL_TTY_JOB_H

#include "kernel/file/wire.h"

/* The process group of the current process, to be sent with a request; TTY_ASK unless this kernel is its home. */
uint32_t job_group(void);
/* To be called when ANSWER to a request with process group *ASKED is -TTY_WHO. SIGNAL is SIGTTIN or SIGTTOU. Returns 0:
 * the caller retries with the new *ASKED; -EIO: the request fails; -ERESTARTSYS: SIGNAL was sent to the caller's
 * process group. Waits for the home, and for all kernels before it sends a signal. */
int64_t job_check(uint32_t *asked, const struct file_answer *answer, uint32_t signal);
/* The caller's identity, for commands about sessions. FOREGROUND: the process group whose processes are looked up on
 * all kernels, or 0. Waits for the home, and with FOREGROUND for all kernels. */
struct tty_identity;
void job_identity(struct tty_identity *who, uint32_t foreground);

/* True if device NUMBER is to be opened by job_open: /dev/tty, which names the terminal of the caller's session, or
 * /dev/ptmx, where each open makes a new pair that belongs to the caller. */
bool job_opens(uint64_t number);
/* Has kernel 0 open such a device. The caller owns an open of the file at *PLACE. -ENXIO: the caller has no terminal;
 * the errors of pty_create. */
int64_t job_open(uint64_t number, uint32_t flags, struct file_place *place);
/* The terminal at PLACE, the controlling terminal of SESSION (0: of none), was opened with FLAGS. If SESSION is 0,
 * FLAGS are without O_NOCTTY, and the caller leads a session without a terminal, it becomes the controlling terminal of
 * that session. */
void job_opened(const struct file_place *place, uint32_t session, uint32_t flags);
/* The current process, the leader of SESSION, has ended: notifies kernel 0. Waits for the reply. */
void job_session_ended(uint32_t session);
/* As tty_of_session, from any kernel. Waits for kernel 0. */
int64_t job_terminal(uint32_t session);

#endif
