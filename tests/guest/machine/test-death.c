/* test-death: kernels die, at rest and while programs use them in all ways; the others notice it, end what
 * had a part there, keep everything else, and start the dead ones again. Afterwards every kernel has what it had
 * before, and the audit finds nothing. Takes a number of rounds of deaths under load.
 *
 * A process that has not moved is to be on its kernel alone, and what has to survive on kernel 0: where new processes
 * are placed elsewhere, this one sets place=local, and runs again on kernel 0. Long, because each test is a case of its
 * own; death_*.c have those that are more. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"
#include "userland/x86.h"

#define FUTEX_WAIT 0
#define FUTEX_WAKE 1
#define FUTEX_LOCK_PI 6
#define LOCKED "/tmp/death-lock"
#define QUEUE "/death-queue"

static char *self;

static void kill_and_start(int kernel, int how)
{
    death_kill(kernel, how);
    death_audit();
    death_start_again(kernel);
}

/* --- at home on another kernel: this program again, as "@home WHAT" --- */

static pid_t spawn_home(int kernel, const char *what, const int *fds)
{
    char *argv[] = {self, "@home", (char *)(uintptr_t)what, NULL};
    pid_t child = kettle_spawn(kernel, self, argv, (char *[]){NULL}, fds);

    CHECK(child > 0, "spawn on kernel %d: %s", kernel, tap_error(errno));
    return child;
}

static void say(int fd)
{
    if (write(fd, "r", 1) != 1)
        _exit(90);
}

static void hear(int fd)
{
    char byte;

    REQUIRE(read(fd, &byte, 1) == 1, "the other process says nothing: %s", tap_error(errno));
}

static void send_fd(int socket, int fd)
{
    char byte = 0, control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    if (sendmsg(socket, &message, 0) != 1)
        _exit(91);
}

static int receive_fd(int socket)
{
    char byte, control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    int fd = -1;

    REQUIRE(recvmsg(socket, &message, 0) == 1, "no message: %s", tap_error(errno));
    REQUIRE(CMSG_FIRSTHDR(&message) != NULL, "no descriptor came");
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
    return fd;
}

/* --- calls that wait, of threads elsewhere --- */

static atomic_int waiting, lock_word;

