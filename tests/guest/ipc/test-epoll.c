/* test-epoll: epoll(7), with files, sets and waiters on any kernels.
 *
 * Long because it is a list: every test is short and stands alone. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/open_files.h"
#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "userland/bench/message_counts.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define MANY 64
#define CREW 4
#define ROUNDS 400
#define EXCLUSIVE_ROUNDS 10

static int set;
static int ends[2];

static bool make(void)
{
    set = epoll_create1(0);
    return CHECK(set >= 0 && pipe2(ends, O_NONBLOCK) == 0, "%s", strerror(errno));
}

static void unmake(void)
{
    close(set);
    close(ends[0]);
    close(ends[1]);
}

static int change(int operation, int fd, uint32_t events, uint64_t data)
{
    struct epoll_event event = {.events = events, .data.u64 = data};

    return epoll_ctl(set, operation, fd, &event);
}

/* What epoll_wait says of one file: its events, 0 for none. */
static uint32_t look(int timeout)
{
    struct epoll_event event = {.events = 0};

    return epoll_wait(set, &event, 1, timeout) == 1 ? event.events : 0;
}

static void drain(int fd)
{
    char bytes[4096];

    while (read(fd, bytes, sizeof(bytes)) > 0)
        continue;
}

static void test_level(void)
{
    struct epoll_event event;

    if (!make())
        return;
    CHECK(change(EPOLL_CTL_ADD, ends[0], EPOLLIN, 77) == 0, "%s", strerror(errno));
    CHECK(look(0) == 0, "nothing is ready");
    CHECK(write(ends[1], "ab", 2) == 2, "%s", strerror(errno));
    for (int i = 0; i < 3; i++)
        CHECK(epoll_wait(set, &event, 1, 60000) == 1 && event.events == EPOLLIN && event.data.u64 == 77, "%#x %lu",
              event.events, event.data.u64);
    drain(ends[0]);
    CHECK(look(0) == 0, "drained");
    close(ends[1]);
    CHECK(look(60000) == EPOLLHUP, "%#x", look(0));
    unmake();
}

static void test_edge(void)
{
    if (!make())
        return;
    CHECK(change(EPOLL_CTL_ADD, ends[0], EPOLLIN | EPOLLET, 1) == 0, "%s", strerror(errno));
    CHECK(write(ends[1], "a", 1) == 1 && look(60000) == EPOLLIN, "the first");
    CHECK(look(0) == 0, "told once");
    CHECK(write(ends[1], "b", 1) == 1 && look(60000) == EPOLLIN, "more has come, though there was some");
    CHECK(look(0) == 0, "told once");
    drain(ends[0]);
    CHECK(look(0) == 0, "drained");
    CHECK(write(ends[1], "c", 1) == 1 && look(60000) == EPOLLIN, "and again");
    CHECK(change(EPOLL_CTL_MOD, ends[0], EPOLLIN | EPOLLET, 1) == 0 && look(60000) == EPOLLIN, "set anew");
    unmake();
}

static void test_one_shot(void)
{
    if (!make())
        return;
    CHECK(change(EPOLL_CTL_ADD, ends[0], EPOLLIN | EPOLLONESHOT, 1) == 0, "%s", strerror(errno));
    CHECK(write(ends[1], "a", 1) == 1 && look(60000) == EPOLLIN, "the first");
    CHECK(write(ends[1], "b", 1) == 1 && look(0) == 0, "over");
    CHECK(change(EPOLL_CTL_MOD, ends[0], EPOLLIN | EPOLLONESHOT, 1) == 0 && look(60000) == EPOLLIN, "again");
    close(ends[1]);
    CHECK(look(0) == 0, "no end either");
    unmake();
}

