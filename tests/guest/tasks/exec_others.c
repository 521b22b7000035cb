/* exec in a program whose other threads, on all places, run, wait, are made, move, exec, or end the program. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/tasks/exec.h"
#include "userland/x86.h"

#define PAGE 4096

struct company *company;
static int company_pipe[2];

void *thread_beats(void *argument)
{
    int index = (int)(intptr_t)argument;

    place_go(index);
    atomic_fetch_add(&company->running, 1);
    for (;;) {
        atomic_fetch_add(&company->beats[index], 1);
        /* Some compute, some call the kernel. */
        if (index % 2 == 0)
            x86_pause();
        else
            sched_yield();
    }
    return NULL;
}

static void *thread_blocks(void *argument)
{
    int index = (int)(intptr_t)argument;
    struct timespec hour = {3600, 0};
    int word = 0;
    char byte;

    place_go(index);
    atomic_fetch_add(&company->running, 1);
    if (index % 4 == 0)
        read(company_pipe[0], &byte, 1);
    else if (index % 4 == 1)
        syscall(SYS_futex, &word, 0, 0, NULL, NULL, 0);
    else if (index % 4 == 2)
        nanosleep(&hour, NULL);
    else
        pause();
    atomic_fetch_add(&company->beats[index], 1);
    return NULL;
}

void company_start(int count, void *(*run)(void *))
{
    MUST(pipe2(company_pipe, O_CLOEXEC));
    for (int i = 0; i < count; i++) {
        pthread_t thread;

        REQUIRE(pthread_create(&thread, NULL, run, (void *)(intptr_t)i) == 0, "no thread %d", i);
    }
    UNTIL(atomic_load(&company->running) == count, "threads on all places");
}

static uint64_t company_beats(void)
{
    uint64_t sum = 0;

    for (int i = 0; i < THREADS_MAX; i++)
        sum += atomic_load(&company->beats[i]);
    return sum;
}

static void *thread_execs(void *argument)
{
    place_go((int)(intptr_t)argument);
    exec_identity();
}

/* The main thread computes, waits for its thread to end, or has ended itself. */
void exec_test_second_thread(void)
{
    for (int i = 0; i < 3 * place_few(8); i++) {
        pid_t child = FORK();

        if (child == 0) {
            pthread_t thread;

            place_go(i / 2);
            REQUIRE(pthread_create(&thread, NULL, thread_execs, (void *)(intptr_t)(i / 3)) == 0, "no thread");
            if (i % 3 == 0)
                pthread_join(thread, NULL);
            if (i % 3 == 1)
                syscall(SYS_exit, 0);
            for (;;)
                x86_pause();
        }
        CHECK_EXITS(child, 0);
    }
}

void *thread_execs_watched(void *argument)
{
    struct watched *watched = argument;
    char first[16];
    char second[16];

    snprintf(first, sizeof(first), "%d", watched->up[1]);
    snprintf(second, sizeof(second), "%d", watched->down[0]);
    place_go(watched->place);
    tap_exec("watched", first, second);
}

/* One thread of many execs, at each place in turn; of the others none goes on behind it. */
static void others_die(void *(*run)(void *), bool from_main)
{
    int count = 1 + place_few(7);

    for (int i = 0; i < place_few(6); i++) {
        struct watched watched = {.place = i};
        uint64_t beats;
        char byte = 0;
        pid_t child;

        MUST(pipe(watched.up));
        MUST(pipe(watched.down));
        company = tap_share(PAGE);
        child = FORK();
        if (child == 0) {
            pthread_t thread;

            company_start(count, run);
            if (from_main)
                thread_execs_watched(&watched);
            REQUIRE(pthread_create(&thread, NULL, thread_execs_watched, &watched) == 0, "no thread");
            for (;;)
                x86_pause();
        }
        tap_await("the executed program's first word");
        REQUIRE(read(watched.up[0], &byte, 1) == 1 && byte == 'r', "%s", tap_error(errno));
        beats = company_beats();
        for (int turn = 0; turn < 200; turn++)
            sched_yield();
        CHECK(company_beats() == beats, "a thread lives on behind exec: %ld beats", (long)(company_beats() - beats));
        MUST(write(watched.down[1], "x", 1));
        CHECK_EXITS(child, 0);
        for (int k = 0; k < 2; k++) {
            close(watched.up[k]);
            close(watched.down[k]);
        }
    }
}

void exec_test_running_others(void)
{
    others_die(thread_beats, true);
}

void exec_test_running_others_thread(void)
{
    others_die(thread_beats, false);
}

void exec_test_waiting_others(void)
{
    others_die(thread_blocks, true);
}

void exec_test_waiting_others_thread(void)
{
    others_die(thread_blocks, false);
}

static atomic_int race_gate;

static void *thread_races(void *argument)
{
    char status[16];

    place_go((int)(intptr_t)argument);
    snprintf(status, sizeof(status), "%d", 20 + (int)(intptr_t)argument);
    atomic_fetch_sub(&race_gate, 1);
    while (atomic_load(&race_gate) > 0)
        x86_pause();
    tap_exec("winner", status, NULL);
}

/* Threads on all places exec at once: one program runs, and once. */
void exec_test_race(void)
{
    int count = 2 + place_few(4);

    for (int round = 0; round < 6; round++) {
        pid_t child = FORK();
        int status;

        if (child == 0) {
            atomic_store(&race_gate, count);
            for (int i = 0; i < count; i++) {
                pthread_t thread;

                REQUIRE(pthread_create(&thread, NULL, thread_races, (void *)(intptr_t)i) == 0, "no thread");
            }
            for (;;)
                pause();
        }
        status = tap_wait(child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) >= 20 && WEXITSTATUS(status) < 20 + count, "status %#x",
              (unsigned)status);
    }
}

