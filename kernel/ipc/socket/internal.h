/* What the files of sockets share. All sockets of a kernel are under one lock. */
#ifndef KERNEL_IPC_SOCKET_INTERNAL_H
#define KERNEL_IPC_SOCKET_INTERNAL_H

#include "kernel/ipc/socket/socket.h"

enum socket_state { SOCKET_NEW, SOCKET_LISTENING, SOCKET_CONNECTED };

/* Marks: [i] set once, [l] under socket_lock, which is before the locks of nodes (name.c). */
struct socket {
    struct file *file;                  /* [i] */
    uint32_t type;                      /* [i] */
    enum socket_state state;            /* [l] */
    struct socket *peer;                /* [l] where it sends to; NULL: nowhere */
    struct list peer_node;              /* [l] among the peer's senders */
    struct list senders;                /* [l] whose peer this is */
    bool lost;                          /* [l] the peer has been closed */
    bool closed;                        /* [l] it has been itself: its memory goes with what is under way */
    bool no_read, no_write;             /* [l] shut down */
    bool accepted;                      /* [l] or never in a backlog */
    bool telling;                       /* [l] in a list of those to be told */
    bool credentials;                   /* [l] SO_PASSCRED */
    int32_t error;                      /* [l] positive: SO_ERROR */
    struct list told;                   /* [l] */
    struct list queue;                  /* [l] struct packet: what can be received */
    uint32_t queued, packets;           /* [l] bytes and packets there */
    struct list backlog;                /* [l] of a listener: connected sockets that wait */
    struct list backlog_node;           /* [l] */
    uint32_t waiting;                   /* [l] in the backlog */
    uint32_t backlog_most;              /* [l] */
    struct socket_user user, peer_user; /* [l] who has made it listen or connect, and that of the peer; pid 0: none */
    struct socket_user writer;          /* [l] the real ids of USER, whose a write without more is said to be */
    uint32_t send_room;                 /* [l] bytes on their way at most */
    uint32_t receive_room;              /* [l] only told */
    uint32_t plain;                     /* [l] options that are only kept, by their bit */
    uint64_t timeouts[2];               /* [l] ns: of receiving, of sending; 0: none */
    struct list name_node;              /* [l] among the names */
    uint32_t name_size;                 /* [l] 0: no name */
    uint8_t name[SOCKET_NAME_MAX];      /* [l] */
    struct node *node;                  /* [l] of a name in the tree, with a reference; else NULL */
};

struct packet {
    struct list node;
    uint32_t size, room; /* bytes of data, and that there is room for */
    uint32_t taken;      /* of them, from the front */
    uint32_t files;      /* that it has */
    bool given;          /* as many of them as the receiver had room for */
    uint32_t files_room; /* that there is room for */
    struct socket_user user;
    uint32_t name_size;
    uint8_t name[SOCKET_NAME_MAX];
    struct file *file[]; /* data behind */
};

extern struct spinlock socket_lock;
extern const struct file_kind socket_kind;

/* TYPE: SOCKET_*. A file that is open once; NULL without memory. */
struct socket *socket_make(uint32_t type, uint32_t flags);
void socket_set_peer_locked(struct socket *socket, struct socket *peer);
/* The operations that they are called; the errors are those of the calls. */
int64_t socket_bind_locked(struct socket *socket, const struct socket_call *call);
int64_t socket_listen_locked(struct socket *socket, const struct socket_call *call, struct list *told);
int64_t socket_connect_datagram_locked(struct socket *socket, const struct socket_call *call, struct list *told);
/* END is a new socket of this kernel for the listener's side; *USED says whether it is needed. */
int64_t socket_connect_locked(struct socket *socket, const struct socket_call *call, struct socket *end, bool *used,
                              struct file_answer *answer, struct list *told);
int64_t socket_accept_locked(struct socket *socket, const struct socket_call *call, struct file_place *place,
                             struct socket_result *result, struct list *told);
int64_t socket_shutdown_locked(struct socket *socket, const struct socket_call *call, struct list *told);
void socket_give_name(const struct socket *socket, struct socket_result *result);
/* Who is told -EAGAIN is to wait for the events of SOCKET, in place of its own. */
void socket_wait_for_locked(struct socket *socket, struct file_answer *answer);

/* Whose files are to have an event, once the lock is free. */
void socket_note_locked(struct socket *socket, struct list *told);
void socket_notify(struct list *told);
/* CALL's files and DATA from SOCKET to its peer, or the one with a name. Returns how many bytes went, or an error; with
 * -EAGAIN *FULL is whose queue has no room. */
int64_t socket_send_locked(struct socket *socket, const struct socket_call *call, const struct file_place *places,
                           const uint8_t *data, uint32_t size, struct socket **full, struct list *told);
/* Nobody has to wait to send to TARGET from SOCKET. */
bool socket_writable_locked(const struct socket *socket, const struct socket *target);
/* Of ASKED bytes to be received, with room for SIZE only: how many there are in packets that fit as a whole. -EFAULT:
 * the first does not; unless it is of a stream or FLAGS have MESSAGE_PEEK it is lost, and its senders go on. */
int64_t socket_fit_locked(struct socket *socket, uint32_t flags, uint32_t asked, uint32_t size, struct list *told);
/* Receives at most SIZE bytes to DATA and FILES files to PLACES. FROM: of a stream only what that one has sent, NULL:
 * anybody. RESULT is told the rest. */
int64_t socket_receive_locked(struct socket *socket, uint32_t flags, const struct socket_user *from, uint8_t *data,
                              uint32_t size, struct file_place *places, uint32_t files, struct socket_result *result,
                              struct list *told);
/* Writes OPTION to DATA and returns its size. -ENOPROTOOPT. */
int64_t socket_get_option_locked(struct socket *socket, uint32_t option, uint8_t *data, uint32_t room);
/* -EINVAL: too few bytes; -EDOM, -ENOPROTOOPT. */
int64_t socket_set_option_locked(struct socket *socket, uint32_t option, const uint8_t *data, uint32_t size,
                                 struct list *told);
/* What FIONREAD says. */
uint32_t socket_readable_locked(const struct socket *socket);
/* All of SOCKET's queue is to go; done by socket_sweep without the lock. */
void socket_drop_queue_locked(struct socket *socket);
void socket_sweep(void);
/* All are quiesced: proxies in SOCKET's queue for files of FROM stand for those of TO. */
void socket_switch_queue(struct socket *socket, uint32_t from, uint32_t to);

/* Names, under the lock. An abstract one is of a socket of one type; one in the tree is a node's, NODE is its number,
 * and an endpoint is found by that. -ECONNREFUSED: nobody has it; -EPROTOTYPE: a socket of another type. */
int socket_name_find(uint32_t type, const uint8_t *name, uint32_t size, uint64_t node, struct socket **out);
/* SOCKET gets the name, or with SIZE 0 one that nobody has. -EADDRINUSE; -ENOENT: the node has just gone. */
int socket_name_bind(struct socket *socket, const uint8_t *name, uint32_t size, uint64_t node);

#endif