/* What a wait cannot store is told by the next one, edges and one shots, too; and of two events the one that fits. */
static void test_unstored(void)
{
    char *page = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *last = page + 4096 - sizeof(struct epoll_event);
    int other = eventfd(0, EFD_NONBLOCK);

    if (!make())
        return;
    CHECK(page != MAP_FAILED && mprotect(page + 4096, 4096, PROT_NONE) == 0, "%s", strerror(errno));
    CHECK(change(EPOLL_CTL_ADD, ends[0], EPOLLIN | EPOLLET, 1) == 0, "%s", strerror(errno));
    CHECK(epoll_wait(set, TAP_UNMAPPED, 1, 0) == 0, "nothing is ready");
    CHECK(write(ends[1], "a", 1) == 1, "%s", strerror(errno));
    CHECK_ERROR(epoll_wait(set, TAP_UNMAPPED, 1, 60000), EFAULT);
    CHECK_ERROR(epoll_wait(set, TAP_UNMAPPED, 1000, 60000), EFAULT);
    CHECK(look(60000) == EPOLLIN && look(0) == 0, "an edge is told once");
    CHECK(change(EPOLL_CTL_MOD, ends[0], EPOLLIN | EPOLLONESHOT, 1) == 0, "%s", strerror(errno));
    CHECK_ERROR(epoll_wait(set, TAP_UNMAPPED, 1, 60000), EFAULT);
    CHECK(look(60000) == EPOLLIN && look(0) == 0, "a one shot is told once");
    CHECK(change(EPOLL_CTL_MOD, ends[0], EPOLLIN | EPOLLET, 1) == 0, "%s", strerror(errno));
    CHECK(change(EPOLL_CTL_ADD, other, EPOLLIN | EPOLLET, 2) == 0 && eventfd_write(other, 1) == 0, "%s",
          strerror(errno));
    CHECK(mprotect(page, 4096, PROT_READ) == 0, "%s", strerror(errno));
    CHECK_ERROR(epoll_wait(set, (struct epoll_event *)(void *)last, 1, 60000), EFAULT);
    CHECK(mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0, "%s", strerror(errno));
    CHECK(epoll_wait(set, (struct epoll_event *)(void *)last, 2, 60000) == 1, "%s", strerror(errno));
    CHECK(look(60000) == EPOLLIN && look(0) == 0, "the other is told then");
    munmap(page, 2 * 4096);
    close(other);
    unmake();
}

static void test_refused(void)
{
    struct epoll_event event = {.events = EPOLLIN};
    int file, other;

    if (!make())
        return;
    file = open("/proc/self/status", O_RDONLY);
    CHECK_ERROR(syscall(SYS_epoll_create, 0), EINVAL);
    CHECK_ERROR(epoll_create1(1), EINVAL);
    CHECK_ERROR(change(EPOLL_CTL_ADD, -1, EPOLLIN, 0), EBADF);
    CHECK_ERROR(epoll_ctl(-1, EPOLL_CTL_ADD, ends[0], &event), EBADF);
    CHECK_ERROR(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], TAP_UNMAPPED), EFAULT);
    CHECK_ERROR(epoll_ctl(ends[0], EPOLL_CTL_ADD, ends[1], &event), EINVAL);
    CHECK_ERROR(change(EPOLL_CTL_ADD, set, EPOLLIN, 0), EINVAL);
    CHECK_ERROR(change(9, ends[0], EPOLLIN, 0), EINVAL);
    CHECK_ERROR(change(EPOLL_CTL_MOD, ends[0], EPOLLIN, 0), ENOENT);
    CHECK_ERROR(change(EPOLL_CTL_DEL, ends[0], EPOLLIN, 0), ENOENT);
    CHECK(change(EPOLL_CTL_ADD, ends[0], EPOLLIN, 0) == 0, "%s", strerror(errno));
    CHECK_ERROR(change(EPOLL_CTL_ADD, ends[0], EPOLLIN, 0), EEXIST);
    CHECK(epoll_ctl(set, EPOLL_CTL_DEL, ends[0], NULL) == 0, "%s", strerror(errno));
    CHECK(change(EPOLL_CTL_ADD, ends[0], EPOLLIN | EPOLLEXCLUSIVE, 0) == 0, "%s", strerror(errno));
    CHECK_ERROR(change(EPOLL_CTL_MOD, ends[0], EPOLLIN, 0), EINVAL);
    CHECK_ERROR(change(EPOLL_CTL_ADD, ends[1], EPOLLIN | EPOLLEXCLUSIVE | EPOLLONESHOT, 0), EINVAL);
    CHECK_ERROR(epoll_wait(set, &event, 0, 0), EINVAL);
    CHECK_ERROR(epoll_wait(ends[0], &event, 1, 0), EINVAL);
    CHECK_ERROR(epoll_wait(-1, &event, 1, 0), EBADF);
    CHECK_ERROR(epoll_wait(set, TAP_KERNEL_ADDRESS, 1, 0), EFAULT);
    other = epoll_create1(EPOLL_CLOEXEC);
    CHECK(fcntl(other, F_GETFD) == FD_CLOEXEC, "%s", strerror(errno));
    CHECK_ERROR(read(other, &event, 8), EINVAL);
    close(other);
    close(file);
    unmake();
}

