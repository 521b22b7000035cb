/* test-death: memory that one kernel lends to another for a read or a write (kernel/file/files.md, zero-copy). When the
 * call has failed because the other kernel has died, it is the program's again; and what a dead kernel has lent is not
 * touched any more when that kernel runs again. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"

#define LENT (8 * PAGE)
#define FILLED                                                                                                         \
    (512l * PAGE) /* more than the kernel's frames between the last lent page and the next ones to be used             \
                   */

/* --- the file's kernel dies --- */

/* Gives away both ends of a pipe. */
int death_home_pipe(int argc, char **argv)
{
    int ends[2];

    (void)argc;
    (void)argv;
    if (pipe(ends) != 0)
        return 83;
    death_send_fd(3, ends[0]);
    death_send_fd(3, ends[1]);
    for (;;)
        pause();
}

/* On KERNEL, in a process of its own: a pipe of the kernel that dies has the bytes in between. */
static void lend(int kernel, const int *ends)
{
    char *memory = mmap(NULL, LENT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ssize_t length;

    death_go(kernel);
    do {
        atomic_fetch_add(&death_board->done[0], 1);
        memset(memory, 1, LENT);
        length = write(ends[1], memory, LENT);
        for (ssize_t got = 0; length > 0 && got < length;) {
            ssize_t more = read(ends[0], memory + got, (size_t)(length - got));

            if (more <= 0)
                length = more;
            got += more;
        }
    } while (length > 0);
    CHECK(length < 0 && errno == EIO, "%ld: %s", (long)length, tap_error(errno));
    memset(memory, 2, LENT); /* at once: what has been asked for must not come any more */
    UNTIL(death_board->over != 0, "the kernel to be over, or to start again");
    for (long i = 0; i < LENT; i++)
        REQUIRE(memory[i] == 2, "byte %ld is %d", i, memory[i]);
    _exit(7);
}

/* How the file's kernel dies. */
enum lent_death {
    LENT_BEHIND,   /* while requests to read are late there: it would read, and write to what was lent, afterwards */
    LENT_NOW,      /* wherever it is */
    LENT_AT_READ,  /* at a request to read, which it has not begun */
    LENT_AT_WRITE, /* or to write */
    LENT_DEATHS,
};

#define LATE 50000 /* us; on average half of it */

/* A kernel whose CPUs were not stopped would now have done what is late there. */
static void give_it_time(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 2 * LATE * 1000l}, NULL);
}

static void lend_to(int dying, int turn)
{
    enum lent_death how = (enum lent_death)(turn / 2);
    char words[96];
    pid_t child, lender;
    int talk, ends[2];

    death_begin();
    child = death_spawn(dying, "@pipe", &talk);
    for (int i = 0; i < 2; i++)
        ends[i] = death_receive_fd(talk);
    lender = FORK();
    if (lender == 0)
        lend(turn % 2 == 0 ? death_neighbour(dying) : 0, ends);
    UNTIL(death_board->done[0] > 10 + turn, "bytes");
    if (how == LENT_BEHIND) {
        snprintf(words, sizeof(words), "kernel=%d inject=seed:1,rate:100,type:FILE_READ,delay:%d", dying, LATE);
        CHECK(kettle_control(words) == 0, "%s: %s", words, tap_error(errno));
        UNTIL(tap_sleeps(lender, lender), "a read that is late");
    }
    if (how == LENT_NOW || how == LENT_BEHIND) {
        death_kill(dying, KETTLE_KILL_NOW);
    } else {
        snprintf(words, sizeof(words), "kernel=%d inject=type:%s,delay:0,dies:2", dying,
                 how == LENT_AT_READ ? "FILE_READ" : "FILE_WRITE");
        CHECK(kettle_control(words) == 0, "%s: %s", words, tap_error(errno));
        CHECK(death_comes(dying, INT64_C(10000000000)), "kernel %d lives", dying);
    }
    CHECK_DIES(child, SIGKILL);
    if (how == LENT_BEHIND) { /* before it starts again, which ends what might still run there */
        give_it_time();
        death_board->over = 1;
        CHECK_EXITS(lender, 7);
    }
    death_audit();
    death_start_again(dying);
    if (how != LENT_BEHIND) {
        death_board->over = 1;
        CHECK_EXITS(lender, 7);
    }
    close(talk);
    close(ends[0]);
    close(ends[1]);
}

/* --- the lender dies --- */

static void read_for_ever(int dying, int fd)
{
    char *memory = mmap(NULL, LENT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    death_go(dying);
    memset(memory, 3, LENT);
    for (;;) {
        atomic_fetch_add(&death_board->done[0], 1);
        MUST(read(fd, memory, LENT));
    }
}

/* On the kernel that has been started again: whatever frames a dead reader had there, they are among these. */
static void fill_there(int kernel)
{
    char *memory = mmap(NULL, FILLED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    death_go(kernel);
    memset(memory, 4, FILLED);
    death_board->ready = 1;
    UNTIL(death_board->over != 0, "bytes to be written");
    for (long i = 0; i < FILLED; i++)
        REQUIRE(memory[i] == 4, "byte %ld is %d", i, memory[i]);
    _exit(7);
}

static void borrow_from(int dying, int turn)
{
    static char bytes[LENT];
    int ends[2];
    pid_t reader, filler;

    death_begin();
    MUST(pipe(ends));
    reader = FORK();
    if (reader == 0)
        read_for_ever(dying, ends[0]);
    for (int i = 0; i < 20 + turn; i++)
        MUST(write(ends[1], bytes, LENT));
    if (turn == 0)
        UNTIL(tap_sleeps(reader, reader), "a reader to wait");
    death_kill(dying, KETTLE_KILL_NOW);
    CHECK_DIES(reader, SIGKILL);
    death_start_again(dying);
    filler = FORK();
    if (filler == 0)
        fill_there(dying);
    UNTIL(death_board->ready == 1, "memory to be filled");
    MUST(fcntl(ends[0], F_SETFL, O_NONBLOCK));
    while (read(ends[0], bytes, LENT) > 0)
        ;
    CHECK(write(ends[1], bytes, LENT) == LENT, "%s", tap_error(errno));
    death_board->over = 1;
    CHECK_EXITS(filler, 7);
    close(ends[0]);
    close(ends[1]);
    death_audit();
}

void death_test_lent(void)
{
    for (int turn = 0; turn < 2 * LENT_DEATHS; turn++)
        lend_to(death_victim(turn), turn);
    for (int turn = 0; turn < 2; turn++)
        borrow_from(death_victim(turn), turn);
}
