/* Sockets of AF_UNIX. A socket that can have a name, or can connect to a named socket, is on kernel 0, where the names
 * are; the two sockets of a pair are at the home of the process that creates them. So both ends of a connection, and
 * the packets between them, are always on one kernel, and no operation on them waits for another.
 * kernel/ipc/socket/sockets.md has the states. */
#ifndef KERNEL_IPC_SOCKET_SOCKET_H
#define KERNEL_IPC_SOCKET_SOCKET_H

#include <stdint.h>

#include "kernel/file/file.h"
#include "kernel/file/wire.h"

#define SOCKET_STREAM 1u
#define SOCKET_DATAGRAM 2u
#define SOCKET_PACKET 5u /* SOCK_SEQPACKET */

#define SOCKET_NAME_MAX 108u /* bytes of sun_path */
#define SOCKET_FILES_MAX 253u
#define SOCKET_BUFFER 212992u /* bytes sent and not yet received, as Linux has it */

#define MESSAGE_PEEK 0x2u
#define MESSAGE_CONTROL_CUT 0x8u
#define MESSAGE_CUT 0x20u    /* MSG_TRUNC */
#define MESSAGE_FIT 0x40000u /* Kettle's, of a call: the program asks for ASKED bytes and has room for A */
#define MESSAGE_CREDENTIALS                                                                                            \
    0x10000u /* of a result: the receiver wants the credentials; of SOCKET_SEND: USER is what the sender claims; of    \
                SOCKET_RECEIVE from a stream: only bytes that USER has sent; if others come first, 0 bytes */
#define MESSAGE_PART 0x80000u  /* Kettle's, of SOCKET_SEND: more data follows; only streams accept it */
#define MESSAGE_TOOK 0x100000u /* Kettle's, of the result of SOCKET_SEND: a message was made */
#define MESSAGE_NAMED 0x20000u /* of a result: NAME_SIZE is the size of the sender's name, perhaps 0 */

#define SOCKET_NAMES_KERNEL 0u

enum socket_operation {
    SOCKET_BIND = 1, /* name; without one the kernel chooses one */
    SOCKET_LISTEN,   /* a: backlog */
    SOCKET_CONNECT,  /* name; without one a datagram socket is disconnected */
    SOCKET_ACCEPT,   /* flags: of open; result: one file, and the peer's name */
    SOCKET_SHUTDOWN, /* a: 0 reading, 1 writing, 2 both */
    SOCKET_SEND,    /* name or none, files, data; result: `length`; with MESSAGE_TOOK the message has taken over an open
                       of each file */
    SOCKET_RECEIVE, /* flags: MESSAGE_PEEK, MESSAGE_CUT, MESSAGE_FIT; a: bytes, b: files at most; result: data,
                       `length`, name, files. -EFAULT: MESSAGE_FIT, and the first packet does not fit; a datagram is
                       lost */
    SOCKET_NAME,    /* result: name */
    SOCKET_PEER,    /* result: name of the peer */
    SOCKET_GET_OPTION, /* a: SO_*; result: data */
    SOCKET_SET_OPTION, /* a: SO_*; data */
    SOCKET_DROP        /* draft: it is not sent, or not received further */
};

struct socket_user {
    uint32_t pid, uid, gid;
};

struct socket_pair_start {
    uint32_t type;
    struct socket_user user; /* effective ids */
};

struct socket_call {    /* SPECIAL_SOCKET; name, places of files and data follow */
    uint32_t operation; /* enum socket_operation */
    uint32_t flags;
    uint32_t a, b;
    struct socket_user user;   /* the caller's process and its real ids; with MESSAGE_CREDENTIALS what it claims */
    struct socket_user acting; /* the caller's process and its effective ids */
    uint32_t name_size;
    uint32_t files;
    uint32_t named; /* there is a name, perhaps of 0 bytes */
    uint32_t asked; /* bytes; of MESSAGE_FIT */
    uint64_t node;  /* of a name in the tree: the number of its node (kernel/fs/node/node.h) */
    uint8_t name[SOCKET_NAME_MAX + 4];
    /* Of SOCKET_SEND and SOCKET_RECEIVE for a message of more than one request, which is no stream's: its bytes in all,
     * or as many of them as the program wants; else 0. The requests after the first say which draft it is, and where in
     * the message their bytes begin. Of SOCKET_SEND, the last has the files, and the first in B how many there are. */
    uint32_t whole, at;
    uint64_t draft;
};

struct socket_result {       /* places of files and data follow */
    uint32_t flags;          /* MESSAGE_* */
    uint32_t length;         /* bytes sent, or of the whole message */
    struct socket_user user; /* the sender */
    uint32_t name_size;
    uint32_t files;
    uint32_t size;  /* of the data */
    uint64_t draft; /* not 0: the message that has begun, of which more is to be sent or can be received */
    uint8_t name[SOCKET_NAME_MAX + 4];
};

/* While all kernels are quiesced: calls EACH, which does not wait, for each file that a socket here has open: in each
 * packet, as often as it is there, and each connection that is not accepted yet. */
void socket_files_each(void (*each)(struct file *file, void *context), void *context);
/* While all kernels are quiesced: files of kernel FROM, which stops, are at TO from now on, also those in packets. */
void socket_switch(uint32_t from, uint32_t to);
/* Registers the constructors of sockets: ANONYMOUS_SOCKET, ANONYMOUS_SOCKET_PAIR. Once. */
void socket_init(void);

#endif