static void test_regular(void)
{
    char path[] = "/bin/test-epoll";
    int file = open(path, O_RDONLY);

    if (!make())
        return;
    if (file < 0)
        file = open("/proc/self/exe", O_RDONLY);
    CHECK_ERROR(change(EPOLL_CTL_ADD, file, EPOLLIN, 0), EPERM);
    close(file);
    unmake();
}

static void test_closed(void)
{
    int copy;

    if (!make())
        return;
    CHECK(write(ends[1], "x", 1) == 1 && change(EPOLL_CTL_ADD, ends[0], EPOLLIN, 5) == 0, "%s", strerror(errno));
    copy = dup(ends[0]);
    close(ends[0]);
    CHECK(look(60000) == EPOLLIN, "the file is open still");
    close(copy);
    CHECK(look(0) == 0, "closed by all");
    ends[0] = dup(ends[1]);
    unmake();
}

static void test_several(void)
{
    struct epoll_event events[MANY];
    int fds[MANY], seen[MANY] = {0};
    uint64_t one = 1;

    set = epoll_create1(0);
    for (int i = 0; i < MANY; i++) {
        fds[i] = eventfd(0, EFD_NONBLOCK);
        CHECK(fds[i] >= 0 && change(EPOLL_CTL_ADD, fds[i], EPOLLIN, (uint64_t)i) == 0, "%s", strerror(errno));
    }
    CHECK(epoll_wait(set, events, MANY, 0) == 0, "none");
    for (int i = 0; i < MANY; i += 2)
        CHECK(write(fds[i], &one, 8) == 8, "%s", strerror(errno));
    CHECK(epoll_wait(set, events, MANY, 60000) == MANY / 2, "every other one");
    /* In turn, though all stay ready: nobody is left out. */
    for (int i = 0; i < MANY / 2; i++) {
        CHECK(epoll_wait(set, events, 1, 60000) == 1, "%s", strerror(errno));
        seen[events[0].data.u64]++;
    }
    for (int i = 0; i < MANY; i++)
        CHECK(seen[i] == (i % 2 == 0), "%d: %d times", i, seen[i]);
    for (int i = 0; i < MANY; i++)
        close(fds[i]);
    CHECK(epoll_wait(set, events, MANY, 0) == 0, "all closed");
    close(set);
}

