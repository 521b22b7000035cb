/* Definitions shared by the socket files. One lock protects all sockets of a kernel. */
#ifndef KERNEL_IPC_SOCKET_INTERNAL_H
#define KERNEL_IPC_SOCKET_INTERNAL_H

#include "kernel/ipc/socket/socket.h"

enum socket_state { SOCKET_NEW, SOCKET_LISTENING, SOCKET_CONNECTED };

/* Marks: [i] set once, [l] under socket_lock, which is before the locks of nodes (name.c). */
struct socket {
    struct file *file;        /* [i] */
    uint32_t type;            /* [i] */
    enum socket_state state;  /* [l] */
    struct socket *peer;      /* [l] the socket to which it sends, or NULL */
    struct list peer_node;    /* [l] among the peer's senders */
    struct list senders;      /* [l] sockets whose peer this is */
    uint32_t sender_count;    /* [l] how many */
    uint32_t owed;            /* [l] how many of them, from the front, are to be told something by a sweep: that there
                               * is room, or, when this is closed, that it is */
    struct list owing_node;   /* [l] among the sockets that owe, with a pin of its file */
    bool lost;                /* [l] the peer has been closed */
    bool closed;              /* [l] it has been closed; its memory is freed after the operations under way */
    bool no_read, no_write;   /* [l] shut down */
    bool accepted;            /* [l] accepted, or never in a backlog */
    bool notifying;           /* [l] in a list for socket_notify */
    bool credentials;         /* [l] SO_PASSCRED */
    int32_t error;            /* [l] positive: SO_ERROR */
    struct list notified;     /* [l] */
    struct list queue;        /* [l] struct packet: received packets */
    uint32_t queued, packets; /* [l] bytes and packets there */
    struct list drafts;       /* [l] struct packet: messages that are sent or received piece by piece */
    struct list backlog;      /* [l] of a listener: connected sockets that are not accepted yet */
    struct list backlog_node; /* [l] */
    uint32_t waiting;         /* [l] how many are in the backlog, or, when it has been closed, are to be closed */
    uint32_t backlog_most;    /* [l] */
    struct socket_user user,
        peer_user;                 /* [l] the process that made it listen or connect, and the peer's; pid 0: none */
    struct socket_user writer;     /* [l] the real ids of USER: the sender of writes without credentials */
    uint32_t send_room;            /* [l] limit of bytes sent and not yet received */
    uint32_t receive_room;         /* [l] reported, without effect */
    uint32_t plain;                /* [l] options that are stored without effect, a bit each */
    uint64_t timeouts[2];          /* [l] ns: of receiving, of sending; 0: none */
    struct list name_node;         /* [l] among the names */
    uint32_t name_size;            /* [l] 0: no name */
    uint8_t name[SOCKET_NAME_MAX]; /* [l] */
    struct node *node;             /* [l] of a name in the tree, with a reference; else NULL */
    uint32_t flying;               /* [l] opens of its file that packets of this kernel have */
    struct list flying_node;       /* [l] among the sockets with some */
    uint32_t inner;                /* [l] how many of them packets of suspects have: see collect.c */
    bool suspect;                  /* [l] see collect.c */
    bool condemned;                /* [l] see collect.c */
    struct list held_node;         /* [l] see collect.c */
    struct list carriers;          /* [l] packets that hold sockets, in its queue and those of its backlog: also when
                                    * it is closed, until what is in the backlog is */
    struct socket *listener;       /* [l] in whose backlog it is; NULL: in none */
};

