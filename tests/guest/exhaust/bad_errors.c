/* Calls with one bad pointer, and what they say. See the header. */
#include "tests/guest/exhaust/bad_errors.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/guest/exhaust/bad_pointers.h"
#include "tests/guest/harness/tap.h"
#include "userland/x86.h"

/* What an argument stands for: the bad pointer, something in VALUES, or else its own value. */
enum {
    BAD = 0x7b0000,
    ZERO,  /* /dev/zero */
    FULL,  /* a pipe's end for reading that has bytes */
    IN,    /* and that for writing */
    TALK,  /* a stream socket that has bytes to read */
    PLAIN, /* a regular file with bytes */
    LIST,  /* a directory */
    SET,   /* of epoll, with an event */
    EVENT, /* an eventfd that is not in the set */
    TIMER, /* a timerfd */
    WATCH, /* inotify */
    SEMAPHORE,
    QUEUE,
    SEGMENT,
    GOOD,   /* memory, which begins with zeros */
    LENGTH, /* an int of 64 */
    VECTOR, /* one iovec of 8 bytes */
    SELF,   /* the process */
    ROOT,   /* "/" */
    NAME,   /* "/tmp/bad-pointers" */
    PAGES,  /* a page's address */
    VALUES_END,
};
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

#define VALUE(name) ((name)-BAD)

static long values[VALUES_END - BAD];

enum {
    READS = 1,
    WRITES = 2,
    NULLABLE = 4, /* NULL means nothing, or has an error of its own */
    PARTLY = 8,   /* one byte is transferred, or is all there is */
    ALIGNED = 16, /* an odd address has an error of its own */
};

#define CALL(name) #name, SYS_##name

