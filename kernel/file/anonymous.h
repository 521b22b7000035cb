/* Files that no name leads to: eventfd, timerfd, signalfd, epoll, pipes, sockets. They are made at the home of the
 * process that asks, but sockets that can have names on kernel 0, where the names are. The room that can make a file
 * registers its maker. */
#ifndef KERNEL_FILE_ANONYMOUS_H
#define KERNEL_FILE_ANONYMOUS_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/file/table.h"
#include "kernel/file/wire.h"

#define ANONYMOUS_DEVICE 4u /* st_dev */

enum anonymous {
    ANONYMOUS_EVENT = 1,   /* data: struct event_start */
    ANONYMOUS_TIMER,       /* data: uint32_t, 1: its absolute times are since 1970 */
    ANONYMOUS_SIGNAL,      /* data: uint64_t set */
    ANONYMOUS_EPOLL,       /* no data */
    ANONYMOUS_SOCKET,      /* data: uint32_t type */
    ANONYMOUS_PROCESS,     /* data: uint32_t process, whose home the kernel is */
    ANONYMOUS_SOCKET_PAIR, /* data: struct socket_pair_start */
    ANONYMOUS_WATCH,       /* no data; kernel 0 */
    ANONYMOUS_PTY,         /* data: uint32_t flags of open, user; a master. Kernel 0 */
    ANONYMOUS_TERMINAL,    /* data: uint32_t flags of open, session: that one's terminal. Kernel 0 */
    ANONYMOUS_PIPE,        /* no data: both ends of a pipe */
    ANONYMOUS_COUNT
};

/* What FILE_OPERATE does. */
enum file_special {
    SPECIAL_TIMER_SET = 1,  /* argument: TFD_* flags, data: struct timer_setting; result data: that of before */
    SPECIAL_TIMER_GET,      /* result data: struct timer_setting */
    SPECIAL_SIGNAL_SET,     /* data: uint64_t set */
    SPECIAL_WATCHABLE,      /* -EPERM: it is always ready, and epoll refuses it */
    SPECIAL_EPOLL_CTL,      /* data: struct epoll_change */
    SPECIAL_EPOLL_WAIT,     /* data: struct epoll_look; result data: struct epoll_found, then events */
    SPECIAL_PROCESS,        /* result data: struct pidfd_facts */
    SPECIAL_PROCESS_SIGNAL, /* data: struct signal_info */
    SPECIAL_PROCESS_FILE,   /* data: struct pidfd_asker; result data: struct file_place. -EPERM; -EBADF; -ENXIO */
    SPECIAL_SOCKET,         /* data: struct socket_call and more; result data: struct socket_result and more */
    SPECIAL_WATCH,          /* data: struct watch_change; result data: int32_t, the watch, if one was made or changed */
    SPECIAL_QUEUE,          /* data: struct mqueue_call and more; result data: kernel/ipc/mqueue/mqueue.h */
    SPECIAL_PIPE_TAKE,  /* argument: bytes; result data: what is next in a pipe, and is held. kernel/ipc/pipe/splice.md
                         */
    SPECIAL_PIPE_TAKEN, /* argument: bytes of that; it is held no more */
    SPECIAL_PIPE_LOOK,  /* argument: bytes; result data: what is next in a pipe */
    SPECIAL_PIPE_ROOM,  /* argument: bytes; result data: uint64_t, room for how many of them is held */
    SPECIAL_PIPE_PUT,   /* data: bytes for that room; it is held no more */
    SPECIAL_PIPE_FIT    /* argument: bytes; result data: as a read of so many, of which there is too little room for
                           the last: whole parts that fit (kernel/calls/files/partly.h). -EFAULT: not the first */
};

void anonymous_init(void);
/* MAKE makes WHAT: FLAGS are OPEN_NONBLOCK, of a pipe OPEN_DIRECT too, SIZE bytes at DATA are as said above, or
 * -EPROTO. MADE gets one file or two. 0 or a negative errno. Once for each, on every kernel. */
void anonymous_register(enum anonymous what,
                        int (*make)(uint32_t flags, const void *data, size_t size, struct file *made[2]));
/* FILE_NEW for TABLE. */
int64_t anonymous_add(struct file_table *table, enum anonymous what, uint32_t flags, const void *data, size_t size,
                      void *result, size_t room);
/* Makes a file of WHAT on KERNEL, from any; an open of it at *PLACE is the caller's. Tasks only; waits. -ENOMEM. */
int64_t anonymous_make_at(uint32_t kernel, enum anonymous what, uint32_t flags, const void *data, uint32_t size,
                          struct file_place *place);
/* FILE_OPERATE on FILE. -EINVAL, or -ENOTSOCK: it is of another kind. */
int64_t anonymous_operate(struct file *file, const struct file_request *request, const void *data, size_t size,
                          void *result, size_t room, struct file_answer *answer);

#endif
