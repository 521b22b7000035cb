/* test-death: kernels die, at rest and while programs use them in all ways; the others notice it, end what had a part
 * there, keep everything else, and start the dead ones again. Afterwards every kernel has what it had before, and the
 * audit finds nothing. Takes a number of rounds of deaths under load.
 *
 * For a machine with place=local, where a process that has not moved is on its kernel alone: this one and what has to
 * survive are on kernel 0. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "userland/x86.h"

#define FUTEX_WAIT 0
#define FUTEX_WAKE 1
#define PAGE 4096
#define PAGES 64
#define LOCKED "/tmp/death-lock"

static long rounds = 6;
static int kernels[64], count; /* those that run */
static char *self;

/* What processes tell each other. */
static struct board {
    atomic_int ready, woken, over;
    atomic_uint word, other_word;
    atomic_long done[8], wrong;
    char pages[PAGES * PAGE];
} * board;

static const char *const ways[] = {"now", "panic", "spin", "halt"}; /* KETTLE_KILL_* */

/* A kernel that may die: not 0. */
static int victim(int number)
{
    return kernels[1 + number % (count - 1)];
}

/* Another one that lives on, if there is one, else kernel 0. */
static int neighbour(int kernel)
{
    for (int i = 1; i < count; i++) {
        if (kernels[i] != kernel)
            return kernels[i];
    }
    return 0;
}

static void go(int kernel)
{
    REQUIRE(kettle_migrate(kernel) == 0, "to kernel %d: %s", kernel, tap_error(errno));
}

static void kill_kernel(int kernel, int how)
{
    CHECK(kettle_kill(kernel, how) == 0, "death of kernel %d, %s: %s", kernel, ways[how], tap_error(errno));
    CHECK(kettle_started(kernel) == 0, "kernel %d runs", kernel);
}

static void audit(void)
{
    static char report[16384];
    int violations = kettle_audit(KETTLE_AUDIT_MACHINE, report, sizeof(report));

    CHECK(violations == 0, "the audit: %d: %s", violations, violations < 0 ? tap_error(errno) : report);
}

/* Starts it again; it works. */
static void start_again(int kernel)
{
    pid_t child;

    REQUIRE(kettle_start(kernel) == 0, "start of kernel %d: %s", kernel, tap_error(errno));
    child = FORK();
    if (child == 0) {
        go(kernel);
        memset(board->pages, 1, sizeof(board->pages));
        _exit(kettle_kernel() == kernel ? 17 : 18);
    }
    CHECK_EXITS(child, 17);
}

static void kill_and_start(int kernel, int how)
{
    kill_kernel(kernel, how);
    audit();
    start_again(kernel);
}

