/* What the processes of each user have, on this kernel, of what is limited by user. */
#ifndef TASKS_QUOTA_QUOTA_H
#define TASKS_QUOTA_QUOTA_H

#include <stdint.h>

enum quota {
    QUOTA_TASKS,        /* threads that were made here: RLIMIT_NPROC */
    QUOTA_SIGNALS,      /* signals that are queued here, and timers, which have one each: RLIMIT_SIGPENDING */
    QUOTA_PIPE_PAGES,   /* capacity of pipes: pipe(7) */
    QUOTA_SOCKET_BYTES, /* memory of messages in sockets, by sender */
    QUOTA_FLYING,       /* descriptors under way in sockets, by sender: unix(7) */
    QUOTA_WATCHES,      /* descriptors in epoll sets: epoll(7) */
    QUOTA_QUEUE_BYTES,  /* capacity of POSIX message queues: RLIMIT_MSGQUEUE */
    QUOTA_FILE_BYTES,   /* memory of files' nodes, names, attributes and pseudo-terminals, by owner or maker */
    QUOTA_FILE_PAGES,   /* pages of files and of System V's segments, by owner */
    QUOTA_LOCKS,        /* locks of files and of their ranges: fcntl(2), flock(2) */
    QUOTA_IPC_BYTES,    /* memory of System V's objects, by creator, of messages, by sender, and of SEM_UNDO */
    QUOTAS
};

/* Adds COUNT to what user UID has of WHICH: 0. OVER, which is the caller's error, and nothing is added: the sum would
 * be over LIMIT. -ENOMEM, and nothing is added. Any context; never waits. */
int quota_take(enum quota which, uint32_t uid, uint64_t count, uint64_t limit, int over);
/* Takes COUNT, which quota_take has added, off again. */
void quota_give(enum quota which, uint32_t uid, uint64_t count);
/* What UID has of WHICH. */
uint64_t quota_used(enum quota which, uint32_t uid);

/* The limit of WHICH where none has been set: it depends on this kernel's memory. */
uint64_t quota_limit(enum quota which);
/* The capacity up to which a user's new pipes have the usual size, in pages: pipe-user-pages-soft. */
uint64_t quota_pipe_soft(void);

#endif