struct packet {
    struct list node;
    uint32_t size, room;      /* bytes of data, and the allocated room */
    uint32_t taken;           /* bytes that have been received, from the front */
    uint32_t files;           /* files that it still has */
    bool given;               /* its files have been given to a receiver, as far as that had room */
    uint32_t files_room;      /* files for which it has room */
    uint64_t draft;           /* its number among the drafts */
    struct list carrier_node; /* in the holder's carriers, or of a search (collect.c) */
    struct socket *holder;    /* NULL: in no queue, or without sockets of this kernel */
    bool counted;             /* its files count in QUOTA_FLYING of USER; its memory always counts */
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
/* The peer of SOCKET; NULL: none, or it has been closed, which SOCKET, and who waits for it, learns now if no sweep has
 * told it yet. */
struct socket *socket_peer_locked(struct socket *socket, struct list *notified);
/* Tells SOCKET's senders that there is room, or, if it is closed, that they have no peer any more. If they are many,
 * socket_sweep does so. */
void socket_tell_senders_locked(struct socket *socket, struct list *notified);
/* The socket operations of these names; the errors are those of the system calls. */
int64_t socket_bind_locked(struct socket *socket, const struct socket_call *call);
int64_t socket_listen_locked(struct socket *socket, const struct socket_call *call, struct list *notified);
int64_t socket_connect_datagram_locked(struct socket *socket, const struct socket_call *call, struct list *notified);
/* END is a new socket of this kernel for the listener's side; *USED says whether it is needed. */
int64_t socket_connect_locked(struct socket *socket, const struct socket_call *call, struct socket *end, bool *used,
                              struct file_answer *answer, struct list *notified);
int64_t socket_accept_locked(struct socket *socket, const struct socket_call *call, struct file_place *place,
                             struct socket_result *result, struct list *notified);
int64_t socket_shutdown_locked(struct socket *socket, const struct socket_call *call, struct list *notified);
void socket_give_name(const struct socket *socket, struct socket_result *result);
/* A caller that gets -EAGAIN is to wait for the events of SOCKET instead of those of its own socket. */
void socket_wait_for_locked(struct socket *socket, struct file_answer *answer);

/* Adds SOCKET to TOLD, the sockets whose files get an event from socket_notify once the lock is free. */
void socket_note_locked(struct socket *socket, struct list *notified);
void socket_notify(struct list *notified);
/* Sends CALL's files and DATA from SOCKET to its peer, or to the socket with CALL's name. Returns how many bytes were
 * sent, or an error; with -EAGAIN, *FULL is the socket whose queue has no room. *DRAFT: of a message of several calls,
 * the draft to which the bytes have been added; 0: it has been sent. An error leaves a draft as it was. */
int64_t socket_send_locked(struct socket *socket, const struct socket_call *call, const struct file_place *places,
                           const uint8_t *data, uint32_t size, struct socket **full, uint64_t *draft,
                           struct list *notified);
/* A packet from FROM without bytes, with room for SIZE of them and for FILES files, which counts for USER. NULL, and
 * *ERROR: -ENOBUFS, -ETOOMANYREFS, -ENOMEM. */
struct packet *packet_make(const struct socket *from, const struct socket_user *user, uint32_t files, uint32_t size,
                           int *error);
static inline uint8_t *packet_data(struct packet *packet)
{
    return (uint8_t *)&packet->file[packet->files_room];
}
/* Takes over the opens of the COUNT files at PLACES. 0; -EBADF, -ENOMEM: the sender still owns them. */
int packet_take_files(struct packet *packet, const struct file_place *places, uint32_t count);
/* A packet for CALL with the files at PLACES, without bytes. NULL, and *ERROR: of the two above. */
struct packet *packet_make_whole(const struct socket *from, const struct socket_call *call,
                                 const struct file_place *places, uint32_t size, int *error);
/* Appends PACKET, with what it has, to the queue of TO. */
void packet_add_locked(struct socket *to, struct packet *packet);
/* PACKET, which is in no queue, is closed and freed by socket_sweep. */
void packet_throw_locked(struct packet *packet);

/* Messages of several requests (draft.c). draft_send_locked adds the SIZE bytes of CALL to its draft; TARGET's queue
 * has room for the whole message, and gets it with the last of them. *DRAFT: the draft's number, 0: it has been sent.
 * Returns SIZE; -EPROTO: there is no such draft, or the bytes are not its next; errors as packet_make and
 * packet_take_files. An error leaves the draft as it was. */
int64_t draft_send_locked(struct socket *socket, const struct socket_call *call, const struct file_place *places,
                          const uint8_t *data, uint32_t size, struct socket *target, uint64_t *draft);
/* Bytes of PACKET are left that its receiver wants: it, or (COPY: it is only looked at) a copy, becomes a draft. 0;
 * errors of a copy as packet_make. */
int64_t draft_keep_locked(struct socket *socket, struct packet *packet, bool copy, struct socket_result *result);
/* Reads SIZE bytes of CALL's draft from CALL's `at` on to DATA. The draft is freed with the last byte that the program
 * wants. Returns SIZE; -EPROTO: there is no such draft, or it is shorter. */
int64_t draft_receive_locked(struct socket *socket, const struct socket_call *call, uint8_t *data, uint32_t size);
/* Frees the draft NUMBER, if there is one, or all. */
void draft_drop_locked(struct socket *socket, uint64_t number);
void draft_drop_all_locked(struct socket *socket);
/* True if SOCKET can send to TARGET without waiting. */
bool socket_writable_locked(const struct socket *socket, const struct socket *target);
/* Of ASKED bytes to be received, with room for SIZE only: how many there are in whole packets that fit. -EFAULT: the
 * first packet does not fit; unless it is of a stream or FLAGS have MESSAGE_PEEK it is lost, and waiting senders are
 * woken. */
int64_t socket_fit_locked(struct socket *socket, uint32_t flags, uint32_t asked, uint32_t size, struct list *notified);
/* Receives at most SIZE bytes to DATA and FILES files to PLACES. FROM: from a stream, only bytes of that sender; NULL:
 * of any. WHOLE: so many bytes of one message are wanted, more than SIZE, of which what follows becomes a draft; else
 * 0. The other results are in RESULT. */
int64_t socket_receive_locked(struct socket *socket, uint32_t flags, const struct socket_user *from, uint8_t *data,
                              uint32_t size, uint32_t whole, struct file_place *places, uint32_t files,
                              struct socket_result *result, struct list *notified);
/* Writes OPTION to DATA and returns its size. -ENOPROTOOPT. */
int64_t socket_get_option_locked(struct socket *socket, uint32_t option, uint8_t *data, uint32_t room);
/* -EINVAL: too few bytes; -EDOM, -ENOPROTOOPT. */
int64_t socket_set_option_locked(struct socket *socket, uint32_t option, const uint8_t *data, uint32_t size,
                                 struct list *notified);
/* The result of FIONREAD. */
uint32_t socket_readable_locked(const struct socket *socket);
/* Schedules all packets of SOCKET's queue for removal by socket_sweep, which is called without the lock. */
void socket_drop_queue_locked(struct socket *socket);
/* A packet takes over an open of FILE, a file of this kernel; or gives it up. */
void socket_takes_off_locked(const struct file *file);
void socket_lands_locked(const struct file *file);
/* Only packets that nobody can receive have SOCKET: whoever still operates on it, or is about to send it, gets -EBADF.
 */
bool socket_is_condemned_locked(const struct socket *socket);
/* Whether FILE is such a socket. */
bool socket_is_condemned_file_locked(const struct file *file);
/* PACKET has been added to the queue of SOCKET; or is no more in a queue. */
void socket_carries_locked(struct socket *socket, struct packet *packet);
void socket_unloads_locked(struct packet *packet);
/* SOCKET has been taken out of a backlog. */
void socket_accepted_locked(struct socket *socket);
/* Closes the sockets that only packets of such sockets hold; if many are in packets, a worker does so later. Called
 * when an open of a socket has been dropped and others are left. Any context without socket_lock. */
void socket_collect(void);
/* What is in the backlog of SOCKET, which has been closed, is closed by socket_sweep. */
void socket_refuse_locked(struct socket *socket);
/* Closes what has been thrown away or refused, and tells senders what they are owed; a worker does the rest of much.
 * Any context without socket_lock. */
void socket_sweep(void);
/* While all kernels are quiesced: proxies in SOCKET's queue for files of FROM refer to those of TO from now on. */
void socket_switch_queue(struct socket *socket, uint32_t from, uint32_t to);
void socket_queue_files_each(struct socket *socket, void (*each)(struct file *file, void *context), void *context);

/* Names, under the lock. An abstract name belongs to one socket of a type; a name in the tree leads to a node, whose
 * number NODE identifies the socket. -ECONNREFUSED: no socket has the name; -EPROTOTYPE: a socket of another type has
 * it. */
int socket_name_find(uint32_t type, const uint8_t *name, uint32_t size, uint64_t node, struct socket **out);
/* Gives SOCKET the name, or with SIZE 0 an unused one. -EADDRINUSE; -ENOENT: the node has just been removed. */
int socket_name_bind(struct socket *socket, const uint8_t *name, uint32_t size, uint64_t node);

#endif