static void begin(void)
{
    memset(board, 0, sizeof(*board));
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

/* A process at home where it was spawned. Descriptor 3 is its own end to talk through. */
static int be_home(int argc, char **argv)
{
    const char *what = argc > 0 ? argv[argc - 1] : "";
    struct sembuf down = {.sem_op = -1, .sem_flg = SEM_UNDO};
    struct flock lock = {.l_type = F_WRLCK};
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
        say(3);
    } else if (strcmp(what, "parent") == 0) { /* has a child that is at home elsewhere */
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

    CHECK_ERROR(kettle_kill(0, KETTLE_KILL_NOW), EBUSY);
    CHECK_ERROR(kettle_kill(kettle_kernels(), KETTLE_KILL_NOW), EINVAL);
    CHECK_ERROR(kettle_kill(-1, KETTLE_KILL_NOW), EINVAL);
    CHECK_ERROR(kettle_kill(victim(0), 4), EINVAL);
    child = FORK();
    if (child == 0) {
        MUST(setuid(1000));
        CHECK_ERROR(kettle_kill(victim(0), KETTLE_KILL_NOW), EPERM);
        _exit(3);
    }
    CHECK_EXITS(child, 3);
}

static void test_rest(void)
{
    for (int how = 0; how <= KETTLE_KILL_HALT; how++)
        kill_and_start(victim(how), how);
    kill_kernel(victim(0), KETTLE_KILL_NOW);
    CHECK(kettle_kill(victim(0), KETTLE_KILL_NOW) == 0, "a kernel that does not run: %s", tap_error(errno));
    CHECK_ERROR(kettle_migrate(victim(0)), EAGAIN);
    start_again(victim(0));
}

static void *spin(void *kernel)
{
    go((int)(intptr_t)kernel);
    atomic_fetch_add(&board->ready, 1);
    for (;;)
        x86_pause();
    return NULL;
}

static void *wait_there(void *kernel)
{
    go((int)(intptr_t)kernel);
    atomic_fetch_add(&board->ready, 1);
    for (;;)
        syscall(SYS_futex, &board->word, FUTEX_WAIT, 0, NULL, NULL, 0);
    return NULL;
}

/* Processes of which only some threads, or only the memory, are there. */
static void test_threads(void)
{
    int dying = victim(0), living = neighbour(dying);
    void *(*const runs[])(void *) = {spin, wait_there};
    pid_t children[3];

    begin();
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

        go(dying);
        memset(memory, 5, PAGES * PAGE);
        go(0);
        atomic_fetch_add(&board->ready, 1);
        for (;;)
            pause();
    }
    UNTIL(board->ready == 5, "threads to be where they should be");
    kill_kernel(dying, KETTLE_KILL_NOW);
    for (int i = 0; i < 3; i++)
        CHECK_DIES(children[i], SIGKILL);
    audit();
    start_again(dying);
}

static void test_homes(void)
{
    int dying = victim(1), talk[2], fds[] = {0, 1, 2, -1, KETTLE_FDS_END};
    pid_t child;
    char byte;

    MUST(pipe(talk));
    fds[3] = talk[1];
    child = spawn_home(dying, "rest", fds);
    close(talk[1]);
    hear(talk[0]);
    kill_kernel(dying, KETTLE_KILL_PANIC);
    CHECK_DIES(child, SIGKILL);
    CHECK(read(talk[0], &byte, 1) == 0, "the pipe of a process that has died has no end: %s", tap_error(errno));
    close(talk[0]);
    audit();
    start_again(dying);
}

static void test_orphans(void)
{
    int dying = victim(0), talk[2], fds[] = {0, 1, 2, -1, KETTLE_FDS_END};
    pid_t child;

    MUST(pipe(talk));
    fds[3] = talk[1];
    child = spawn_home(dying, "parent", fds);
    close(talk[1]);
    hear(talk[0]);
    kill_kernel(dying, KETTLE_KILL_NOW);
    CHECK_DIES(child, SIGKILL);
    hear(talk[0]);
    close(talk[0]);
    start_again(dying);
}

static void *read_it(void *fd)
{
    char byte;
    ssize_t got;

    atomic_store(&board->ready, (int)syscall(SYS_gettid));
    got = read((int)(intptr_t)fd, &byte, 1);
    return (void *)(intptr_t)(got < 0 ? -errno : got);
}

/* What is at home there: an error, and no endless wait. */
static void test_files(void)
{
    int dying = victim(0), talk[2], fds[] = {0, 1, 2, -1, KETTLE_FDS_END}, pipe_end, socket_end;
    struct pollfd polled;
    pthread_t reader;
    void *result;
    pid_t child;
    char byte;

    begin();
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, talk));
    fds[3] = talk[1];
    child = spawn_home(dying, "pipes", fds);
    close(talk[1]);
    pipe_end = receive_fd(talk[0]);
    socket_end = receive_fd(talk[0]);
    MUST(-pthread_create(&reader, NULL, read_it, (void *)(intptr_t)pipe_end));
    UNTIL(board->ready != 0 && tap_sleeps(0, board->ready), "a reader to wait");
    kill_kernel(dying, KETTLE_KILL_NOW);
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
            start_again(dying); /* nothing there has these files */
    }
    CHECK(close(pipe_end) == 0 && close(socket_end) == 0 && close(talk[0]) == 0, "%s", tap_error(errno));
    audit();
}

