/* An operation on a socket of the current process. */
#ifndef KERNEL_CALLS_COMMON_SOCKET_H
#define KERNEL_CALLS_COMMON_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/file/wire.h"
#include "kernel/ipc/socket/socket.h"

/* Sends CALL and the data that follows it, SIZE bytes together, to the socket FD; RESULT has ROOM bytes. Waits, for the
 * reason WHY, while the socket requires it, unless DONT_WAIT. CALL's users are set to the caller, except `user` with
 * MESSAGE_CREDENTIALS. Returns 0; -EAGAIN also when the socket's time limit has expired. *ANSWER is the last answer. */
int64_t socket_do(int64_t fd, struct socket_call *call, size_t size, struct socket_result *result, size_t room,
                  bool dont_wait, const char *why, struct file_answer *answer);

#endif