static void test_nested(void)
{
    int inner = epoll_create1(0), sets[7];
    struct epoll_event event = {.events = EPOLLIN};
    struct pollfd state = {.fd = inner, .events = POLLIN};
    int error = 0;

    if (!make())
        return;
    CHECK(epoll_ctl(inner, EPOLL_CTL_ADD, ends[0], &event) == 0, "%s", strerror(errno));
    CHECK(change(EPOLL_CTL_ADD, inner, EPOLLIN, 3) == 0, "%s", strerror(errno));
    event.events = EPOLLIN;
    CHECK_ERROR(epoll_ctl(inner, EPOLL_CTL_ADD, set, &event), ELOOP);
    CHECK(look(0) == 0 && poll(&state, 1, 0) == 0, "nothing yet");
    CHECK(write(ends[1], "x", 1) == 1 && look(60000) == EPOLLIN, "through two sets");
    CHECK(poll(&state, 1, 60000) == 1 && state.revents == POLLIN, "%#x", state.revents);
    drain(ends[0]);
    CHECK(look(0) == 0 && poll(&state, 1, 0) == 0, "drained");
    for (int i = 0; i < 7; i++)
        sets[i] = epoll_create1(0);
    for (int i = 0; i < 6 && error == 0; i++)
        error = epoll_ctl(sets[i], EPOLL_CTL_ADD, sets[i + 1], &event) != 0 ? errno : 0;
    CHECK(error == ELOOP || error == EINVAL, "there is an end: %d", error);
    for (int i = 0; i < 7; i++)
        close(sets[i]);
    close(inner);
    unmake();
}

static void on_signal(int number)
{
    (void)number;
}

static void test_interrupted(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct epoll_event event;
    struct itimerval often = {{0, 500000}, {0, 500000}}; /* the first may come before the call */
    struct timespec moment = {0, 1000000};
    sigset_t all, none;

    if (!make())
        return;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    CHECK_ERROR(epoll_wait(set, &event, 1, 60000), EINTR);
    memset(&often, 0, sizeof(often));
    setitimer(ITIMER_REAL, &often, NULL);
    sigfillset(&all);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &all, NULL);
    raise(SIGALRM);
    CHECK(epoll_wait(set, &event, 1, 10) == 0, "blocked");
    CHECK_ERROR(epoll_pwait(set, &event, 1, 60000, &none), EINTR);
    CHECK(syscall(SYS_epoll_pwait2, set, &event, 1, &moment, &none, 8) == 0, "%s", strerror(errno));
    sigprocmask(SIG_SETMASK, &none, NULL);
    moment.tv_nsec = -1;
    CHECK_ERROR(syscall(SYS_epoll_pwait2, set, &event, 1, &moment, NULL, 8), EINVAL);
    unmake();
}

/* --- several threads --- */

static int sources[CREW]; /* semaphores */
static atomic_int taken, over, waiting;

/* Takes what is ready until all is over. */
static void take_ready(struct thread *thread)
{
    long result = thread_move(*(const int *)thread->argument);
    struct epoll_event event;
    uint64_t value;

    while (result == 0 && over == 0) {
        long count = x86_syscall(SYS_epoll_wait, set, (long)&event, 1, -1, 0, 0);

        if (count == -EINTR)
            continue;
        if (count != 1)
            result = count;
        else if (event.data.u64 == CREW)
            break;
        else if (x86_syscall3(SYS_read, sources[event.data.u64], (long)&value, 8) == 8)
            taken++;
    }
    thread->result = result;
}

/* Lost wakeups: numbers for CREW threads, in ones and in bursts; the next ones come when all are taken. */
static void hand_out(uint32_t flags)
{
    struct thread crew[CREW];
    int kernels[64], to[CREW], count = tap_kernels(kernels), given = 0, stop = eventfd(0, 0);
    uint64_t random = 7;

    set = epoll_create1(0);
    taken = over = 0;
    for (int i = 0; i < CREW; i++) {
        sources[i] = eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE);
        CHECK(change(EPOLL_CTL_ADD, sources[i], EPOLLIN | flags, (uint64_t)i) == 0, "%s", strerror(errno));
    }
    CHECK(change(EPOLL_CTL_ADD, stop, EPOLLIN, CREW) == 0, "%s", strerror(errno));
    for (int i = 0; i < CREW; i++) {
        to[i] = kernels[i % count];
        crew[i] = (struct thread){.argument = &to[i]};
        CHECK(thread_start(&crew[i], take_ready), "%s", strerror(errno));
    }
    while (given < ROUNDS) {
        for (uint64_t burst = tap_random(&random) % CREW + 1; burst > 0; burst--) {
            uint64_t one = 1;

            CHECK(write(sources[tap_random(&random) % CREW], &one, 8) == 8, "%s", strerror(errno));
            given++;
        }
        if (!CHECK(thread_wait(&taken, given), "%d of %d were taken", atomic_load(&taken), given))
            exit(1);
    }
    over = 1;
    CHECK(write(stop, &(uint64_t){1}, 8) == 8, "%s", strerror(errno));
    for (int i = 0; i < CREW; i++) {
        CHECK(thread_join(&crew[i]) && crew[i].result == 0, "%ld", atomic_load(&crew[i].result));
        close(sources[i]);
    }
    close(stop);
    close(set);
}