static void test_locks(void)
{
    int dying = victim(0), talk[2], fds[] = {0, 1, 2, -1, KETTLE_FDS_END}, fd, set;
    struct flock lock = {.l_type = F_WRLCK};
    pid_t child, waiter;

    begin();
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
        atomic_store(&board->ready, getpid());
        MUST(fcntl(fd, F_SETLKW, &lock));
        _exit(5);
    }
    UNTIL(board->ready != 0 && tap_sleeps(waiter, waiter), "a process to wait for the lock");
    kill_kernel(dying, KETTLE_KILL_SPIN);
    CHECK_EXITS(waiter, 5);
    CHECK_DIES(child, SIGKILL);
    CHECK(flock(fd, LOCK_EX | LOCK_NB) == 0, "the file is locked: %s", tap_error(errno));
    CHECK(semctl(set, 0, GETVAL) == 1, "the semaphore is %d", semctl(set, 0, GETVAL));
    MUST(semctl(set, 0, IPC_RMID));
    close(fd);
    unlink(LOCKED);
    start_again(dying);
}

/* A waiter of the dead kernel does not take the wake of another one, which would sleep for ever. It may be on its way
 * back to its wait, which the freeze of all programs has interrupted: then nobody is woken, and it finds the word. */
static void test_futex(void)
{
    int dying = victim(0), living = neighbour(dying);
    pid_t children[2];

    begin();
    for (int i = 0; i < 2; i++) {
        children[i] = FORK();
        if (children[i] == 0) {
            go(i == 0 ? dying : living);
            atomic_fetch_add(&board->ready, 1);
            while (board->word == 0)
                syscall(SYS_futex, &board->word, FUTEX_WAIT, 0, NULL, NULL, 0);
            _exit(6);
        }
        UNTIL(board->ready == i + 1 && tap_sleeps(children[i], children[i]), "a waiter");
    }
    kill_kernel(dying, KETTLE_KILL_NOW);
    CHECK_DIES(children[0], SIGKILL);
    board->word = 1;
    MUST(syscall(SYS_futex, &board->word, FUTEX_WAKE, 1, NULL, NULL, 0));
    CHECK_EXITS(children[1], 6);
    start_again(dying);
}

/* A process that was never there, but has memory of it. */
static void test_borrowed(void)
{
    int dying = victim(count), node = kettle_node(dying), alone = 1;
    unsigned long set = 1ul << node;
    pid_t child;

    for (int i = 0; i < count; i++)
        alone &= kernels[i] == dying || kettle_node(kernels[i]) != node;
    if (!alone) {
        tap_skip("no kernel but 0 has a node for itself");
        return;
    }
    begin();
    child = FORK();
    if (child == 0) {
        char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        MUST(syscall(SYS_mbind, memory, PAGES * PAGE, 2, &set, 64, 0)); /* MPOL_BIND */
        memset(memory, 3, PAGES * PAGE);
        board->ready = 1;
        for (;;)
            pause();
    }
    UNTIL(board->ready == 1, "memory of another node");
    kill_kernel(dying, KETTLE_KILL_NOW);
    CHECK_DIES(child, SIGBUS);
    audit();
    start_again(dying);
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
            nodes[i] = kettle_node(kernels[round % count]);
        MUST(syscall(SYS_move_pages, 0, PAGES, pages, nodes, status, 4)); /* MPOL_MF_MOVE_ALL */
        for (int i = 0; i < PAGES; i++)
            atomic_fetch_add(&board->done[0], status[i] == nodes[i]);
    }
}

/* Shares memory with a process that moves it on DYING, and uses it until that is over. */
static int share_moving(int dying)
{
    char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    long value = 0;

    memset(memory, 0, PAGES * PAGE);
    if (FORK() == 0) {
        go(dying);
        move_for_ever(memory);
    }
    for (; board->over == 0 || value % PAGES != 0; value++) {
        volatile long *word = (volatile long *)(void *)(memory + value % PAGES * PAGE);

        if (*word != value / PAGES)
            return 9;
        *word = value / PAGES + 1;
    }
    MUST(mprotect(memory, PAGES * PAGE, PROT_READ)); /* waits for its lock */
    MUST(munmap(memory, PAGES * PAGE));
    return 8;
}