static const struct row {
    const char *name;
    long number;
    int flags;
    long arguments[6];
} rows[] = {
    {CALL(read), WRITES | PARTLY, {ZERO, BAD, 8}},
    {CALL(read), WRITES, {FULL, BAD, 8}},
    {CALL(read), WRITES, {TALK, BAD, 8}},
    {CALL(read), WRITES | PARTLY, {PLAIN, BAD, 8}},
    {CALL(write), READS, {IN, BAD, 8}},
    {CALL(write), READS, {TALK, BAD, 8}},
    {CALL(pread64), WRITES | PARTLY, {PLAIN, BAD, 8, 0}},
    {CALL(readv), READS, {ZERO, BAD, 1}},
    {CALL(writev), READS, {IN, BAD, 1}},
    {CALL(preadv), READS, {PLAIN, BAD, 1, 0}},
    {CALL(open), READS, {BAD, O_RDONLY}},
    {CALL(openat), READS, {AT_FDCWD, BAD, O_RDONLY}},
    {CALL(creat), READS, {BAD, 0600}},
    {CALL(stat), READS, {BAD, GOOD}},
    {CALL(stat), WRITES, {ROOT, BAD}},
    {CALL(lstat), WRITES, {ROOT, BAD}},
    {CALL(fstat), WRITES, {PLAIN, BAD}},
    {CALL(newfstatat), WRITES, {AT_FDCWD, ROOT, BAD, 0}},
    {CALL(statx), WRITES, {AT_FDCWD, ROOT, 0, 0x7ff, BAD}},
    {CALL(statfs), READS, {BAD, GOOD}},
    {CALL(statfs), WRITES, {ROOT, BAD}},
    {CALL(fstatfs), WRITES, {PLAIN, BAD}},
    {CALL(access), READS, {BAD, 0}},
    {CALL(chdir), READS, {BAD}},
    {CALL(mkdir), READS, {BAD, 0700}},
    {CALL(mkdirat), READS, {AT_FDCWD, BAD, 0700}},
    {CALL(mknod), READS, {BAD, S_IFIFO | 0600, 0}},
    {CALL(rmdir), READS, {BAD}},
    {CALL(unlink), READS, {BAD}},
    {CALL(unlinkat), READS, {AT_FDCWD, BAD, 0}},
    {CALL(rename), READS, {BAD, NAME}},
    {CALL(rename), READS, {NAME, BAD}},
    {CALL(link), READS, {BAD, NAME}},
    {CALL(symlink), READS, {BAD, NAME}},
    {CALL(symlink), READS, {NAME, BAD}},
    {CALL(readlink), READS, {BAD, GOOD, 64}},
    {CALL(chmod), READS, {BAD, 0600}},
    {CALL(chown), READS, {BAD, -1, -1}},
    {CALL(truncate), READS, {BAD, 0}},
    {CALL(utimensat), READS | NULLABLE, {AT_FDCWD, ROOT, BAD, 0}},
    {CALL(getcwd), WRITES, {BAD, 64}},
    {CALL(getdents64), WRITES, {LIST, BAD, 1000}},
    {CALL(getxattr), READS, {ROOT, BAD, GOOD, 64}},
    {CALL(inotify_add_watch), READS, {WATCH, BAD, IN_ALL_EVENTS}},
    {CALL(memfd_create), READS, {BAD, 0}},
    {CALL(ioctl), WRITES, {FULL, FIONREAD, BAD}},
    {CALL(ioctl), READS, {FULL, FIONBIO, BAD}},
    {CALL(fcntl), READS, {PLAIN, F_GETLK, BAD}},
    {CALL(pipe), WRITES, {BAD}},
    {CALL(pipe2), WRITES, {BAD, 0}},
    {CALL(sendfile), READS | NULLABLE, {IN, PLAIN, BAD, 8}},
    {CALL(splice), READS | NULLABLE, {PLAIN, BAD, IN, 0, 8, 0}},
    {CALL(socketpair), WRITES, {AF_UNIX, SOCK_STREAM, 0, BAD}},
    {CALL(bind), READS, {TALK, BAD, 10}},
    {CALL(connect), READS, {TALK, BAD, 10}},
    {CALL(getsockname), WRITES | PARTLY, {TALK, BAD, LENGTH}},
    {CALL(getsockname), WRITES, {TALK, GOOD, BAD}},
    {CALL(getsockopt), WRITES, {TALK, SOL_SOCKET, SO_TYPE, BAD, LENGTH}},
    {CALL(getsockopt), WRITES, {TALK, SOL_SOCKET, SO_TYPE, GOOD, BAD}},
    {CALL(setsockopt), READS, {TALK, SOL_SOCKET, SO_PASSCRED, BAD, 4}},
    {CALL(sendto), READS, {TALK, BAD, 8, 0, 0, 0}},
    {CALL(recvfrom), WRITES, {TALK, BAD, 8, 0, 0, 0}},
    {CALL(sendmsg), READS, {TALK, BAD, 0}},
    {CALL(recvmsg), READS, {TALK, BAD, MSG_DONTWAIT}},
    {CALL(sendmmsg), READS, {TALK, BAD, 1, 0}},
    {CALL(recvmmsg), READS, {TALK, BAD, 1, MSG_DONTWAIT, 0}},
    {CALL(poll), READS, {BAD, 1, 0}},
    {CALL(ppoll), READS | NULLABLE, {GOOD, 1, BAD, 0, 8}},
    {CALL(select), READS | NULLABLE, {1, BAD, 0, 0, 0}},
    {CALL(epoll_ctl), READS, {SET, EPOLL_CTL_ADD, EVENT, BAD}},
    {CALL(epoll_wait), WRITES, {SET, BAD, 1, 0}},
    {CALL(signalfd4), READS, {-1, BAD, 8, 0}},
    {CALL(timerfd_settime), READS | NULLABLE, {TIMER, 0, BAD, 0}},
    {CALL(timerfd_gettime), WRITES, {TIMER, BAD}},
    {CALL(timer_create), READS | NULLABLE, {CLOCK_MONOTONIC, BAD, GOOD}},
    {CALL(timer_create), WRITES, {CLOCK_MONOTONIC, 0, BAD}},
    {CALL(nanosleep), READS, {BAD, 0}},
    {CALL(clock_nanosleep), READS, {CLOCK_MONOTONIC, 0, BAD, 0}},
    {CALL(clock_gettime), WRITES, {CLOCK_MONOTONIC, BAD}},
    {CALL(clock_getres), WRITES | NULLABLE, {CLOCK_MONOTONIC, BAD}},
    {CALL(clock_settime), READS, {CLOCK_REALTIME, BAD}},
    {CALL(gettimeofday), WRITES | NULLABLE, {BAD, 0}},
    {CALL(time), WRITES | NULLABLE, {BAD}},
    {CALL(times), WRITES | NULLABLE, {BAD}},
    {CALL(getitimer), WRITES, {0, BAD}},
    {CALL(setitimer), READS | NULLABLE, {0, BAD, 0}},
    {CALL(adjtimex), READS, {BAD}},
    {CALL(rt_sigaction), READS | NULLABLE, {SIGUSR2, BAD, 0, 8}},
    {CALL(rt_sigaction), WRITES | NULLABLE, {SIGUSR2, 0, BAD, 8}},
    {CALL(rt_sigprocmask), READS | NULLABLE, {SIG_BLOCK, BAD, 0, 8}},
    {CALL(rt_sigprocmask), WRITES | NULLABLE, {SIG_BLOCK, 0, BAD, 8}},
    {CALL(rt_sigpending), WRITES, {BAD, 8}},
    {CALL(rt_sigtimedwait), READS, {BAD, 0, GOOD, 8}},
    {CALL(rt_sigqueueinfo), READS, {SELF, SIGUSR2, BAD}},
    {CALL(sigaltstack), READS | NULLABLE, {BAD, 0}},
    {CALL(sigaltstack), WRITES | NULLABLE, {0, BAD}},
    {CALL(futex), READS | ALIGNED, {BAD, 0x80, 1, 0, 0, 0}},
    {CALL(futex), READS | NULLABLE, {GOOD, 0x80, 0, BAD, 0, 0}},
    {CALL(futex_waitv), READS | NULLABLE, {BAD, 1, 0, 0, 0}},
    {CALL(get_robust_list), WRITES, {0, BAD, GOOD}},
    {CALL(clone3), READS, {BAD, 64}},
    {CALL(execve), READS, {BAD, 0, 0}},
    {CALL(execve), READS | NULLABLE, {ROOT, BAD, 0}},
    {CALL(prctl), READS, {15, BAD}},
    {CALL(prctl), WRITES, {16, BAD}},
    {CALL(arch_prctl), WRITES, {0x1003, BAD}},
    {CALL(uname), WRITES, {BAD}},
    {CALL(sysinfo), WRITES, {BAD}},
    {CALL(getrlimit), WRITES, {RLIMIT_NOFILE, BAD}},
    {CALL(setrlimit), READS, {RLIMIT_NOFILE, BAD}},
    {CALL(prlimit64), READS | NULLABLE, {0, RLIMIT_NOFILE, BAD, 0}},
    {CALL(prlimit64), WRITES | NULLABLE, {0, RLIMIT_NOFILE, 0, BAD}},
    {CALL(getrusage), WRITES, {0, BAD}},
    {CALL(getresuid), WRITES, {BAD, GOOD, GOOD}},
    {CALL(getresuid), WRITES, {GOOD, GOOD, BAD}},
    {CALL(getresgid), WRITES, {GOOD, BAD, GOOD}},
    {CALL(capget), READS, {BAD, GOOD}},
    {CALL(getcpu), WRITES | NULLABLE, {BAD, 0, 0}},
    {CALL(getrandom), WRITES | PARTLY, {BAD, 8, 0}},
    {CALL(sched_getaffinity), WRITES, {0, 8, BAD}},
    {CALL(sched_setaffinity), READS, {0, 8, BAD}},
    {CALL(sched_getparam), WRITES | NULLABLE, {0, BAD}},
    {CALL(sched_setparam), READS | NULLABLE, {0, BAD}},
    {CALL(sched_setscheduler), READS | NULLABLE, {0, SCHED_OTHER, BAD}},
    {CALL(sched_getattr), WRITES | NULLABLE, {0, BAD, 48, 0}},
    {CALL(sched_rr_get_interval), WRITES, {0, BAD}},
    {CALL(mincore), WRITES | PARTLY, {PAGES, 4096, BAD}},
    {CALL(process_vm_readv), READS, {SELF, BAD, 1, VECTOR, 1, 0}},
    {CALL(process_vm_readv), READS, {SELF, VECTOR, 1, BAD, 1, 0}},
    {CALL(semop), READS, {SEMAPHORE, BAD, 1}},
    {CALL(semctl), WRITES, {SEMAPHORE, 0, IPC_STAT, BAD}},
    {CALL(msgsnd), READS, {QUEUE, BAD, 8, 0}},
    {CALL(msgctl), WRITES, {QUEUE, IPC_STAT, BAD}},
    {CALL(shmctl), WRITES, {SEGMENT, IPC_STAT, BAD}},
    {CALL(mq_unlink), READS, {BAD}},
    {CALL(move_pages), READS, {0, 1, BAD, 0, GOOD, 0}},
    {CALL(get_mempolicy), WRITES | NULLABLE, {BAD, 0, 0, 0, 0}},
    {CALL(set_mempolicy), READS | NULLABLE, {2, BAD, 64}},
};

