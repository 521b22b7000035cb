/* Helpers shared by the system calls on sockets. */
#ifndef KERNEL_CALLS_IPC_SOCKET_H
#define KERNEL_CALLS_IPC_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/file/wire.h"
#include "kernel/ipc/socket/socket.h"

#define MESSAGE_DONT_WAIT 0x40u

/* Returns 0 if the current thread may send a message with the credentials SAID. -EINVAL: they are not valid ids;
 * -EPERM: it may not use them; -ESRCH: no process has that id. Waits for the home of another process. */
int64_t socket_sender(const struct socket_user *said);
/* Reads a struct sockaddr_un of SIZE bytes at user ADDRESS into CALL. -EINVAL, -EFAULT. */
int64_t socket_read_name(uint64_t address, uint32_t size, struct socket_call *call);
/* If CALL's name is a path: finds the socket's node in the tree, or creates it with MAKE, and sets socket_call.node.
 * Errors as open; -EADDRINUSE: MAKE, and the path exists; -ECONNREFUSED: the node is not a socket. */
int64_t socket_find_node(struct socket_call *call, bool make);
/* Writes RESULT's name to user ADDRESS, where there is room for *ROOM bytes; *ROOM becomes the size of the whole name.
 * -EFAULT. */
int64_t socket_write_name(uint64_t address, uint32_t *room, const struct socket_result *result);
/* Installs the files at PLACES as descriptors FDS of the current process with FLAGS (DESCRIPTOR_*). The caller loses
 * their opens even on failure. Returns COUNT, or the index of the first file that failed. */
uint32_t socket_install(const struct file_place *places, uint32_t count, uint32_t flags, int32_t *fds, int64_t *error);
/* Takes a new open of the file of each of COUNT descriptors FDS, to be sent. -EBADF: all of them have been dropped
 * again. */
int64_t socket_share(const int32_t *fds, uint32_t count, struct file_place *places);
void socket_drop(const struct file_place *places, uint32_t count);

#endif
