/* What the files of test-sockets share. */
#ifndef TESTS_GUEST_SOCKET_H
#define TESTS_GUEST_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

/* The two of a pair, while there is one. */
extern int socket_pair[2];
bool socket_make(int type);
void socket_unmake(void);

/* The abstract name TEXT; returns its length. */
socklen_t socket_name(const char *text, struct sockaddr_un *name);
/* A socket of TYPE with that name, which listens unless it is one for datagrams. */
int socket_serve(int type, const char *text);
/* Connects FD to who has that name; as connect. */
int socket_reach(int fd, const char *text);

/* Sends COUNT descriptors with one byte. */
ssize_t socket_send_files(int fd, const int *fds, size_t count);
/* Receives a byte and at most ROOM descriptors; returns how many came. */
int socket_receive_files(int fd, int *fds, size_t room, int *flags);

/* --- tests between kernels: socket_remote.c --- */

void socket_test_stream_remote(void);
void socket_test_connections(void);
void socket_test_full_box(void);
void socket_test_moved(void);
void socket_test_rights_remote(void);
void socket_test_said_remote(void);

/* --- who has sent what: socket_user.c --- */

void socket_test_written_remote(void);
void socket_test_written_much(void);
void socket_test_senders_apart(void);
void socket_test_broken_later(void);
void socket_test_broken_user(void);

/* --- sockets that only sockets under way hold: socket_circles.c --- */

void socket_test_circles(void);
void socket_test_crowds(void);

#endif