/* The mover of memory that processes share dies: these are not left with pages that are locked or differ. They may have
 * got memory of its kernel, or be in the middle of a move. */
static void test_mover(void)
{
    int ends[2] = {0, 0};

    for (int k = 0; k < rounds; k++) {
        int dying = victim(k), status = 0;
        pid_t child;

        begin();
        child = FORK();
        if (child == 0)
            _exit(share_moving(dying));
        UNTIL(board->done[0] > 20 + 7 * k, "pages that have moved");
        kill_kernel(dying, k % (KETTLE_KILL_HALT + 1));
        board->over = 1;
        MUST(waitpid(child, &status, 0));
        ends[WIFEXITED(status)]++;
        CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 8) || (WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS),
              "round %d: status %x", k, (unsigned)status);
        audit();
        start_again(dying);
    }
    tap_note("%d processes went on, %d ended by SIGBUS", ends[1], ends[0]);
}

/* --- under load --- */

/* Works on the kernels that live on, for as long as the board says, and counts what is wrong. */
static void work(int index, int home, int other)
{
    char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int ends[2];

    MUST(pipe(ends));
    for (long turn = 0; !board->over; turn++) {
        char buffer[256];
        pid_t child;
        int status;

        go(turn % 2 == 0 ? home : other);
        memset(memory, (int)turn, PAGES * PAGE);
        child = FORK();
        if (child == 0) {
            go(turn % 3 == 0 ? home : other);
            memset(buffer, memory[PAGE * (turn % PAGES)], sizeof(buffer));
            _exit(write(ends[1], buffer, sizeof(buffer)) == sizeof(buffer) ? 4 : 5);
        }
        if (read(ends[0], buffer, sizeof(buffer)) != sizeof(buffer) || buffer[7] != (char)turn)
            atomic_fetch_add(&board->wrong, 1);
        if (waitpid(child, &status, 0) != child || status != 4 << 8)
            atomic_fetch_add(&board->wrong, 1);
        board->done[index]++;
    }
    _exit(board->done[index] > 0 ? 0 : 1);
}

/* Runs about everywhere, the dying kernel too, until it ends with it. */
static void *wander(void *argument)
{
    uint64_t state = (uint64_t)(uintptr_t)argument;

    for (;;) {
        char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        uint32_t *shared = (uint32_t *)(void *)board->pages;

        kettle_migrate(kernels[tap_random(&state) % (unsigned)count]);
        if (memory == MAP_FAILED)
            continue;
        memset(memory, 1, PAGES * PAGE / (1 + tap_random(&state) % 8));
        atomic_fetch_add((atomic_uint *)&board->other_word, 1);
        syscall(SYS_futex, &board->other_word, FUTEX_WAKE, 1, NULL, NULL, 0);
        shared[tap_random(&state) % 64]++;
        munmap(memory, PAGES * PAGE);
        if (tap_random(&state) % 4 == 0) {
            pid_t child = fork();

            if (child == 0)
                _exit(0);
            if (child > 0)
                waitpid(child, NULL, 0);
        }
        x86_pause();
    }
    return NULL;
}

static pid_t wanderer(uint64_t seed)
{
    pid_t child = FORK();

    if (child == 0) {
        pthread_t threads[2];

        for (int i = 0; i < 2; i++)
            MUST(-pthread_create(&threads[i], NULL, wander, (void *)(uintptr_t)(seed * 3 + (unsigned)i)));
        wander((void *)(uintptr_t)(seed + 77));
    }
    return child;
}

static void reap(pid_t child)
{
    int status;

    kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
}

