/* Actions that are set by one thread and used by another, at any two places: the one that was set last counts. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/signal/signal.h"
#include "userland/x86.h"

#define ROUNDS 300
#define HANDLERS 3
#define SIGNALS_USED 2

static atomic_int ran[HANDLERS]; /* times that each handler has run */
static atomic_int tid, over;
static int place_of_taker;

static void first(int number)
{
    (void)number;
    ran[0]++;
}

static void second(int number)
{
    (void)number;
    ran[1]++;
}

static void third(int number)
{
    (void)number;
    ran[2]++;
}

static void go(int place)
{
    int kernels[64];
    int count = tap_kernels(kernels);

    if (tap_on_kettle() && kettle_migrate(kernels[place % count]) != 0)
        tap_stop();
}

static void *take(void *unused)
{
    (void)unused;
    go(place_of_taker);
    tid = (int)x86_syscall0(SYS_gettid);
    while (!over)
        x86_pause();
    return NULL;
}

static void set_and_send(int round)
{
    static void (*const handlers[HANDLERS])(int) = {first, second, third};
    int which = round * 7 / 3 % HANDLERS, number = round % SIGNALS_USED == 0 ? SIGUSR1 : SIGUSR2;
    struct sigaction action = {.sa_handler = handlers[which], .sa_flags = round % 5 == 0 ? SA_RESETHAND : 0}, now;
    int before = ran[which], all = ran[0] + ran[1] + ran[2];

    sigaction(number, &action, NULL);
    for (int again = 0; again < (round % 5 == 0 ? 1 : 3); again++, before++, all++) {
        if (round % 3 == 0)
            kill(getpid(), number); /* the first thread has it masked */
        else
            x86_syscall3(SYS_tgkill, getpid(), tid, number);
        UNTIL(ran[0] + ran[1] + ran[2] > all, "a handler");
        CHECK(ran[which] == before + 1, "round %d: another handler than the one that was set last", round);
    }
    sigaction(number, NULL, &now);
    CHECK((now.sa_handler == SIG_DFL) == (round % 5 == 0), "round %d: the action afterwards", round);
}

void signal_test_actions_elsewhere(void)
{
    int kernels[64];
    int count = tap_kernels(kernels);
    sigset_t mask;

    for (int taker = 0; taker < (count < 3 ? count : 3); taker++) {
        pthread_t thread;

        place_of_taker = taker;
        tid = over = 0;
        pthread_create(&thread, NULL, take, NULL);
        sigemptyset(&mask);
        sigaddset(&mask, SIGUSR1);
        sigaddset(&mask, SIGUSR2);
        pthread_sigmask(SIG_BLOCK, &mask, NULL);
        UNTIL(tid != 0, "the thread at its place");
        for (int round = 0; round < ROUNDS; round++) {
            if (round % 50 == 0)
                go(round / 50);
            set_and_send(round);
        }
        go(0);
        over = 1;
        pthread_join(thread, NULL);
        pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
    }
}
