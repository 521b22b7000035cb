/* silencebench: events of files for which many wait, large sets of files, and the death of a kernel for which many
 * wait. */
#include "userland/bench/msg/silencebench.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libc/kettle.h"

#define SETS 900 /* as a process may have */
#define FILLERS 2
#define SAMPLED 16 /* of so many messages of a type the time is measured once */
#define STACK_SIZE (4 * PAGE)
#define PAUSE_US 10000 /* until who has said that it waits does, and until what is left to workers is done */

static int source;                   /* the file that they wait for */
static int sets[SAMPLED], set_count; /* large sets */
static int order[2];                 /* by which a process is told to close them */
static struct pollfd polled[SILENCE_OPENED];
static atomic_int waiting, done; /* threads that are about to wait, and that have been told */

static void *end(void)
{
    atomic_fetch_add(&done, 1);
    for (;;)
        pause();
    return NULL;
}

static void *wait_by_poll(void *unused)
{
    struct pollfd asked = {.fd = source, .events = POLLIN};

    (void)unused;
    atomic_fetch_add(&waiting, 1);
    if (poll(&asked, 1, -1) != 1)
        silence_fail("poll");
    return end();
}

static void *wait_by_read(void *unused)
{
    uint64_t value;

    (void)unused;
    atomic_fetch_add(&waiting, 1);
    if (read(source, &value, sizeof(value)) != sizeof(value))
        silence_fail("read");
    return end();
}

static void *wait_by_read_elsewhere(void *unused)
{
    if (kettle_migrate((kettle_kernel() + 1) % kettle_kernels()) != 0)
        silence_fail("kettle_migrate");
    return wait_by_read(unused);
}

/* A file of a kernel that dies. */
static void *wait_by_read_lost(void *unused)
{
    uint64_t value;

    (void)unused;
    atomic_fetch_add(&waiting, 1);
    if (read(source, &value, sizeof(value)) != -1 || errno != EIO)
        silence_fail("read of a lost file");
    return end();
}

static void *wait_by_set(void *unused)
{
    struct epoll_event event = {.events = EPOLLIN};
    int own = epoll_create1(0);

    (void)unused;
    if (own < 0 || epoll_ctl(own, EPOLL_CTL_ADD, source, &event) != 0)
        silence_fail("epoll");
    atomic_fetch_add(&waiting, 1);
    if (epoll_wait(own, &event, 1, -1) != 1)
        silence_fail("epoll_wait");
    return end();
}

/* COUNT threads that WAIT. */
static void start(int count, void *(*wait)(void *unused))
{
    pthread_attr_t attributes;
    pthread_t thread;

    if (kettle_control("place=local") != 0) /* where this thread is */
        silence_fail("place=local");
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    for (int i = 0; i < count; i++) {
        errno = pthread_create(&thread, &attributes, wait, NULL);
        if (errno != 0)
            silence_fail("pthread_create");
    }
    while (atomic_load(&waiting) < count)
        usleep(1000);
    usleep(PAUSE_US);
}

/* COUNT threads that WAIT for an eventfd with FLAGS. */
static void make(int count, void *(*wait)(void *unused), int flags)
{
    source = eventfd(0, flags);
    if (source < 0)
        silence_fail("eventfd");
    start(count, wait);
}

static void make_polls(void)
{
    make(SILENCE_THREADS, wait_by_poll, 0);
}

static void make_reads(void)
{
    make(SILENCE_THREADS, wait_by_read, EFD_SEMAPHORE);
}

static void make_sets(void)
{
    make(SETS, wait_by_set, 0);
}

static void make_reads_elsewhere(void)
{
    make(SILENCE_THREADS, wait_by_read_elsewhere, EFD_SEMAPHORE);
}

/* Sends descriptor FD through TO, or receives one that was sent through it if FD is negative. */
static int pass(int to, int fd)
{
    char room[CMSG_SPACE(sizeof(int))] = {0}, byte = 0;
    struct iovec span = {&byte, 1};
    struct msghdr message = {.msg_iov = &span, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    struct cmsghdr *part = CMSG_FIRSTHDR(&message);

    *part = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(part), &fd, sizeof(fd));
    if (fd >= 0 ? sendmsg(to, &message, 0) != 1 : recvmsg(to, &message, 0) != 1 || CMSG_FIRSTHDR(&message) == NULL)
        silence_fail("a descriptor in a message");
    memcpy(&fd, CMSG_DATA(part), sizeof(fd));
    return fd;
}

/* A process on another kernel, which ends with it, has a child at home there, and that child an eventfd. */
static _Noreturn void have_file_made(int to)
{
    pid_t born;

    if (kettle_migrate((kettle_kernel() + 1) % kettle_kernels()) != 0 || (born = fork()) < 0)
        silence_fail("fork");
    if (born == 0)
        pass(to, eventfd(0, 0));
    for (;;)
        pause();
}

static void make_reads_of_other(void)
{
    int ends[2];
    pid_t born;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || (born = fork()) < 0)
        silence_fail("fork");
    if (born == 0)
        have_file_made(ends[0]);
    source = pass(ends[1], -1);
    start(SILENCE_THREADS, wait_by_read_lost);
}

static void kill_other_and_wait(void)
{
    silence_kill_other();
    while (atomic_load(&done) < SILENCE_THREADS)
        usleep(1000);
}