void bad_errors_begin(void)
{
    static char memory[4096] __attribute__((aligned(4096)));
    static int length = 64;
    static struct iovec vector = {memory, 8};
    struct epoll_event event = {.events = EPOLLIN};
    int ends[2], talk[2];

    MUST(pipe(ends));
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, talk));
    MUST(write(ends[1], memory, 1000));
    MUST(write(talk[1], memory, 1000));
    values[VALUE(ZERO)] = MUST(open("/dev/zero", O_RDWR));
    values[VALUE(FULL)] = ends[0];
    values[VALUE(IN)] = ends[1];
    values[VALUE(TALK)] = talk[0];
    values[VALUE(PLAIN)] = MUST(memfd_create("plain", 0));
    MUST(ftruncate((int)values[VALUE(PLAIN)], 5000));
    values[VALUE(LIST)] = MUST(open("/", O_RDONLY | O_DIRECTORY));
    values[VALUE(SET)] = MUST(epoll_create1(0));
    values[VALUE(EVENT)] = MUST(eventfd(1, 0));
    MUST(epoll_ctl((int)values[VALUE(SET)], EPOLL_CTL_ADD, ends[0], &event));
    values[VALUE(TIMER)] = MUST(timerfd_create(CLOCK_MONOTONIC, 0));
    values[VALUE(WATCH)] = MUST(inotify_init1(IN_NONBLOCK));
    values[VALUE(SEMAPHORE)] = MUST(semget(IPC_PRIVATE, 1, 0600));
    values[VALUE(QUEUE)] = MUST(msgget(IPC_PRIVATE, 0600));
    values[VALUE(SEGMENT)] = MUST(shmget(IPC_PRIVATE, 4096, 0600));
    values[VALUE(GOOD)] = values[VALUE(PAGES)] = (long)memory;
    values[VALUE(LENGTH)] = (long)&length;
    values[VALUE(VECTOR)] = (long)&vector;
    values[VALUE(SELF)] = getpid();
    values[VALUE(ROOT)] = (long)"/";
    values[VALUE(NAME)] = (long)"/tmp/bad-pointers";
}