static void *wait_in(void *number)
{
    struct epoll_event event;
    int ends[2][2], set = epoll_create1(0);

    death_go(death_neighbour(death_victim(0)));
    atomic_fetch_add(&waiting, 1);
    if (set < 0 || pipe(ends[0]) != 0 || pipe(ends[1]) != 0)
        _exit(96);
    switch ((intptr_t)number) {
    case 0:
        epoll_wait(set, &event, 1, -1);
        break;
    case 1:
        syscall(SYS_futex, &lock_word, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
        break;
    default:
        splice(ends[0][0], NULL, ends[1][1], NULL, 100, 0);
        break;
    }
    for (;;)
        pause();
}

static void wait_everywhere(void)
{
    pthread_t thread;

    lock_word = (int)syscall(SYS_gettid);
    for (intptr_t i = 0; i < 3; i++) {
        if (pthread_create(&thread, NULL, wait_in, (void *)i) != 0)
            _exit(97);
    }
    while (waiting < 3)
        sched_yield();
    usleep(50000); /* so that they do wait: else the test finds less */
}

/* A process at home where it was spawned. Descriptor 3 is its own end to talk through. */
static int be_home(int argc, char **argv)
{
    const char *what = argc > 0 ? argv[argc - 1] : "";
    struct sembuf down = {.sem_op = -1, .sem_flg = SEM_UNDO};
    struct flock lock = {.l_type = F_WRLCK};
    char text[16];
    int ends[2], fd;

    if (strcmp(what, "pipes") == 0) { /* gives away a pipe's reading end, and a socket */
        if (pipe(ends) != 0)
            return 92;
        send_fd(3, ends[0]);
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
            return 92;
        send_fd(3, ends[0]);
    } else if (strcmp(what, "locks") == 0) {
        fd = open(LOCKED, O_RDWR);
        if (fd < 0 || fcntl(fd, F_SETLK, &lock) != 0 || flock(fd, LOCK_EX) != 0)
            return 93;
        if (semop(semget(0x4b44, 1, 0), &down, 1) != 0)
            return 94;
        fd = mq_open(QUEUE, O_RDWR);
        if (fd < 0 || mq_notify(fd, &(struct sigevent){.sigev_notify = SIGEV_NONE}) != 0)
            return 96;
        say(3);
        mq_receive(fd, text, sizeof(text), NULL); /* for ever */
    } else if (strcmp(what, "parent") == 0) {     /* has a child that is at home elsewhere */
        char *inner[] = {self, "@home", "orphan", NULL};

        if (kettle_spawn(0, self, inner, (char *[]){NULL}, (const int[]){0, 1, 2, 3, KETTLE_FDS_END}) < 0)
            return 95;
    } else if (strcmp(what, "orphan") == 0) {
        pid_t parent = getppid();

        say(3);
        while (getppid() == parent)
            sched_yield();
        say(3);
        return 0;
    } else if (strcmp(what, "over") == 0) {
        return 0;
    } else if (strcmp(what, "pi") == 0) {
        return death_hold_pi();
    } else if (strcmp(what, "vfork") == 0) {
        return death_vfork_home(death_neighbour(death_victim(0)));
    } else if (strcmp(what, "copies") == 0) {
        return death_copies_home();
    } else if (strcmp(what, "waits") == 0) {
        wait_everywhere();
        say(3);
    } else {
        say(3);
    }
    for (;;)
        pause();
}

/* --- the tests --- */

static void test_refused(void)
{
    pid_t child;

    CHECK_ERROR(kettle_kill(kettle_kernels(), KETTLE_KILL_NOW), EINVAL);
    CHECK_ERROR(kettle_kill(-1, KETTLE_KILL_NOW), EINVAL);
    CHECK_ERROR(kettle_kill(death_victim(0), 4), EINVAL);
    child = FORK();
    if (child == 0) {
        MUST(setuid(1000));
        CHECK_ERROR(kettle_kill(death_victim(0), KETTLE_KILL_NOW), EPERM);
        CHECK_ERROR(kettle_kill(0, KETTLE_KILL_NOW), EPERM);
        _exit(3);
    }
    CHECK_EXITS(child, 3);
}

static void test_rest(void)
{
    for (int how = 0; how <= KETTLE_KILL_HALT; how++)
        kill_and_start(death_victim(how), how);
    death_kill(death_victim(0), KETTLE_KILL_NOW);
    CHECK(kettle_kill(death_victim(0), KETTLE_KILL_NOW) == 0, "a kernel that does not run: %s", tap_error(errno));
    CHECK_ERROR(kettle_migrate(death_victim(0)), EAGAIN);
    death_start_again(death_victim(0));
}

static void *spin(void *kernel)
{
    death_go((int)(intptr_t)kernel);
    atomic_fetch_add(&death_board->ready, 1);
    for (;;)
        x86_pause();
    return NULL;
}

static void *wait_there(void *kernel)
{
    death_go((int)(intptr_t)kernel);
    atomic_fetch_add(&death_board->ready, 1);
    for (;;)
        syscall(SYS_futex, &death_board->word, FUTEX_WAIT, 0, NULL, NULL, 0);
    return NULL;
}

/* Processes of which only some threads, or only the memory, are there. */
static void test_threads(void)
{
    int dying = death_victim(0), living = death_neighbour(dying);
    void *(*const runs[])(void *) = {spin, wait_there};
    pid_t children[3];

    death_begin();
    for (int i = 0; i < 2; i++) {
        children[i] = FORK();
        if (children[i] == 0) {
            pthread_t thread;

            MUST(-pthread_create(&thread, NULL, runs[i], (void *)(intptr_t)dying));
            runs[1 - i]((void *)(intptr_t)living);
        }
    }
    children[2] = FORK();
    if (children[2] == 0) { /* it was there, and has left pages behind */
        char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        death_go(dying);
        memset(memory, 5, PAGES * PAGE);
        death_go(0);
        atomic_fetch_add(&death_board->ready, 1);
        for (;;)
            pause();
    }
    UNTIL(death_board->ready == 5, "threads to be where they should be");
    death_kill(dying, KETTLE_KILL_NOW);
    for (int i = 0; i < 3; i++)
        CHECK_DIES(children[i], SIGKILL);
    death_audit();
    death_start_again(dying);
}

static void test_homes(void)
{
    int dying = death_victim(1), talk[2], fds[] = {0, 1, 2, -1, KETTLE_FDS_END};
    pid_t child;
    char byte;

    MUST(pipe(talk));
    fds[3] = talk[1];
    child = spawn_home(dying, "rest", fds);
    close(talk[1]);
    hear(talk[0]);
    death_kill(dying, KETTLE_KILL_PANIC);
    CHECK_DIES(child, SIGKILL);
    CHECK(read(talk[0], &byte, 1) == 0, "the pipe of a process that has died has no end: %s", tap_error(errno));
    close(talk[0]);
    death_audit();
    death_start_again(dying);
}

static void test_orphans(void)
{
    int dying = death_victim(0), talk[2], fds[] = {0, 1, 2, -1, KETTLE_FDS_END};
    pid_t child;

    MUST(pipe(talk));
    fds[3] = talk[1];
    child = spawn_home(dying, "parent", fds);
    close(talk[1]);
    hear(talk[0]);
    death_kill(dying, KETTLE_KILL_NOW);
    CHECK_DIES(child, SIGKILL);
    hear(talk[0]);
    close(talk[0]);
    death_start_again(dying);
}

/* What a thread elsewhere waits for has died with its home, and nothing else: its kernel takes it as an error. */
static void test_waits(void)
{
    int dying = death_victim(0), talk[2], fds[] = {0, 1, 2, -1, KETTLE_FDS_END};
    pid_t child;

    MUST(pipe(talk));
    fds[3] = talk[1];
    child = spawn_home(dying, "waits", fds);
    close(talk[1]);
    hear(talk[0]);
    close(talk[0]);
    death_kill(dying, KETTLE_KILL_NOW);
    CHECK_DIES(child, SIGKILL);
    CHECK(!death_comes(death_neighbour(dying), INT64_C(1000000000)), "kernel %d has died, too", death_neighbour(dying));
    death_audit();
    death_start_again(dying);
}

static void *read_it(void *fd)
{
    char byte;
    ssize_t got;

    atomic_store(&death_board->ready, (int)syscall(SYS_gettid));
    got = read((int)(intptr_t)fd, &byte, 1);
    return (void *)(intptr_t)(got < 0 ? -errno : got);
}

/* What is at home there: an error, and no endless wait. */
static void test_files(void)
{
    int dying = death_victim(0), talk[2], fds[] = {0, 1, 2, -1, KETTLE_FDS_END}, pipe_end, socket_end;
    struct pollfd polled;
    pthread_t reader;
    void *result;
    pid_t child;
    char byte;

    death_begin();
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, talk));
    fds[3] = talk[1];
    child = spawn_home(dying, "pipes", fds);
    close(talk[1]);
    pipe_end = receive_fd(talk[0]);
    socket_end = receive_fd(talk[0]);
    MUST(-pthread_create(&reader, NULL, read_it, (void *)(intptr_t)pipe_end));
    UNTIL(death_board->ready != 0 && tap_sleeps(0, death_board->ready), "a reader to wait");
    death_kill(dying, KETTLE_KILL_NOW);
    MUST(-pthread_join(reader, &result));
    CHECK((intptr_t)result == -EIO, "a read that waited: %ld", (long)(intptr_t)result);
    CHECK_DIES(child, SIGKILL);
    for (int again = 0; again < 2; again++) {
        CHECK_ERROR(read(pipe_end, &byte, 1), EIO);
        CHECK_ERROR(write(socket_end, "x", 1), EIO);
        polled = (struct pollfd){.fd = pipe_end, .events = POLLIN};
        CHECK(poll(&polled, 1, 0) == 1 && (polled.revents & (POLLERR | POLLHUP)) != 0, "poll says %x", polled.revents);
        CHECK(read(talk[0], &byte, 1) == 0, "the socket to it has no end: %s", tap_error(errno));
        if (again == 0)
            death_start_again(dying); /* nothing there has these files */
    }
    CHECK(close(pipe_end) == 0 && close(socket_end) == 0 && close(talk[0]) == 0, "%s", tap_error(errno));
    death_audit();
}

