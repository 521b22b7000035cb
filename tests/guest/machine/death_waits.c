/* test-death: threads that wait in calls, for what dies with a kernel and for what does not. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"

#define FUTEX_WAIT 0
#define FUTEX_WAKE 1
#define FUTEX_LOCK_PI 6

/* --- calls that wait, of threads elsewhere --- */

static atomic_int waiting[3], lock_word;

static void *wait_in(void *number)
{
    struct epoll_event event;
    int ends[2][2], set = epoll_create1(0);

    death_go(death_neighbour(death_victim(0)));
    if (set < 0 || pipe(ends[0]) != 0 || pipe(ends[1]) != 0)
        _exit(96);
    waiting[(intptr_t)number] = (int)syscall(SYS_gettid);
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

int death_home_waits(int argc, char **argv)
{
    pthread_t thread;

    (void)argc;
    (void)argv;
    lock_word = (int)syscall(SYS_gettid);
    for (intptr_t i = 0; i < 3; i++) {
        if (pthread_create(&thread, NULL, wait_in, (void *)i) != 0)
            _exit(97);
    }
    for (int i = 0; i < 3; i++)
        UNTIL(waiting[i] != 0 && tap_sleeps(0, waiting[i]), "a thread to wait");
    death_say(3);
    for (;;)
        pause();
}

/* What a thread elsewhere waits for has died with its home, and nothing else: its kernel takes it as an error. */
void death_test_waits(void)
{
    int dying = death_victim(0), talk;
    pid_t child = death_spawn(dying, "@waits", &talk);

    death_hear(talk);
    close(talk);
    death_kill(dying, KETTLE_KILL_NOW);
    CHECK_DIES(child, SIGKILL);
    CHECK(!death_comes(death_neighbour(dying), INT64_C(1000000000)), "kernel %d has died, too", death_neighbour(dying));
    death_audit();
    death_start_again(dying);
}

/* A waiter of the dead kernel does not take the wake of another one, which would sleep for ever. It may be on its way
 * back to its wait, which the freeze of all programs has interrupted: then nobody is woken, and it finds the word. */
void death_test_futex(void)
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
void death_test_read(void)
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