static void test_load(void)
{
    int64_t slowest = 0;

    for (long round = 0; round < rounds; round++) {
        int dying = victim((int)round), living = neighbour(dying);
        pid_t workers[2], wanderers[2];
        int64_t since;

        begin();
        for (int i = 0; i < 2; i++) {
            workers[i] = FORK();
            if (workers[i] == 0)
                work(i, i == 0 ? 0 : living, i == 0 ? living : 0);
        }
        for (int i = 0; i < 2; i++)
            wanderers[i] = wanderer((uint64_t)(2 * round + i));
        UNTIL(board->done[0] > round % 3 && board->done[1] > 0 && board->other_word > 5u + 3u * (unsigned)round % 40u,
              "work");
        since = tap_time();
        kill_kernel(dying, round % 5 == 4 ? KETTLE_KILL_PANIC : KETTLE_KILL_NOW);
        if (tap_time() - since > slowest)
            slowest = tap_time() - since;
        audit();
        start_again(dying);
        for (long before = board->done[0]; board->done[0] == before;)
            sched_yield();
        board->over = 1;
        for (int i = 0; i < 2; i++)
            CHECK_EXITS(workers[i], 0);
        for (int i = 0; i < 2; i++)
            reap(wanderers[i]);
        CHECK(board->wrong == 0, "%ld things went wrong", (long)board->wrong);
    }
    audit();
    tap_note("%ld deaths under load, the slowest was cleaned up in %ld us", rounds, (long)(slowest / 1000));
}

/* --- at each message --- */

#define TYPES_MAX 300

static char types[TYPES_MAX][32];
static int type_count;

/* The types of messages of which another kernel than 0 has taken one, or its reply. */
static void find_types(void)
{
    static char text[262144];
    int fd = (int)MUST(open("/proc/kettle/messages", O_RDONLY));
    ssize_t got = 0, more;

    while ((more = read(fd, text + got, sizeof(text) - 1 - (size_t)got)) > 0)
        got += more;
    close(fd);
    text[got] = '\0';
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char name[32];
        unsigned kernel;
        long received;
        int known = 0;

        if (sscanf(line, "kernel %u %31s sent %*u received %ld", &kernel, name, &received) != 3 || kernel == 0 ||
            received == 0)
            continue;
        if (strchr(name, '.') != NULL) /* the reply to it */
            *strchr(name, '.') = '\0';
        while (known < type_count && strcmp(types[known], name) != 0)
            known++;
        if (known == type_count && type_count < TYPES_MAX)
            strcpy(types[type_count++], name);
    }
}

static bool dies_soon(int kernel)
{
    int64_t since = tap_time();

    while (tap_time() - since < INT64_C(400000000)) {
        if (kettle_started(kernel) == 0)
            return true;
        sched_yield();
    }
    return false;
}

/* The kernel dies when it is about to take the NUMBERth message of a type, which is in a ring, by a load of all kinds.
 */
static void test_types(void)
{
    int reached = 0, at_all = 0;
    char line[4096] = "";

    test_load();
    test_files();
    find_types();
    CHECK(type_count > (kettle_kernels() > 2 ? 20 : 10), "only %d types of messages", type_count);
    for (int i = 0; i < type_count; i++) {
        int dying = victim(i), living = neighbour(dying);
        pid_t workers[2], wanderers[2];
        char words[128];

        begin();
        workers[0] = FORK();
        if (workers[0] == 0)
            work(0, 0, living);
        for (int k = 0; k < 2; k++)
            wanderers[k] = wanderer((uint64_t)(2 * i + k));
        snprintf(words, sizeof(words), "kernel=%d inject=type:%s,delay:0,dies:%d", dying, types[i], 1 + i % 3);
        at_all++;
        if (kettle_control(words) == 0 && dies_soon(dying)) {
            reached++;
            if (strlen(line) + strlen(types[i]) + 2 < sizeof(line))
                strcat(strcat(line, " "), types[i]);
        } else if (kettle_started(dying) == 1) {
            snprintf(words, sizeof(words), "kernel=%d inject=off", dying);
            kettle_control(words); /* it may die at this very message */
            if (!dies_soon(dying))
                CHECK(kettle_started(dying) == 1, "kernel %d is dead", dying);
        }
        if (kettle_started(dying) == 0) {
            audit();
            start_again(dying);
        }
        for (long before = board->done[0]; board->done[0] == before;)
            sched_yield();
        board->over = 1;
        CHECK_EXITS(workers[0], 0);
        for (int k = 0; k < 2; k++)
            reap(wanderers[k]);
        CHECK(board->wrong == 0, "%s: %ld things went wrong", types[i], (long)board->wrong);
    }
    audit();
    CHECK(reached > (kettle_kernels() > 2 ? type_count / 4 : 0), "%d of %d types were reached", reached, type_count);
    tap_note("%d of %d types of messages were reached:%s", reached, at_all, line);
}