static void test_crew(void)
{
    hand_out(0);
    hand_out(EPOLLEXCLUSIVE);
}

struct kind {
    const char *name;
    size_t size; /* bytes that make it ready */
    int read, write;
};

static void make_kind(struct kind *kind, int read_end, int write_end)
{
    kind->read = read_end;
    kind->write = write_end >= 0 ? write_end : read_end;
}

/* Reads all that is there as often as it is told, so no thread ever finds the file not ready. */
static void take_all(struct thread *thread)
{
    const struct kind *kind = thread->argument;
    long result = thread_move(thread->index);
    struct epoll_event event;
    char bytes[8];

    while (result == 0 && taken < EXCLUSIVE_ROUNDS) {
        result = x86_syscall(SYS_epoll_wait, set, (long)&event, 1, -1, 0, 0) - 1;
        if (result == 0 && x86_syscall3(SYS_read, kind->read, (long)bytes, (long)kind->size) != (long)kind->size)
            result = -1;
        taken++;
    }
    thread->result = result;
}

/* Of whatever kind a file is: its only hooks are exclusive, and nobody waits for the first set. */
static void wait_exclusively(struct kind *kind)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLEXCLUSIVE};
    int kernels[64], count = tap_kernels(kernels), idle = epoll_create1(0);
    struct thread waiter = {.argument = kind};

    set = epoll_create1(0);
    taken = 0;
    waiter.index = kernels[count - 1];
    CHECK(epoll_ctl(idle, EPOLL_CTL_ADD, kind->read, &event) == 0, "%s: %s", kind->name, strerror(errno));
    CHECK(change(EPOLL_CTL_ADD, kind->read, EPOLLIN | EPOLLEXCLUSIVE, 0) == 0, "%s: %s", kind->name, strerror(errno));
    CHECK(thread_start(&waiter, take_all), "%s", strerror(errno));
    for (int i = 1; i <= EXCLUSIVE_ROUNDS; i++) {
        CHECK(write(kind->write, "\1\0\0\0\0\0\0\0", kind->size) == (ssize_t)kind->size, "%s: %s", kind->name,
              strerror(errno));
        if (!CHECK(thread_wait(&taken, i), "%s: %d of %d", kind->name, atomic_load(&taken), i))
            exit(1);
    }
    CHECK(thread_join(&waiter) && waiter.result == 0, "%s: %ld", kind->name, atomic_load(&waiter.result));
    close(set);
    close(idle);
    close(kind->read);
    if (kind->write != kind->read)
        close(kind->write);
}

static void test_exclusive(void)
{
    struct kind pipes = {.name = "pipe", .size = 1}, counter = {.name = "eventfd", .size = 8};
    struct kind sockets = {.name = "socket", .size = 1}, terminal = {.name = "terminal", .size = 1};
    int pair[2], master;

    MUST(pipe(pair));
    make_kind(&pipes, pair[0], pair[1]);
    wait_exclusively(&pipes);
    make_kind(&counter, eventfd(0, 0), -1);
    wait_exclusively(&counter);
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    make_kind(&sockets, pair[0], pair[1]);
    wait_exclusively(&sockets);
    master = MUST(posix_openpt(O_RDWR | O_NOCTTY));
    MUST(unlockpt(master));
    make_kind(&terminal, master,
              MUST(open(ptsname(master), O_RDWR | O_NOCTTY))); /* what is written there is read here */
    wait_exclusively(&terminal);
}