static void test_locks(void)
{
    int dying = death_victim(0), talk[2], fds[] = {0, 1, 2, -1, KETTLE_FDS_END}, fd, set;
    struct mq_attr facts = {.mq_maxmsg = 2, .mq_msgsize = 16};
    struct flock lock = {.l_type = F_WRLCK};
    pid_t child, waiter;
    char text[16];
    mqd_t queue;

    death_begin();
    queue = (mqd_t)MUST(mq_open(QUEUE, O_RDWR | O_CREAT | O_NONBLOCK, 0600, &facts));
    fd = (int)MUST(open(LOCKED, O_RDWR | O_CREAT, 0600));
    set = (int)MUST(semget(0x4b44, 1, IPC_CREAT | 0600));
    MUST(semctl(set, 0, SETVAL, 1));
    MUST(pipe(talk));
    fds[3] = talk[1];
    child = spawn_home(dying, "locks", fds);
    close(talk[1]);
    hear(talk[0]);
    close(talk[0]);
    waiter = FORK();
    if (waiter == 0) {
        atomic_store(&death_board->ready, getpid());
        MUST(fcntl(fd, F_SETLKW, &lock));
        _exit(5);
    }
    UNTIL(death_board->ready != 0 && tap_sleeps(waiter, waiter), "a process to wait for the lock");
    UNTIL(tap_sleeps(child, child), "a receiver");
    death_kill(dying, KETTLE_KILL_SPIN);
    CHECK_EXITS(waiter, 5);
    CHECK_DIES(child, SIGKILL);
    CHECK(mq_notify(queue, &(struct sigevent){.sigev_notify = SIGEV_NONE}) == 0, "mq_notify: %s", tap_error(errno));
    CHECK(mq_send(queue, "kept", 5, 0) == 0 && mq_receive(queue, text, sizeof(text), NULL) == 5,
          "the message has gone: %s", tap_error(errno));
    CHECK(mq_close(queue) == 0 && mq_unlink(QUEUE) == 0, "%s", tap_error(errno));
    CHECK(flock(fd, LOCK_EX | LOCK_NB) == 0, "the file is locked: %s", tap_error(errno));
    CHECK(semctl(set, 0, GETVAL) == 1, "the semaphore is %d", semctl(set, 0, GETVAL));
    MUST(semctl(set, 0, IPC_RMID));
    close(fd);
    unlink(LOCKED);
    death_start_again(dying);
}

