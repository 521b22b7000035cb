/* Sets of files to wait for: epoll(7). A set is a file on the home of the process that made it. Each file of that
 * kernel has a hook, which puts it into the set's ready list. The waiting thread asks the other kernels about their
 * files, with one message to each, which arms them if none is ready. kernel/file/event/epoll.md has the protocol. */
#ifndef KERNEL_FILE_EVENT_EPOLL_H
#define KERNEL_FILE_EVENT_EPOLL_H

#include <stdint.h>

#include "kernel/file/file.h"
#include "kernel/file/wire.h"

#define EPOLL_ADD 1u
#define EPOLL_DELETE 2u
#define EPOLL_MODIFY 3u
#define EPOLL_EXCLUSIVE (1u << 28)
#define EPOLL_WAKEUP (1u << 29)
#define EPOLL_ONE_SHOT (1u << 30)
#define EPOLL_EDGE (1u << 31)
#define EPOLL_MAX 1024u /* events that one wait returns at most */

struct epoll_change { /* SPECIAL_EPOLL_CTL */
    uint64_t data;
    struct file_place place; /* of the file behind FD */
    uint32_t operation;      /* EPOLL_ADD ... */
    uint32_t events;
    int32_t fd;
    uint32_t user; /* the caller's, whose quota an addition counts in */
};

struct epoll_look {   /* SPECIAL_EPOLL_WAIT */
    uint64_t signals; /* pending for the caller */
    uint32_t max;     /* events, at most EPOLL_MAX */
    uint32_t peek;    /* 1: the events stay to be reported, as the caller cannot store them */
};

struct epoll_found {  /* struct epoll_event follow */
    uint64_t signals; /* the union of the sets of its signalfds */
    uint32_t count;
    uint32_t remote; /* 1: EPOLL_WAIT has to be used, as other kernels have to be asked first, or it takes long */
};

struct epoll_event { /* struct epoll_event of epoll(7) */
    uint32_t events;
    uint64_t data;
} __attribute__((packed));

struct msg_epoll_wait { /* EPOLL_WAIT, answered with struct epoll_found and events */
    uint64_t id;
    struct epoll_look look;
};

void epoll_init(void);
/* Updates all sets after the files of FROM, which stops, have moved to TO. Programs are quiesced. */
void epoll_switch(uint32_t from, uint32_t to);
/* SPECIAL_EPOLL_WAIT for the set at PLACE, asking other kernels as well; OUT has room for LOOK's events. Returns the
 * bytes at OUT. -ESRCH: it is closed. Tasks only; waits. */
int64_t epoll_wait_remote(const struct file_place *place, const struct epoll_look *look, struct epoll_found *out);

#endif
