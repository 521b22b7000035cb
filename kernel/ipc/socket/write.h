/* write(2) to a socket whose receiver wants the sender's credentials (SO_PASSCRED). A write request does not carry
 * them, so the socket answers -FILE_WHO, and the data is sent again as a message with the caller's credentials. */
#ifndef KERNEL_IPC_SOCKET_WRITE_H
#define KERNEL_IPC_SOCKET_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/file/wire.h"

struct group;

/* Sends SIZE bytes of DATA to descriptor FD of GROUP, the current thread's. The result and ANSWER are those of
 * file_call. */
int64_t socket_write_as(struct group *group, int32_t fd, const void *data, size_t size, struct file_answer *answer);

#endif
