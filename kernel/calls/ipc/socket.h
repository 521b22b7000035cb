/* What the system calls on sockets share. */
#ifndef KERNEL_CALLS_IPC_SOCKET_H
#define KERNEL_CALLS_IPC_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/file/wire.h"
#include "kernel/ipc/socket/socket.h"

#define MESSAGE_DONT_WAIT 0x40u

/* 0 if the current thread may send a message as SAID. -EINVAL: no ids; -EPERM: not as that; -ESRCH: nobody has that
 * process id. Waits for the home of a process that is not its own. */
int64_t socket_sender(const struct socket_user *said);
/* Reads a struct sockaddr_un of SIZE bytes at user ADDRESS into CALL. -EINVAL, -EFAULT. */
int64_t socket_read_name(uint64_t address, uint32_t size, struct socket_call *call);
/* If CALL's name is one of the tree: finds the socket's node there, or with MAKE makes it, for socket_call.node. Errors
 * as open; -EADDRINUSE: MAKE, and there is something; -ECONNREFUSED: it is no socket. */
int64_t socket_find_node(struct socket_call *call, bool make);
/* Writes RESULT's name to user ADDRESS, where there is room for *ROOM bytes; *ROOM becomes what it takes. -EFAULT. */
int64_t socket_write_name(uint64_t address, uint32_t *room, const struct socket_result *result);
/* The files at PLACES become descriptors of the current process with FLAGS (DESCRIPTOR_*), FDS; their opens are gone
 * also when this fails, for the first time at the one whose number is returned; else COUNT. */
uint32_t socket_install(const struct file_place *places, uint32_t count, uint32_t flags, int32_t *fds, int64_t *error);
/* The opens that COUNT descriptors FDS are to send, each a new one. -EBADF: none is left. */
int64_t socket_share(const int32_t *fds, uint32_t count, struct file_place *places);
void socket_drop(const struct file_place *places, uint32_t count);

#endif