/* A waiter of the dead kernel does not take the wake of another one, which would sleep for ever. It may be on its way
 * back to its wait, which the freeze of all programs has interrupted: then nobody is woken, and it finds the word. */
static void test_futex(void)
{
    int dying = death_victim(0), living = death_neighbour(dying);
    pid_t children[2];

    death_begin();
    for (int i = 0; i < 2; i++) {
        children[i] = FORK();
        if (children[i] == 0) {
            death_go(i == 0 ? dying : living);
            atomic_fetch_add(&death_board->ready, 1);
            while (death_board->word == 0)
                syscall(SYS_futex, &death_board->word, FUTEX_WAIT, 0, NULL, NULL, 0);
            _exit(6);
        }
        UNTIL(death_board->ready == i + 1 && tap_sleeps(children[i], children[i]), "a waiter");
    }
    death_kill(dying, KETTLE_KILL_NOW);
    CHECK_DIES(children[0], SIGKILL);
    death_board->word = 1;
    MUST(syscall(SYS_futex, &death_board->word, FUTEX_WAKE, 1, NULL, NULL, 0));
    CHECK_EXITS(children[1], 6);
    death_start_again(dying);
}

/* A read that its kernel keeps for a reader that has died takes nothing that is written after the death. */
static void test_read(void)
{
    for (int turn = 0; turn < 2; turn++) {
        int dying = death_victim(turn), ends[2];
        char byte = 0;
        pid_t child;

        death_begin();
        MUST(pipe(ends));
        child = FORK();
        if (child == 0) {
            death_go(dying);
            death_board->ready = 1;
            read(ends[0], &byte, 1);
            _exit(1);
        }
        UNTIL(death_board->ready == 1 && tap_sleeps(child, child), "the child to wait");
        death_kill(dying, turn);
        CHECK_DIES(child, SIGKILL);
        CHECK(write(ends[1], "x", 1) == 1, "%s", tap_error(errno));
        CHECK(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 && read(ends[0], &byte, 1) == 1 && byte == 'x', "%s",
              tap_error(errno));
        CHECK(close(ends[0]) == 0 && close(ends[1]) == 0, "%s", tap_error(errno));
        death_audit();
        death_start_again(dying);
    }
}