static void *thread_exits_group(void *argument)
{
    place_go((int)(intptr_t)argument);
    atomic_fetch_sub(&race_gate, 1);
    while (atomic_load(&race_gate) > 0)
        x86_pause();
    _exit(5);
}

/* Threads that are born on one place and come and go between it and the first. */
static void *thread_commutes(void *argument)
{
    int index = (int)(intptr_t)argument;

    for (;;) {
        place_go(index);
        place_go(0);
    }
    return NULL;
}

static void *thread_ends(void *argument)
{
    return argument;
}

/* Makes a thread. Linux refuses with EAGAIN what is to share its folders with a thread that execs at that moment. */
static void make_while_exec(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    int error;

    do
        error = pthread_create(thread, attributes, run, argument);
    while (error == EAGAIN);
    REQUIRE(error == 0, "no thread: %s", strerror(error));
}

/* Makes threads without end. */
static void *thread_makes(void *argument)
{
    int index = (int)(intptr_t)argument;
    pthread_attr_t attributes;
    pthread_t thread;

    place_go(index);
    atomic_fetch_add(&company->running, 1);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    make_while_exec(&thread, &attributes, thread_commutes, argument);
    for (;;) {
        make_while_exec(&thread, NULL, thread_ends, NULL);
        pthread_join(thread, NULL);
    }
    return NULL;
}

void exec_test_coming(void)
{
    int count = 2 + place_few(4);

    company = tap_share(PAGE);
    for (int round = 0; round < 12; round++) {
        pid_t child;

        atomic_store(&company->running, 0);
        child = FORK();
        if (child == 0) {
            company_start(count, thread_makes);
            for (int turn = 0; turn < round * 10; turn++)
                sched_yield();
            exec_identity();
        }
        CHECK_EXITS(child, 0);
    }
}

/* exec against exit_group: the one or the other. */
void exec_test_race_exit(void)
{
    for (int round = 0; round < 8; round++) {
        pid_t child = FORK();
        int status;

        if (child == 0) {
            pthread_t thread;

            atomic_store(&race_gate, 2);
            REQUIRE(pthread_create(&thread, NULL, thread_races, (void *)1) == 0, "no thread");
            REQUIRE(pthread_create(&thread, NULL, thread_exits_group, (void *)(intptr_t)round) == 0, "no thread");
            for (;;)
                pause();
        }
        status = tap_wait(child);
        CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 21 || WEXITSTATUS(status) == 5), "status %#x",
              (unsigned)status);
    }
}

/* The main thread execs. A thread of its own place dies of that and gives up its lock; one elsewhere, which may not
 * know yet, sees it and does its worst. */
enum worst { WORST_FAULT, WORST_HANDLED, WORST_EXIT, WORST_BLOCKED, WORST_ABORT, WORSTS };

static pthread_mutex_t robust, other;

/* The home of the calling process, where its exec takes place: an id begins with its number. */
static int home(void)
{
    return getpid() >> 16;
}

static void *thread_holds(void *argument)
{
    place_go(home());
    REQUIRE(pthread_mutex_lock(&robust) == 0, "no lock");
    atomic_fetch_add(&company->running, 1);
    for (;;)
        pause();
    return argument;
}

static void handler_exits(int signal)
{
    _exit(70 + signal);
}

static void *thread_goes_astray(void *argument)
{
    enum worst worst = (enum worst)(intptr_t)argument;
    sigset_t mask;

    place_go(home() + 1);
    /* The C library tells the kernel of the first robust lock, and the home notes nothing of a thread that is to die.
     */
    MUST(pthread_mutex_lock(&other));
    MUST(pthread_mutex_unlock(&other));
    sigfillset(&mask);
    if (worst == WORST_HANDLED)
        signal(SIGSEGV, handler_exits);
    if (worst == WORST_BLOCKED)
        MUST(sigprocmask(SIG_BLOCK, &mask, NULL));
    atomic_fetch_add(&company->running, 1);
    while (pthread_mutex_trylock(&robust) == EBUSY) /* a wait would end behind the message that tells of the end */
        x86_pause();
    atomic_fetch_add(&company->astray, 1);
    if (worst == WORST_EXIT)
        _exit(7);
    if (worst == WORST_ABORT)
        abort();
    *(volatile int *)TAP_UNMAPPED = 1;
    return NULL;
}

void exec_test_astray(void)
{
    int astray = 0;

    company = tap_share(PAGE);
    for (int round = 0; round < 8 * WORSTS; round++) {
        pid_t child;

        atomic_store(&company->running, 0);
        child = FORK();
        if (child == 0) {
            pthread_mutexattr_t attributes;
            pthread_t thread;

            pthread_mutexattr_init(&attributes);
            pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
            pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED); /* else musl does not tell the kernel */
            pthread_mutex_init(&robust, &attributes);
            pthread_mutex_init(&other, &attributes);
            REQUIRE(pthread_create(&thread, NULL, thread_holds, NULL) == 0, "no thread");
            UNTIL(atomic_load(&company->running) == 1, "the lock");
            REQUIRE(pthread_create(&thread, NULL, thread_goes_astray, (void *)(intptr_t)(round % WORSTS)) == 0,
                    "no thread");
            UNTIL(atomic_load(&company->running) == 2, "the other thread");
            exec_identity();
        }
        CHECK_EXITS(child, 0);
    }
    astray = atomic_load(&company->astray);
    tap_note("in %d of %d rounds the other thread went astray", astray, 8 * WORSTS);
}
