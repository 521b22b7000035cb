/* Counters of threads: bytes through descriptors, faults, switches. A thread counts in its structure on the kernel
 * where it runs, so counting is one addition and a move carries no counters. The counters of a process are the sum over
 * the replicas of its threads on all kernels and over freed threads (group->gone). tasks/account/account.md. */
#ifndef TASKS_THREAD_ACCOUNT_H
#define TASKS_THREAD_ACCOUNT_H

#include <stdint.h>

struct account_io {
    uint64_t read_bytes, write_bytes; /* moved by read(2), write(2) and similar calls */
    uint64_t reads, writes;           /* number of these calls */
};

struct account_use {
    uint64_t minor_faults; /* resolved by this kernel alone */
    uint64_t major_faults; /* another kernel was asked, or the page's lock was taken */
    uint64_t waits;        /* switches because the thread waited */
    uint64_t preemptions;  /* switches although the thread could have continued */
};

struct account {
    struct account_io io;
    struct account_use use;
};

/* The counters that fit into one result of a message: what a process has used, and the most pages it had. */
struct account_used {
    struct account_use use;
    uint64_t peak;
};

static inline void account_io_add(struct account_io *to, const struct account_io *more)
{
    to->read_bytes += more->read_bytes;
    to->write_bytes += more->write_bytes;
    to->reads += more->reads;
    to->writes += more->writes;
}

static inline void account_use_add(struct account_use *to, const struct account_use *more)
{
    to->minor_faults += more->minor_faults;
    to->major_faults += more->major_faults;
    to->waits += more->waits;
    to->preemptions += more->preemptions;
}

static inline void account_add(struct account *to, const struct account *more)
{
    account_io_add(&to->io, &more->io);
    account_use_add(&to->use, &more->use);
}

/* Adds the use of another process to TO. The peak is the larger of the two. */
static inline void account_used_add(struct account_used *to, const struct account_used *more)
{
    account_use_add(&to->use, &more->use);
    if (more->peak > to->peak)
        to->peak = more->peak;
}

#endif