/* Waits as long as its index says, in milliseconds. The result is what the call returns. */
static void wait_so_long(struct thread *thread)
{
    struct epoll_event event;

    waiting = 1;
    thread->result = x86_syscall(SYS_epoll_pwait, set, (long)&event, 1, thread->index, 0, 8);
    waiting = 2;
}

static void test_moved(void)
{
    struct thread waiter = {.index = -1};
    int fd = eventfd(0, 0), pushes;

    set = epoll_create1(0);
    CHECK(change(EPOLL_CTL_ADD, fd, EPOLLIN, 1) == 0, "%s", strerror(errno));
    waiting = 0;
    CHECK(thread_start(&waiter, wait_so_long) && thread_wait(&waiting, 1), "%s", strerror(errno));
    for (int i = 0; i < 3 * place_count(); i++) {
        CHECK(place_push(waiter.tid_first, i) == 0, "push %d", i);
        UNTIL(place_reached(waiter.tid_first, i), "the thread that waits to reach its place");
    }
    CHECK(waiting == 1, "it waits on");
    CHECK(write(fd, &(uint64_t){1}, 8) == 8, "%s", strerror(errno));
    CHECK(thread_join(&waiter) && waiter.result == 1, "%ld", atomic_load(&waiter.result));
    close(fd);
    /* Who is moved again and again all the same comes to the end of its time. */
    waiter = (struct thread){.index = 300};
    waiting = 0;
    CHECK(thread_start(&waiter, wait_so_long) && thread_wait(&waiting, 1), "%s", strerror(errno));
    for (pushes = 0; waiting == 1 && pushes < 10000; pushes++) {
        place_push(waiter.tid_first, pushes); /* it may have ended */
        usleep(3000);                         /* the pace of the pushes */
    }
    CHECK(thread_join(&waiter) && waiter.result == 0 && pushes < 10000, "%ld after %d pushes",
          atomic_load(&waiter.result), pushes);
    close(set);
}

/* --- a child at home on another kernel --- */

/* Echoes bytes, with a set of its own of our files. */
static int echo(int from, int to, uint32_t flags)
{
    int mine = epoll_create1(0), own = eventfd(0, EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN | flags, .data.fd = own};
    char bytes[16];
    uint64_t one = 1;

    if (epoll_ctl(mine, EPOLL_CTL_ADD, own, &event) != 0)
        return 2;
    if (epoll_wait(mine, &event, 1, 0) != 0)
        return 3;
    if (write(own, &one, 8) != 8 || epoll_wait(mine, &event, 1, 60000) != 1 || event.data.fd != own ||
        read(own, &one, 8) != 8)
        return 4;
    event = (struct epoll_event){.events = EPOLLIN | flags, .data.fd = from};
    if (epoll_ctl(mine, EPOLL_CTL_ADD, from, &event) != 0)
        return 1;
    for (;;) {
        ssize_t count;

        if (epoll_wait(mine, &event, 1, 60000) != 1)
            return 5;
        if (event.data.fd != from)
            return 6;
        while ((count = read(from, bytes, sizeof(bytes))) > 0) {
            if (write(to, bytes, (size_t)count) != count)
                return 7;
        }
        if (count == 0)
            return 0;
        if (errno != EAGAIN)
            return 8;
    }
}

static void echo_with(uint32_t flags)
{
    int kernels[64], answers[2], status = -1;
    int count = tap_kernels(kernels), home = thread_kernel();
    pid_t child;

    CHECK(pipe2(ends, O_NONBLOCK) == 0 && pipe(answers) == 0, "%s", strerror(errno));
    CHECK(thread_move(kernels[count - 1]) == 0, "moved");
    child = fork();
    if (child == 0) {
        close(ends[1]);
        _exit(echo(ends[0], answers[1], flags));
    }
    CHECK(thread_move(home) == 0, "back");
    close(ends[0]);
    close(answers[1]);
    for (int i = 0; i < 50; i++) {
        char byte = (char)i, back = 0;

        if (i % 8 == 0) /* one that has waited for long is woken, too */
            UNTIL(tap_sleeps(child, child), "the child to wait for the next byte");
        if (!CHECK(write(ends[1], &byte, 1) == 1 && read(answers[0], &back, 1) == 1 && back == byte, "byte %d", i))
            break;
    }
    close(ends[1]);
    CHECK(waitpid(child, &status, 0) == child && status == 0, "%#x", status);
    close(answers[0]);
}