static sigjmp_buf back;
static siginfo_t caught;

static void on_bus(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    caught = *info;
    siglongjmp(back, 1);
}

void death_catch_bus(void)
{
    struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};

    MUST(sigaction(SIGBUS, &action, NULL));
}

bool death_is_lost(char *address, int write)
{
    memset(&caught, 0, sizeof(caught));
    if (sigsetjmp(back, 1) != 0)
        return caught.si_signo == SIGBUS && caught.si_code == BUS_MCEERR_AR && caught.si_addr == address;
    if (write)
        *(volatile char *)address = 1;
    else
        (void)*(volatile char *)address;
    return 0;
}

static void *read_all(void *memory)
{
    death_go(death_neighbour(death_victim(death_count)));
    for (int i = 0; i < PAGES; i++)
        (void)((volatile char *)memory)[(long)i * PAGE];
    atomic_fetch_add(&death_board->ready, 1);
    for (;;)
        pause();
    return NULL;
}

static void lose_pages(int shared, int node)
{
    char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS,
                        -1, 0);
    unsigned long set = 1ul << node;
    char *here = memory + PAGES / 2 * PAGE, *end = memory + PAGES * PAGE;
    pthread_t thread;
    pid_t child;

    death_catch_bus();
    MUST(syscall(SYS_mbind, memory, PAGES / 2 * PAGE, 2, &set, 64, 0)); /* MPOL_BIND */
    memset(memory, 3, PAGES * PAGE);
    MUST(-pthread_create(&thread, NULL, read_all, memory));
    UNTIL(death_board->ready == 1, "a reader of all pages");
    death_board->ready = 2;
    while (death_board->over == 0)
        sched_yield();
    CHECK(death_is_lost(memory, 0) && death_is_lost(memory + PAGE, 1) && death_is_lost(here - 1, 0), "code %d at %p",
          caught.si_code, caught.si_addr);
    for (char *at = here; at < end; at += PAGE)
        CHECK(*at == 3, "%d at %p, which was not there", *at, (void *)at);
    CHECK_ERROR(write((int)MUST(open("/tmp/death-out", O_CREAT | O_WRONLY, 0600)), memory, 1), EFAULT);
    CHECK_ERROR(mlock(memory, PAGE), ENOMEM);
    CHECK_ERROR(madvise(memory, PAGE, 22 /* MADV_POPULATE_READ */), EHWPOISON);
    if (shared != 0)
        CHECK_ERROR((long)mremap(memory, 0, 4 * PAGE, MREMAP_MAYMOVE), EFAULT);
    child = FORK();
    if (child == 0)
        _exit(death_is_lost(memory + 2 * PAGE, 0) && *here == 3 ? 3 : 4);
    CHECK_EXITS(child, 3);
    MUST(mprotect(memory, PAGES * PAGE, PROT_READ));
    CHECK(death_is_lost(memory, 0) && *here == 3, "after mprotect");
    REQUIRE(mmap(memory, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == memory, "%s",
            tap_error(errno));
    CHECK(memory[0] == 0 && death_is_lost(memory + PAGE, 0), "a new page has %d", memory[0]);
    MUST(munmap(memory, PAGES * PAGE));
    _exit(5);
}

/* Processes that were never there, but have memory of it, private and shared. */
static void test_borrowed(void)
{
    int dying = death_victim(death_count), node = kettle_node(dying), alone = 1;

    for (int i = 0; i < death_count; i++)
        alone &= death_kernels[i] == dying || kettle_node(death_kernels[i]) != node;
    if (!alone) {
        tap_skip("no kernel but 0 has a node for itself");
        return;
    }
    for (int shared = 0; shared < 2; shared++) {
        pid_t child;

        death_begin();
        child = FORK();
        if (child == 0)
            lose_pages(shared, node);
        UNTIL(death_board->ready == 2, "memory of another node");
        death_kill(dying, KETTLE_KILL_NOW);
        death_audit();
        death_board->over = 1;
        CHECK_EXITS(child, 5);
        death_audit();
        death_start_again(dying);
    }
}

