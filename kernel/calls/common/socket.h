/* An operation on a socket of the current process. */
#ifndef KERNEL_CALLS_COMMON_SOCKET_H
#define KERNEL_CALLS_COMMON_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/file/wire.h"
#include "kernel/ipc/socket/socket.h"

/* Sends CALL, with what follows it in SIZE bytes, for FD; RESULT has ROOM bytes. Waits, WHY, while the socket says so,
 * unless DONT_WAIT. CALL's users are the caller, but with MESSAGE_CREDENTIALS `user`. 0; -EAGAIN also when the socket's
 * time limit is over. *ANSWER is the last one. */
int64_t socket_do(int64_t fd, struct socket_call *call, size_t size, struct socket_result *result, size_t room,
                  bool dont_wait, const char *why, struct file_answer *answer);

#endif