/* --- how long --- */

/* Until the others have noticed it and have cleaned up, and a process that was at work goes on; at rest, and with three
 * threads about. */
static void test_times(void)
{
    for (int loaded = 0; loaded < 2; loaded++) {
        for (int how = 0; how <= KETTLE_KILL_HALT; how++) {
            int dying = victim(how);
            pid_t worker, wandering = 0;
            int64_t since, gone, first;
            long before;

            begin();
            worker = FORK();
            if (worker == 0)
                work(0, 0, 0);
            if (loaded)
                wandering = wanderer((uint64_t)how);
            UNTIL(board->done[0] > 0 && (!loaded || board->other_word > 10), "work");
            since = tap_time();
            kill_kernel(dying, how);
            gone = tap_time() - since;
            before = board->done[0];
            UNTIL(board->done[0] != before, "work again");
            first = tap_time() - since;
            tap_note("%s, %s: cleaned up after %ld us, work done after %ld us", ways[how], loaded ? "load" : "rest",
                     (long)(gone / 1000), (long)(first / 1000));
            board->over = 1;
            CHECK_EXITS(worker, 0);
            if (loaded)
                reap(wandering);
            start_again(dying);
        }
    }
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
        for (int i = 0; i < count && turn == 2; i++)
            objects_of(kernels[i], before[i], sizeof(before[i]), &used_before[i]);
        test_threads();
        test_homes();
        test_files();
    }
    for (int i = 0; i < count; i++) {
        if (kernels[i] != 0 && kernels[i] == victim(0))
            continue; /* it is new */
        UNTIL((objects_of(kernels[i], after, sizeof(after), &used), strcmp(before[i], after) == 0),
              "a kernel to have what it had");
        CHECK(used - used_before[i] < 300, "kernel %d: %ld frames in use, now %ld", kernels[i], used_before[i], used);
    }
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"refused", "only root ends a kernel, and not kernel 0", test_refused},
        {"rest", "a kernel that dies in any way is noticed, and starts again", test_rest},
        {"threads", "a process with a thread or memory there ends by SIGKILL, on all kernels", test_threads},
        {"homes", "a process at home there ends for its parent, and its pipes hang up", test_homes},
        {"orphans", "a child of a process at home there goes on, with init as its parent", test_orphans},
        {"files", "files at home there fail with EIO, also after the kernel has started again", test_files},
        {"locks", "locks and semaphores of a process at home there are given back", test_locks},
        {"futex", "a waiter there does not take another one's wake", test_futex},
        {"borrowed", "a process that maps frames of it ends by SIGBUS", test_borrowed},
        {"mover", "memory that it moves for others is unlocked", test_mover},
        {"load", "kernels die under load, and what is elsewhere goes on with the right results", test_load},
        {"types", "a kernel dies at each message that it takes under load, with the same", test_types},
        {"times", "a death is over in a bounded time", test_times},
        {"account", "the others have what they had before", test_account},
    };
    static const struct tap_child children[] = {{"home", be_home}};
    const struct tap_program program = {.tests = tests,
                                        .count = TAP_COUNT(tests),
                                        .apart = true,
                                        .children = children,
                                        .child_count = 1,
                                        .parameters = "[ROUNDS]"};

    self = (char *)(uintptr_t)tap_self();
    tap_take_number(&argc, &argv, &rounds);
    count = tap_kernels(kernels);
    if (count > 1 && kettle_migrate(0) != 0)
        return 2;
    board = tap_share(sizeof(*board));
    return tap_main(argc, argv, &program);
}
