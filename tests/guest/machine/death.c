/* What the parts of test-death share. See the header. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"
#include "userland/x86.h"

#define FUTEX_WAKE 1

long death_rounds = 6;
const char *death_types;
struct death_board *death_board;
int death_kernels[64], death_count;
const char *death_state = "no message";
const char *const death_ways[] = {"now", "panic", "spin", "halt"};

/* A kernel that may die: not 0. */
int death_victim(int number)
{
    return death_kernels[1 + number % (death_count - 1)];
}

/* Another one that lives on, if there is one, else kernel 0. */
int death_neighbour(int kernel)
{
    for (int i = 1; i < death_count; i++) {
        if (death_kernels[i] != kernel)
            return death_kernels[i];
    }
    return 0;
}

bool death_successor(int *kernel, int *successor)
{
    for (int i = 1; i < death_count; i++) {
        int node = kettle_node(death_kernels[i]);

        for (int k = 1; k < i && node != kettle_node(0); k++) {
            if (kettle_node(death_kernels[k]) != node)
                continue;
            *kernel = death_kernels[i];
            *successor = death_kernels[k]; /* the first on the nearest node */
            return true;
        }
    }
    return false;
}

void death_go(int kernel)
{
    REQUIRE(kettle_migrate(kernel) == 0, "to kernel %d: %s", kernel, tap_error(errno));
}

void death_kill(int kernel, int how)
{
    CHECK(kettle_kill(kernel, how) == 0, "death of kernel %d, %s: %s", kernel, death_ways[how], tap_error(errno));
    CHECK(kettle_started(kernel) == 0, "kernel %d runs", kernel);
}

void death_audit(void)
{
    static char report[16384];
    int violations = kettle_audit(KETTLE_AUDIT_MACHINE, report, sizeof(report));

    CHECK(violations == 0, "%s: the audit: %d: %s", death_state, violations,
          violations < 0 ? tap_error(errno) : report);
}

/* Starts it again; it works. */
void death_start_again(int kernel)
{
    char words[64];
    pid_t child;

    REQUIRE(kettle_start(kernel) == 0, "%s: start of kernel %d: %s", death_state, kernel, tap_error(errno));
    snprintf(words, sizeof(words), "kernel=%d place=local", kernel); /* it has the option of the boot */
    CHECK(kettle_control(words) == 0, "%s: %s", words, tap_error(errno));
    child = FORK();
    if (child == 0) {
        death_go(kernel);
        memset(death_board->pages, 1, sizeof(death_board->pages));
        _exit(kettle_kernel() == kernel ? 17 : 18);
    }
    CHECK_EXITS(child, 17);
}

void death_kill_and_start(int kernel, int how)
{
    death_kill(kernel, how);
    death_audit();
    death_start_again(kernel);
}

void death_begin(void)
{
    memset(death_board, 0, sizeof(*death_board));
}

/* Works on the kernels that live on, for as long as the board says, and counts what is wrong. */
void death_work(int index, int home, int other)
{
    char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int ends[2];

    MUST(pipe(ends));
    for (long turn = 0; !death_board->over; turn++) {
        char buffer[256];
        pid_t child;
        int status;

        death_go(turn % 2 == 0 ? home : other);
        memset(memory, (int)turn, PAGES * PAGE);
        child = FORK();
        if (child == 0) {
            death_go(turn % 3 == 0 ? home : other);
            memset(buffer, memory[PAGE * (turn % PAGES)], sizeof(buffer));
            _exit(write(ends[1], buffer, sizeof(buffer)) == sizeof(buffer) ? 4 : 5);
        }
        if (read(ends[0], buffer, sizeof(buffer)) != sizeof(buffer) || buffer[7] != (char)turn)
            atomic_fetch_add(&death_board->wrong, 1);
        if (waitpid(child, &status, 0) != child || status != 4 << 8)
            atomic_fetch_add(&death_board->wrong, 1);
        death_board->done[index]++;
    }
    _exit(death_board->done[index] > 0 ? 0 : 1);
}

/* Runs about everywhere, the dying kernel too, until it ends with it. */
static void *wander(void *argument)
{
    uint64_t state = (uint64_t)(uintptr_t)argument;

    for (;;) {
        char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        uint32_t *shared = (uint32_t *)(void *)death_board->pages;

        kettle_migrate(death_kernels[tap_random(&state) % (unsigned)death_count]);
        if (memory == MAP_FAILED)
            continue;
        memset(memory, 1, PAGES * PAGE / (1 + tap_random(&state) % 8));
        atomic_fetch_add((atomic_uint *)&death_board->other_word, 1);
        syscall(SYS_futex, &death_board->other_word, FUTEX_WAKE, 1, NULL, NULL, 0);
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

pid_t death_wanderer(uint64_t seed)
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

void death_reap(pid_t child)
{
    int status;

    kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
}

bool death_comes(int kernel, int64_t limit)
{
    int64_t since = tap_time();

    while (tap_time() - since < limit) {
        if (kettle_started(kernel) == 0)
            return true;
        sched_yield();
    }
    return false;
}

/* --- at home on another kernel: this program again --- */

pid_t death_spawn(int kernel, const char *child, int *talk)
{
    char *argv[] = {(char *)(uintptr_t)tap_self(), (char *)(uintptr_t)child, NULL};
    int ends[2], fds[] = {0, 1, 2, -1, KETTLE_FDS_END};
    pid_t started;

    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    fds[3] = ends[1];
    started = kettle_spawn(kernel, argv[0], argv, (char *[]){NULL}, fds);
    CHECK(started > 0, "spawn on kernel %d: %s", kernel, tap_error(errno));
    close(ends[1]);
    *talk = ends[0];
    return started;
}

void death_say(int fd)
{
    if (write(fd, "r", 1) != 1)
        _exit(90);
}

void death_hear(int fd)
{
    char byte;

    REQUIRE(read(fd, &byte, 1) == 1, "the other process says nothing: %s", tap_error(errno));
}

void death_send_fd(int socket, int fd)
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

int death_receive_fd(int socket)
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

int death_processes(pid_t *pids)
{
    char line[8192];
    int fd = (int)MUST(open("/proc", O_RDONLY | O_DIRECTORY)), found = 0;
    ssize_t got;

    while ((got = syscall(SYS_getdents64, fd, line, sizeof(line))) > 0) {
        for (ssize_t at = 0; at < got; at += *(unsigned short *)(void *)(line + at + 16)) {
            pid_t pid = atoi(line + at + 19);

            if (pid > 0 && found < DEATH_PIDS)
                pids[found++] = pid;
        }
    }
    close(fd);
    return found;
}
