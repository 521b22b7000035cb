/* write(2) to a socket whose receiver wants to know who sends (SO_PASSCRED). A write does not say that, so the socket
 * answers -FILE_WHO, and what was to be written is sent as a message with the credentials of the caller. */
#ifndef KERNEL_IPC_SOCKET_WRITE_H
#define KERNEL_IPC_SOCKET_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/file/wire.h"

struct group;

/* SIZE bytes of DATA to descriptor FD of GROUP, the current thread's. Returns how many, and ANSWER is, as file_call. */
int64_t socket_write_as(struct group *group, int32_t fd, const void *data, size_t size, struct file_answer *answer);

#endif