/* Moves memory that its parent shares from node to node. */
static void move_for_ever(char *memory)
{
    void *pages[PAGES];
    int nodes[PAGES], status[PAGES];

    for (int i = 0; i < PAGES; i++)
        pages[i] = memory + (long)i * PAGE;
    for (long round = 0;; round++) {
        for (int i = 0; i < PAGES; i++)
            nodes[i] = kettle_node(death_kernels[round % death_count]);
        MUST(syscall(SYS_move_pages, 0, PAGES, pages, nodes, status, 4)); /* MPOL_MF_MOVE_ALL */
        for (int i = 0; i < PAGES; i++)
            atomic_fetch_add(&death_board->done[0], status[i] == nodes[i]);
    }
}

/* Shares memory, or FILE if that is not negative, with a process that moves it on DYING, and uses it until that is
 * over.
 */
static int share_moving(int dying, int file)
{
    char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | (file < 0 ? MAP_ANONYMOUS : 0), file,
                        0);
    long value = 0;

    memset(memory, 0, PAGES * PAGE);
    if (FORK() == 0) {
        death_go(dying);
        move_for_ever(memory);
    }
    for (; death_board->over == 0 || value % PAGES != 0; value++) {
        volatile long *word = (volatile long *)(void *)(memory + value % PAGES * PAGE);

        if (*word != value / PAGES)
            return 9;
        *word = value / PAGES + 1;
    }
    MUST(mprotect(memory, PAGES * PAGE, PROT_READ)); /* waits for its lock */
    MUST(munmap(memory, PAGES * PAGE));
    return 8;
}

/* Each page of FILE can be written to, or is lost. */
static void check_moved(int file)
{
    for (int i = 0; i < PAGES; i++) {
        long value = -1;
        ssize_t length = pread(file, &value, sizeof(value), (long)i * PAGE);

        CHECK((length == sizeof(value) && pwrite(file, &value, sizeof(value), (long)i * PAGE) == length) ||
                  (length < 0 && errno == EIO),
              "page %d: %ld of %ld bytes, %s", i, (long)length, value, tap_error(errno));
    }
    MUST(close(file));
}

/* The mover of memory that processes share, or of a file, dies: these are not left with pages that are locked or
 * differ. They may have got memory of its kernel, or be in the middle of a move. */
static void test_mover(void)
{
    int ends[2] = {0, 0};

    for (int k = 0; k < death_rounds; k++) {
        int dying = death_victim(k), status = 0, file = k % 2 != 0 ? (int)MUST(memfd_create("moved", 0)) : -1;
        pid_t child;

        if (file >= 0)
            MUST(ftruncate(file, PAGES * PAGE));
        death_begin();
        child = FORK();
        if (child == 0)
            _exit(share_moving(dying, file));
        UNTIL(death_board->done[0] > 20 + 7 * k, "pages that have moved");
        death_kill(dying, k % (KETTLE_KILL_HALT + 1));
        death_board->over = 1;
        MUST(waitpid(child, &status, 0));
        ends[WIFEXITED(status)]++;
        CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 8) || (WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS),
              "round %d: status %x", k, (unsigned)status);
        if (file >= 0)
            check_moved(file);
        death_audit();
        death_start_again(dying);
    }
    tap_note("%d processes went on, %d ended by SIGBUS", ends[1], ends[0]);
}

static void test_load(void)
{
    int64_t slowest = 0;

    for (long round = 0; round < death_rounds; round++) {
        int dying = death_victim((int)round), living = death_neighbour(dying);
        pid_t workers[2], wanderers[2];
        int64_t since;

        death_begin();
        for (int i = 0; i < 2; i++) {
            workers[i] = FORK();
            if (workers[i] == 0)
                death_work(i, i == 0 ? 0 : living, i == 0 ? living : 0);
        }
        for (int i = 0; i < 2; i++)
            wanderers[i] = death_wanderer((uint64_t)(2 * round + i));
        UNTIL(death_board->done[0] > round % 3 && death_board->done[1] > 0 &&
                  death_board->other_word > 5u + 3u * (unsigned)round % 40u,
              "work");
        since = tap_time();
        death_kill(dying, round % 5 == 4 ? KETTLE_KILL_PANIC : KETTLE_KILL_NOW);
        if (tap_time() - since > slowest)
            slowest = tap_time() - since;
        death_audit();
        death_start_again(dying);
        for (long before = death_board->done[0]; death_board->done[0] == before;)
            sched_yield();
        death_board->over = 1;
        for (int i = 0; i < 2; i++)
            CHECK_EXITS(workers[i], 0);
        for (int i = 0; i < 2; i++)
            death_reap(wanderers[i]);
        CHECK(death_board->wrong == 0, "%ld things went wrong", (long)death_board->wrong);
    }
    death_audit();
    tap_note("%ld deaths under load, the slowest was cleaned up in %ld us", death_rounds, (long)(slowest / 1000));
}