static void test_child(void)
{
    echo_with(0);
    echo_with(EPOLLET);
}

/* --- messages --- */

#define WAITS 50
#define FAR 50

static struct message_counts before, after;

/* Requests of TYPE that the machine has sent since `before`. */
static long sent(const char *type)
{
    long result = 0;

    for (size_t i = 0; i < after.count; i++) {
        if (strcmp(after.rows[i].name, type) == 0)
            result = (long)after.rows[i].sent;
    }
    for (size_t i = 0; i < before.count; i++) {
        if (strcmp(before.rows[i].name, type) == 0)
            result -= (long)before.rows[i].sent;
    }
    return result;
}

static long sent_of_files(void)
{
    return sent("FILE_OPERATE") + sent("FILE_READ") + sent("FILE_LOCATE") + sent("FILE_POLL") + sent("WATCH") +
           sent("NOTIFY") + sent("FILE_POLL_END") + sent("EPOLL_WAIT");
}

static atomic_int waits, go;

/* Waits for events that are there. */
static void wait_often(struct thread *thread)
{
    long result = thread_move(*(const int *)thread->argument);
    struct epoll_event event;

    waits++;
    thread_wait(&go, 1);
    for (int i = 0; i < WAITS && result == 0; i++) {
        if (x86_syscall(SYS_epoll_wait, set, (long)&event, 1, -1, 0, 0) != 1)
            result = -1;
    }
    waits++;
    thread_wait(&go, 2);
    thread->result = result;
}

/* In a process of its own at home elsewhere: FAR files of our parent's kernel in one set. Its status says what went
 * wrong. */
static int wait_for_remote(const int *fds, int answers)
{
    struct epoll_event event;

    set = epoll_create1(0);
    for (int i = 0; i < FAR; i++) {
        if (change(EPOLL_CTL_ADD, fds[i], EPOLLIN, (uint64_t)i) != 0)
            return 1;
    }
    if (epoll_wait(set, &event, 1, 0) != 0) /* armed */
        return 2;
    if (!message_counts_read(&before))
        return 3;
    for (int i = 0; i < WAITS; i++) {
        if (epoll_wait(set, &event, 1, 0) != 0)
            return 4;
    }
    if (!message_counts_read(&after))
        return 5;
    /* None, but what others do meanwhile: the parent waits for its answer. */
    if (sent("FILE_POLL") != 0 || sent("NOTIFY") != 0 || sent("EPOLL_WAIT") != 0)
        return 6;
    before = after;
    for (int i = 0; i < WAITS; i++) {
        uint64_t value = (uint64_t)i;

        if (write(answers, &value, sizeof(value)) != sizeof(value)) /* the parent writes to one of the files */
            return 7;
        if (epoll_wait(set, &event, 1, 60000) != 1 || event.data.u64 != (uint64_t)i % FAR)
            return 8;
        if (read(fds[event.data.u64], &value, sizeof(value)) != sizeof(value))
            return 9;
    }
    if (!message_counts_read(&after))
        return 10;
    /* Each time one question when the file is ready, one after it was read, and one word that it is. */
    if (sent("FILE_POLL") > 2 * WAITS || sent("NOTIFY") > WAITS || sent("FILE_POLL_END") > 2 * WAITS)
        return 11;
    return 0;
}