static void raise_event(uint64_t value, int told)
{
    if (write(source, &value, sizeof(value)) != sizeof(value))
        silence_fail("write");
    while (atomic_load(&done) < told)
        usleep(1000);
    usleep(PAUSE_US);
}

static void raise_all(void)
{
    raise_event(1, atomic_load(&waiting));
}

static void raise_byte(void)
{
    raise_event(1, 1);
}

static void close_sets(void)
{
    for (int i = 0; i < set_count; i++) {
        if (close(sets[i]) != 0)
            silence_fail("close");
    }
}

/* Adds SILENCE_OPENED descriptors of a ready file to the sets, and keeps them until the process that has the other end
 * of ENDS is gone.
 */
static _Noreturn void fill(int told, const int ends[2])
{
    struct epoll_event event = {.events = EPOLLIN};
    int ready = eventfd(1, 0);
    char byte = 0;

    close(ends[1]);
    for (int i = 0; i < SILENCE_OPENED; i++) {
        int fd = dup(ready);

        for (int k = 0; k < set_count; k++) {
            if (fd < 0 || epoll_ctl(sets[k], EPOLL_CTL_ADD, fd, &event) != 0)
                silence_fail("epoll_ctl");
        }
    }
    close_sets();
    (void)!write(told, &byte, 1);
    (void)!read(ends[0], &byte, 1);
    _exit(0);
}

static void make_large_sets(int count)
{
    int ready[2], ends[2];
    char byte;

    for (set_count = 0; set_count < count; set_count++) {
        sets[set_count] = epoll_create1(0);
        if (sets[set_count] < 0)
            silence_fail("epoll_create1");
    }
    if (pipe(ready) != 0 || pipe(ends) != 0)
        silence_fail("pipe");
    for (int i = 0; i < FILLERS; i++) {
        pid_t born = fork();

        if (born < 0)
            silence_fail("fork");
        if (born == 0)
            fill(ready[1], ends);
        if (read(ready[0], &byte, 1) != 1)
            silence_fail("a filler of the set");
    }
}

static void make_large_set(void)
{
    make_large_sets(1);
}

static void make_many_polled(void)
{
    int fd = eventfd(0, 0);

    for (int i = 0; i < SILENCE_OPENED; i++) {
        polled[i] = (struct pollfd){.fd = dup(fd), .events = POLLIN};
        if (polled[i].fd < 0)
            silence_fail("eventfd");
    }
}

static void poll_many(void)
{
    if (poll(polled, SILENCE_OPENED, 1) != 0)
        silence_fail("poll");
}

static void poll_many_elsewhere(void)
{
    int here = kettle_kernel();

    if (kettle_migrate((here + 1) % kettle_kernels()) != 0)
        silence_fail("kettle_migrate");
    poll_many();
    if (kettle_migrate(here) != 0)
        silence_fail("kettle_migrate");
}

static void wait_large_set(void)
{
    static struct epoll_event found[1024];

    if (epoll_wait(sets[0], found, 1024, 0) <= 0)
        silence_fail("epoll_wait");
}

static void close_large_set(void)
{
    close_sets();
}

/* A process at home on another kernel has the only opens of sets, and closes them when it is told to. */
static void make_large_set_elsewhere(void)
{
    int here = kettle_kernel();
    pid_t born;
    char byte;

    make_large_sets(SAMPLED);
    if (pipe(order) != 0 || kettle_migrate((here + 1) % kettle_kernels()) != 0 || (born = fork()) < 0)
        silence_fail("fork");
    if (born == 0) {
        close(order[1]);
        if (read(order[0], &byte, 1) != 1)
            silence_fail("read");
        close_sets();
        (void)!read(order[0], &byte, 1);
        _exit(0);
    }
    close_sets();
    if (kettle_migrate(here) != 0)
        silence_fail("kettle_migrate");
}

static void close_large_set_elsewhere(void)
{
    if (write(order[1], "", 1) != 1)
        silence_fail("write");
    usleep(PAUSE_US);
}

const struct silence_case silence_of_event[] = {
    {"events_poll", "an event for 1,500 threads that poll its file", make_polls, raise_all, ANY_KERNEL},
    {"events_read", "an event for 1,500 threads that read from its file", make_reads, raise_byte, ANY_KERNEL},
    {"events_sets", "an event for 900 sets with a waiting thread each", make_sets, raise_all, ANY_KERNEL},
    {"events_read_far", "an event for 1,500 threads of another kernel that read from its file", make_reads_elsewhere,
     raise_byte, OTHER_KERNEL},
    {"poll_many", "a poll of 900 files", make_many_polled, poll_many, ANY_KERNEL},
    {"poll_many_far", "a poll of 900 files from another kernel", make_many_polled, poll_many_elsewhere, OTHER_KERNEL},
    {"set_wait", "a wait for 1,024 of 1,800 ready files of a set", make_large_set, wait_large_set, ANY_KERNEL},
    {"set_close", "close of a set of 1,800 files", make_large_set, close_large_set, ANY_KERNEL},
    {"set_close_far", "close of 16 sets of 1,800 files by a process of another kernel", make_large_set_elsewhere,
     close_large_set_elsewhere, OTHER_KERNEL},
    {0},
};

const struct silence_case silence_of_fence[] = {
    {"fence_far", "death of a kernel for which 1,500 threads wait", make_reads_of_other, kill_other_and_wait,
     OTHER_KERNEL},
    {0},
};