/* --- workers without memory --- */

#define ENDING 12 /* more than have a worker without memory */

/* The threads of children at home on a neighbour, on the kernel that dies. The last one shows that the kernel runs. */
static void *stay_there(void *beats)
{
    death_go(death_victim(0));
    death_board->pages[0] = 1;
    atomic_fetch_add(&death_board->ready, 1);
    while (beats != NULL)
        atomic_fetch_add(&death_board->word, 1);
    pause();
    return NULL;
}

static _Noreturn void stay_on_both(int number)
{
    pthread_t thread;

    MUST(-pthread_create(&thread, NULL, stay_there, number == ENDING - 1 ? death_board : NULL));
    for (;;)
        pause();
}

static bool has_stopped(void)
{
    unsigned before = death_board->word;

    for (int i = 0; i < 2000; i++) {
        x86_pause();
        if (i % 20 == 0)
            sched_yield();
    }
    return death_board->word == before;
}

/* Between the hang and its discovery processes are killed whose ends wait for the kernel that hangs, and for which
 * their home has no more workers. */
static void test_workers(void)
{
    int dying = death_victim(0), home = death_neighbour(dying);
    pid_t children[ENDING], killer;

    death_begin();
    for (int i = 0; i < ENDING; i++) {
        death_go(home);
        children[i] = FORK();
        if (children[i] == 0)
            stay_on_both(i);
        UNTIL(death_board->ready == i + 1, "a thread on the kernel that dies");
    }
    death_go(0);
    MUST(kettle_control("workers=few"));
    killer = FORK();
    if (killer == 0)
        _exit(kettle_kill(dying, KETTLE_KILL_SPIN) == 0 ? 0 : 1);
    UNTIL(has_stopped(), "the kernel to hang");
    for (int i = 0; i < ENDING; i++)
        MUST(kill(children[i], SIGKILL));
    CHECK_EXITS(killer, 0);
    for (int i = 0; i < ENDING; i++)
        CHECK_DIES(children[i], SIGKILL);
    MUST(kettle_control("workers=more"));
    death_audit();
    death_start_again(dying);
}

/* --- nothing is lost --- */

/* What is counted exactly of KERNEL: all up to the timers; and the frames that it uses, in *USED. */
static void objects_of(int kernel, char *counts, size_t size, long *used)
{
    static char text[65536];
    char name[32], *line, *end;
    ssize_t got = 0, more;
    int fd = (int)MUST(open("/proc/kettle/objects", O_RDONLY));

    while ((more = read(fd, text + got, sizeof(text) - 1 - (size_t)got)) > 0)
        got += more;
    close(fd);
    text[got] = '\0';
    snprintf(name, sizeof(name), "kernel %d ", kernel);
    line = strstr(text, name);
    REQUIRE(line != NULL, "no objects of kernel %d", kernel);
    end = strstr(line, " objects ");
    *used = strtol(strstr(line, " used ") + 6, NULL, 10);
    snprintf(counts, size, "%.*s", (int)(end - line), line);
}

static void test_account(void)
{
    char before[64][256], after[256];
    long used_before[64], used;

    for (int turn = 0; turn < 4; turn++) { /* the first two make what is kept */
        for (int i = 0; i < death_count && turn == 2; i++)
            objects_of(death_kernels[i], before[i], sizeof(before[i]), &used_before[i]);
        test_threads();
        test_homes();
        test_files();
    }
    for (int i = 0; i < death_count; i++) {
        if (death_kernels[i] != 0 && death_kernels[i] == death_victim(0))
            continue; /* it is new */
        UNTIL((objects_of(death_kernels[i], after, sizeof(after), &used), strcmp(before[i], after) == 0),
              "a kernel to have what it had");
        CHECK(used - used_before[i] < 300, "kernel %d: %ld frames in use, now %ld", death_kernels[i], used_before[i],
              used);
        tap_note("kernel %d: %ld frames in use, and %ld after six deaths more", death_kernels[i], used_before[i], used);
    }
}