static bool is_bad(int flags, enum bad_pointer kind)
{
    switch (kind) {
    case BAD_NULL:
        return (flags & NULLABLE) == 0;
    case BAD_ONE:
        return (flags & ALIGNED) == 0;
    case BAD_LAST:
        return (flags & (PARTLY | ALIGNED)) == 0;
    case BAD_READ_ONLY:
        return (flags & WRITES) != 0;
    case BAD_WRAPS:
        return (flags & ALIGNED) == 0;
    default:
        return true;
    }
}

static void check(const struct row *row, enum bad_pointer kind)
{
    long a[6], result;
    int place = 0;

    for (int i = 0; i < 6; i++) {
        long value = row->arguments[i];

        if (value == BAD)
            place = i;
        a[i] = value == BAD ? (long)bad_pointer(kind) : value > BAD && value < VALUES_END ? values[value - BAD] : value;
    }
    result = x86_syscall(row->number, a[0], a[1], a[2], a[3], a[4], a[5]);
    CHECK(result == -EFAULT, "%s, argument %d, %s: %ld, %s", row->name, place, bad_pointer_name(kind), result,
          result < 0 ? tap_error((int)-result) : "no error");
    CHECK(bad_pointers_hold(), "%s, argument %d, %s: bytes changed", row->name, place, bad_pointer_name(kind));
    bad_pointers_fill();
}

void bad_errors_check(void)
{
    for (unsigned long i = 0; i < TAP_COUNT(rows); i++) {
        for (int kind = 0; kind < BAD_COUNT; kind++) {
            if (is_bad(rows[i].flags, (enum bad_pointer)kind))
                check(&rows[i], (enum bad_pointer)kind);
        }
    }
    semctl((int)values[VALUE(SEMAPHORE)], 0, IPC_RMID);
    msgctl((int)values[VALUE(QUEUE)], IPC_RMID, NULL);
    shmctl((int)values[VALUE(SEGMENT)], IPC_RMID, NULL);
}
