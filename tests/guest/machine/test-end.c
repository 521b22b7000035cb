/* test-end: programs of all kernels write to a shared directory and to the terminal, and then kernel 0 dies.
 * tests/qemu/test_end.py looks at what has come out of the machine: all that a call had acknowledged.
 *
 * usage: test-end DIRECTORY HOW    HOW: panic, spin, halt, now; wait: the machine's own options end it;
 * or both: kernel 1, the deputy, hangs before kernel 0 does */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"

#define PAGE 4096
#define KERNELS 64
#define LEAST 20         /* records of each kernel that are acknowledged before the end */
#define FILL_MAX 1000000 /* bytes written to the terminal at the end, unless it takes fewer */
#define STANDS 8 /* rounds of all CPUs in which a kernel that hangs does nothing, and one that lives something */
#define LINE 8   /* bytes of one of its lines, and of a record */

struct board {
    atomic_long acknowledged[KERNELS]; /* records, by kernel */
    atomic_long turns;                 /* of a loop on kernel 1 */
};

static const char *const ways[] = {"now", "panic", "spin", "halt", "wait", "both"}; /* KETTLE_KILL_*, and two more */
#define WAIT 4
#define BOTH 5

static void must(int holds, const char *what)
{
    if (holds)
        return;
    printf("not ok: %s: %s\n", what, strerror(errno));
    fflush(stdout);
    _exit(1);
}

static int open_in(const char *directory, const char *name)
{
    char path[256];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    must(fd >= 0, path);
    return fd;
}

/* Writes records until the machine ends. */
static void write_records(const char *directory, int kernel, struct board *board)
{
    char name[32], record[32];
    int fd;

    must(kettle_migrate(kernel) == 0, "a move");
    snprintf(name, sizeof(name), "kernel-%d", kernel);
    fd = open_in(directory, name);
    for (long n = 1;; n++) {
        snprintf(record, sizeof(record), "%07ld\n", n);
        must(write(fd, record, LINE) == LINE, "a record");
        atomic_store(&board->acknowledged[kernel], n);
    }
}

/* A private mapping changes nothing on the host, and there is no shared one that could hold something back. */
static void map(const char *directory)
{
    int fd = open_in(directory, "mapped");
    char *private;

    must(write(fd, "kept", 4) == 4, "the mapped file");
    private = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    must(private != MAP_FAILED, "a private mapping");
    memcpy(private, "lost", 4);
    must(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EINVAL,
         "a shared mapping for writing is refused");
}

static void say_acknowledged(const struct board *board, int kernels)
{
    for (int k = 0; k < kernels; k++)
        printf("acknowledged %d %ld\n", k, atomic_load(&board->acknowledged[k]));
    fflush(stdout);
}

/* Writes to the terminal until it takes no more, and how much it has taken to a file: so what the machine has accepted
 * is still in it when it ends, if nobody reads. */
static void fill_terminal(const char *directory)
{
    int fd = open_in(directory, "accepted");
    char line[32], number[32];
    long done = 0;

    must(fcntl(1, F_SETFL, O_RDWR | O_NONBLOCK) == 0, "O_NONBLOCK");
    while (done < FILL_MAX) {
        long from = done % LINE, taken;

        snprintf(line, sizeof(line), "%07ld\n", done / LINE);
        taken = write(1, line + from, (size_t)(LINE - from));
        if (taken < 0 && errno == EAGAIN)
            break;
        must(taken > 0, "the terminal");
        done += taken;
    }
    snprintf(number, sizeof(number), "%ld\n", done);
    must(write(fd, number, strlen(number)) == (ssize_t)strlen(number), "the number of bytes");
}

/* Ends kernel 1 by a halt, so that nobody but kernel 0 could know. Returns when it does nothing any more: where CPUs
 * have their turns one after another, kernel 1 has one while this moves to the kernel behind it. */
static void hang_deputy(atomic_long *turns)
{
    if (fork() == 0) {
        must(kettle_migrate(1) == 0, "a move");
        for (;;)
            atomic_fetch_add(turns, 1);
    }
    while (atomic_load(turns) == 0)
        sched_yield();
    if (fork() == 0) {
        kettle_kill(1, KETTLE_KILL_HALT);
        _exit(0);
    }
    for (int stands = 0; stands < STANDS;) {
        long seen = atomic_load(turns);

        must(kettle_migrate(2) == 0 && kettle_migrate(0) == 0, "a move");
        stands = atomic_load(turns) == seen ? stands + 1 : 0;
    }
}

int main(int argc, char **argv)
{
    struct board *board = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int how = 0, kernels = kettle_kernels();

    while (argc == 3 && how <= BOTH && strcmp(argv[2], ways[how]) != 0)
        how++;
    if (argc != 3 || how > BOTH || board == MAP_FAILED) {
        fprintf(stderr, "usage: test-end DIRECTORY now|panic|spin|halt|wait|both\n");
        return 2;
    }
    for (int k = 0; k < kernels; k++) {
        if (fork() == 0)
            write_records(argv[1], k, board);
    }
    for (int k = 0; k < kernels; k++) {
        while (atomic_load(&board->acknowledged[k]) < LEAST)
            sched_yield();
    }
    map(argv[1]);
    while (how == WAIT)
        say_acknowledged(board, kernels);
    if (fork() == 0) {
        must(kettle_migrate(kernels - 1) == 0, "a move");
        must(write(1, "from the last kernel\n", 21) == 21, "the terminal");
        _exit(0);
    }
    must(wait(NULL) > 0, "the last kernel's line");
    say_acknowledged(board, kernels);
    fill_terminal(argv[1]);
    if (how == BOTH)
        hang_deputy(&board->turns);
    must(kettle_kill(0, how == BOTH ? KETTLE_KILL_HALT : how) == 0, "the death of kernel 0");
    return 1;
}