/* Messages of WAITS waits by the calling thread for what is ready; those of reading the counts are in it. */
static long messages_of_waits(void)
{
    CHECK(message_counts_read(&before), "%s", strerror(errno));
    for (int i = 0; i < WAITS; i++)
        CHECK(look(0) == EPOLLOUT, "ready");
    CHECK(message_counts_read(&after), "%s", strerror(errno));
    return sent_of_files();
}

static void test_messages(void)
{
    int kernels[64], fds[FAR], answers[2], status = -1, elsewhere;
    int count = tap_kernels(kernels), home = 0, start = thread_kernel();
    struct thread other = {.argument = &elsewhere};
    uint64_t one = 1;
    pid_t child;

    if (tap_skip_alone() || !make())
        return;
    CHECK(change(EPOLL_CTL_ADD, ends[1], EPOLLOUT, 0) == 0, "%s", strerror(errno));
    /* The process is at home where waits cost nothing: elsewhere each costs one, and what others still do once. */
    while (home < 10 * count && CHECK(thread_move(kernels[home % count]) == 0, "moved") && messages_of_waits() != 0)
        home++;
    if (!CHECK(home < 10 * count, "waits cost messages everywhere"))
        return;
    home %= count;
    elsewhere = kernels[(home + 1) % count];
    home = kernels[home];
    waits = go = 0;
    CHECK(thread_start(&other, wait_often) && thread_wait(&waits, 1), "%s", strerror(errno));
    CHECK(message_counts_read(&before), "%s", strerror(errno));
    go = 1;
    CHECK(thread_wait(&waits, 2), "it waits");
    CHECK(message_counts_read(&after), "%s", strerror(errno));
    CHECK(sent("FILE_OPERATE") == WAITS && sent_of_files() == WAITS, "%ld calls, %ld messages", sent("FILE_OPERATE"),
          sent_of_files());
    go = 2;
    CHECK(thread_join(&other) && other.result == 0, "%ld", atomic_load(&other.result));
    unmake();

    for (int i = 0; i < FAR; i++)
        fds[i] = eventfd(0, EFD_NONBLOCK);
    CHECK(pipe(answers) == 0 && thread_move(elsewhere) == 0, "%s", strerror(errno));
    child = fork();
    if (child == 0)
        _exit(wait_for_remote(fds, answers[1]));
    CHECK(thread_move(home) == 0, "back");
    close(answers[1]);
    for (uint64_t value; read(answers[0], &value, sizeof(value)) == sizeof(value);)
        CHECK(write(fds[value % FAR], &one, sizeof(one)) == sizeof(one), "%s", strerror(errno));
    CHECK(waitpid(child, &status, 0) == child && status == 0, "%#x", status);
    close(answers[0]);
    CHECK(thread_move(start) == 0, "back");
    for (int i = 0; i < FAR; i++)
        close(fds[i]);
}

static const struct tap_test tests[] = {
    {"level", "a file is reported as long as it is ready", test_level},
    {"edge", "EPOLLET reports each event once", test_edge},
    {"one-shot", "EPOLLONESHOT reports once until it is set again", test_one_shot},
    {"unstored", "what cannot be stored is told by the next wait", test_unstored},
    {"refused", "invalid calls are refused as on Linux", test_refused},
    {"regular", "a regular file is refused", test_regular},
    {"closed", "a file that every process has closed leaves its sets", test_closed},
    {"several", "of many files those that are ready are reported in turn", test_several},
    {"nested", "a set can be in another set, and not in itself", test_nested},
    {"interrupted", "a signal interrupts a wait, and its mask holds meanwhile", test_interrupted},
    {"crew", "threads on all kernels wait for one set, and nothing is lost", test_crew},
    {"exclusive", "a file whose only waiters are exclusive wakes one at each event, of whatever kind it is",
     test_exclusive},
    {"moved", "a waiting thread that is moved goes on waiting", test_moved},
    {"child", "a child at home on another kernel waits for files of its parent", test_child},
    {"messages", "a wait costs no more messages than it needs", test_messages},
    {"open-files", "nothing is left open", open_files_test},
};

int main(int argc, char **argv)
{
    open_files_note();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