/* --- where processes are --- */

/* The option place= of kernel 0. */
static void find_place(char place[32])
{
    char text[4096] = "", *word;
    int fd = (int)MUST(open("/proc/kettle/balance", O_RDONLY));

    read(fd, text, sizeof(text) - 1);
    close(fd);
    word = strstr(text, " place ");
    REQUIRE(word != NULL && sscanf(word, " place %31s", place) == 1, "/proc/kettle/balance: %s", text);
}

/* Runs this program again, at home on kernel 0, while no process is placed on another kernel than its parent's. Returns
 * its exit status. */
static int run_on_first(char **argv, const char *place)
{
    char words[64];
    int status = -1;
    pid_t child;

    snprintf(words, sizeof(words), "place=%s", place);
    if (kettle_control("place=local") != 0 || (child = kettle_spawn(0, self, argv, environ, NULL)) < 0) {
        perror("place=local");
        return 2;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (kettle_control(words) != 0)
        perror(words);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

int main(int argc, char **argv)
{
    char place[32];
    static const struct tap_test tests[] = {
        {"refused", "only root ends a kernel", test_refused},
        {"rest", "a kernel that dies in any way is noticed, and starts again", test_rest},
        {"threads", "a process with a thread or memory there ends by SIGKILL, on all kernels", test_threads},
        {"homes", "a process at home there ends for its parent, and its pipes hang up", test_homes},
        {"orphans", "a child of a process at home there goes on, with init as its parent", test_orphans},
        {"vfork", "a death is cleaned up while a parent that has been killed waits for its child in vfork",
         death_test_vfork},
        {"vfork-storm", "so it is while more such parents are killed", death_test_vfork_storm},
        {"vfork-home", "so it is where the home of such a parent dies", death_test_vfork_home},
        {"waits", "threads elsewhere of a process at home there end, in whatever call they wait", test_waits},
        {"files", "files at home there fail with EIO, also after the kernel has started again", test_files},
        {"locks", "locks, semaphores and queues of a process at home there are given back", test_locks},
        {"served", "messages passed on to receivers there are received by others, in their order", death_test_served},
        {"futex", "a waiter there does not take another one's wake", test_futex},
        {"robust", "robust locks that a thread there holds are released, and their waiters told", death_test_robust},
        {"robust-many", "so are those of more threads than have notes at their home", death_test_robust_many},
        {"pi", "locks of FUTEX_LOCK_PI that a process there owns are taken over", death_test_pi},
        {"read", "a reader there takes nothing that is written afterwards", test_read},
        {"borrowed", "a process that maps frames of it gets SIGBUS when it touches such a page, and not before",
         test_borrowed},
        {"copies", "replicated pages are not lost with it, and copies end with their processes", death_test_copies},
        {"file", "pages of a file that are in its memory are lost, and the others are not", death_test_file},
        {"mover", "memory that it moves for others is unlocked", test_mover},
        {"workers", "a kernel dies while ends of processes wait for it, and their home has no more workers",
         test_workers},
        {"load", "kernels die under load, and what is elsewhere goes on with the right results", test_load},
        {"second", "a second kernel dies while the others clean up, and both start again", death_test_second},
        {"types", "a kernel dies at each message that it takes under load, with the same", death_test_types},
        {"times", "a death is over in a bounded time", death_test_times},
        {"account", "the others have what they had before", test_account},
    };
    static const struct tap_child children[] = {{"home", be_home}};
    const struct tap_program program = {.tests = tests,
                                        .count = TAP_COUNT(tests),
                                        .apart = true,
                                        .extra = INT64_C(900000000000), /* types: a death at each */
                                        .children = children,
                                        .child_count = 1,
                                        .parameters = "[ROUNDS]"};

    self = (char *)(uintptr_t)tap_self();
    find_place(place);
    if (strcmp(place, "local") != 0)
        return run_on_first(argv, place);
    tap_take_number(&argc, &argv, &death_rounds);
    death_count = tap_kernels(death_kernels);
    if (death_count > 1 && kettle_migrate(0) != 0)
        return 2;
    death_board = tap_share(sizeof(*death_board));
    return tap_main(argc, argv, &program);
}
