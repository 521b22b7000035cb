/* Files without a name: eventfd, timerfd, signalfd, epoll, pipes, sockets and others. They are made at the home of the
 * calling process, except for pidfds, which are made at the home of their process, and for sockets that can have names,
 * inotify instances and terminals, which are made on kernel 0. The room that implements a kind of file registers its
 * maker. */
#ifndef KERNEL_FILE_ANONYMOUS_H
#define KERNEL_FILE_ANONYMOUS_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/file/table.h"
#include "kernel/file/wire.h"

#define ANONYMOUS_DEVICE 4u /* st_dev */

enum anonymous {
    ANONYMOUS_EVENT = 1,   /* data: struct event_start */
    ANONYMOUS_TIMER,       /* data: uint32_t, its clock: CLOCK_* */
    ANONYMOUS_SIGNAL,      /* data: uint64_t set */
    ANONYMOUS_EPOLL,       /* no data */
    ANONYMOUS_SOCKET,      /* data: uint32_t type */
    ANONYMOUS_PROCESS,     /* data: uint32_t process; made at that process's home */
    ANONYMOUS_SOCKET_PAIR, /* data: struct socket_pair_start */
    ANONYMOUS_WATCH,       /* an inotify instance; no data; kernel 0 */
    ANONYMOUS_PTY,         /* a pseudoterminal's master; data: uint32_t flags of open, user; kernel 0 */
    ANONYMOUS_TERMINAL,    /* a session's terminal; data: uint32_t flags of open, session; kernel 0 */
    ANONYMOUS_PIPE,        /* data: uint32_t user; both ends of a pipe */
    ANONYMOUS_COUNT
};

/* The operations of FILE_OPERATE. */
enum file_special {
    SPECIAL_TIMER_SET = 1,  /* argument: TFD_* flags, data: struct timer_setting; result data: the previous one */
    SPECIAL_TIMER_GET,      /* result data: struct timer_setting */
    SPECIAL_SIGNAL_SET,     /* data: uint64_t set */
    SPECIAL_WATCHABLE,      /* -EPERM: it is always ready, and epoll refuses it; 1: it is a set */
    SPECIAL_EPOLL_CTL,      /* data: struct epoll_change */
    SPECIAL_EPOLL_WAIT,     /* data: struct epoll_look; result data: struct epoll_found, then events */
    SPECIAL_PROCESS,        /* result data: struct pidfd_facts */
    SPECIAL_PROCESS_SIGNAL, /* data: struct signal_info */
    SPECIAL_PROCESS_FILE,   /* data: struct pidfd_asker; result data: struct file_place. -EPERM; -EBADF; -ENXIO */
    SPECIAL_SOCKET,         /* data: struct socket_call and more; result data: struct socket_result and more */
    SPECIAL_WATCH,          /* data: struct watch_change; result data: int32_t, the watch, if one was made or changed */
    SPECIAL_QUEUE,          /* data: struct mqueue_call and more; result data: kernel/ipc/mqueue/mqueue.h */
    SPECIAL_PIPE_TAKE,      /* argument: bytes; result data: the pipe's next bytes, which are held (splice.md) */
    SPECIAL_PIPE_TAKEN,     /* argument: how many of them have been moved; the hold ends */
    SPECIAL_PIPE_LOOK,      /* argument: bytes; result data: the pipe's next bytes */
    SPECIAL_PIPE_ROOM,      /* argument: bytes; result data: uint64_t, for how many of them room is reserved and held */
    SPECIAL_PIPE_PUT,       /* data: bytes for the reserved room; the hold ends */
    SPECIAL_PIPE_FIT, /* argument: bytes that a read asks for, with less room; result data: the whole parts that fit
                         (kernel/calls/files/partly.h). -EFAULT: the first part does not fit */
    SPECIAL_INFO, /* data: uint32_t, how many lines to skip; result data: the next whole lines, as many as fit, of what
                     /proc/PID/fdinfo tells of this kind of file */
    SPECIAL_NEW_PAGES /* of a regular file; data: struct file_new_pages (wire.h). -ENOSPC */
};

void anonymous_init(void);
/* MAKE makes files of kind WHAT. FLAGS are OPEN_NONBLOCK, and for a pipe also OPEN_DIRECT; SIZE bytes at DATA are as
 * listed above, else it returns -EPROTO. MADE gets one file or two. Returns 0 or a negative errno. Each kind is
 * registered once on every kernel. */
void anonymous_register(enum anonymous what,
                        int (*make)(uint32_t flags, const void *data, size_t size, struct file *made[2]));
/* FILE_NEW for TABLE. */
int64_t anonymous_add(struct file_table *table, enum anonymous what, uint32_t flags, const void *data, size_t size,
                      void *result, size_t room);
/* Makes a file of kind WHAT on KERNEL, which may be any; *PLACE gets its place, and the caller owns one open of it.
 * Tasks only; waits. -ENOMEM. */
int64_t anonymous_make_at(uint32_t kernel, enum anonymous what, uint32_t flags, const void *data, uint32_t size,
                          struct file_place *place);
/* FILE_OPERATE on FILE. -EINVAL, or -ENOTSOCK: it is of another kind. */
int64_t anonymous_operate(struct file *file, const struct file_request *request, const void *data, size_t size,
                          void *result, size_t room, struct file_answer *answer);
/* SPECIAL_INFO, with SIZE bytes at DATA, for a kind that has only the lines of TEXT. */
int64_t anonymous_info(const void *data, size_t size, const char *text, void *result, size_t room);

#endif
