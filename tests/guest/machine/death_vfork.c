/* test-death: kernels die while groups that end or exec wait for processes that use their memory (vfork). */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"

#define SLEEPERS 64

/* vfork may be called by name only in a function that changes no variable of its own afterwards. */
static void *vfork_there(void *kernel)
{
    death_go((int)(intptr_t)kernel);
    death_board->word = (unsigned)syscall(SYS_gettid);
    if (vfork() == 0) {
        death_board->ready = (int)syscall(SYS_getpid);
        for (;;)
            pause();
    }
    for (;;)
        pause();
    return NULL;
}

static _Noreturn void vfork_and_exec(int kernel)
{
    char *argv[] = {(char *)(uintptr_t)tap_self(), "@over", NULL};
    pthread_t thread;

    MUST(-pthread_create(&thread, NULL, vfork_there, (void *)(intptr_t)kernel));
    while (death_board->over == 0)
        ;
    execv(argv[0], argv);
    _exit(98);
}

/* The parent's memory is on the dying kernel, too. */
static void visit(int kernel)
{
    static volatile char page[2 * PAGE];

    death_go(kernel);
    page[PAGE]++;
    death_go(0);
}

/* A parent in vfork is killed, or another of its threads execs; its child, which uses the same memory, sleeps. It ends
 * with a kernel that has a part of this memory, and with no other. */
void death_test_vfork(void)
{
    for (int turn = 0; turn < 8; turn++) {
        int dying = death_victim(0), there = turn % 2 == 0 ? 0 : death_neighbour(dying);
        bool execs = (turn & 2) != 0, visits = (turn & 4) != 0;
        pid_t parent, child;

        death_begin();
        parent = FORK();
        if (parent == 0) {
            if (visits)
                visit(dying);
            if (execs)
                vfork_and_exec(there);
            vfork_there((void *)(intptr_t)there);
        }
        UNTIL(death_board->ready != 0 && tap_sleeps(death_board->ready, death_board->ready), "a child that sleeps");
        child = death_board->ready;
        if (execs) {
            death_board->over = 1;
            UNTIL(syscall(SYS_tgkill, parent, death_board->word, 0) != 0 && errno == ESRCH,
                  "exec to end other threads");
        } else {
            MUST(kill(parent, SIGKILL));
        }
        death_kill(dying, KETTLE_KILL_NOW);
        if (!visits) {
            CHECK(kill(child, 0) == 0, "turn %d: the child has ended", turn);
            MUST(kill(child, SIGKILL));
        }
        UNTIL(kill(child, 0) != 0 && errno == ESRCH, "the child to end");
        if (execs && !visits)
            CHECK_EXITS(parent, 0);
        else
            CHECK_DIES(parent, SIGKILL);
        death_audit();
        death_start_again(dying);
    }
}

/* A kernel dies that has nothing of a process of which a stop waits for its thread in vfork on another kernel. */
void death_test_vfork_stopped(void)
{
    int dying = death_victim(0), there = death_neighbour(dying);
    pthread_t thread;
    pid_t parent;

    death_begin();
    parent = FORK();
    if (parent == 0) {
        MUST(-pthread_create(&thread, NULL, vfork_there, (void *)(intptr_t)there));
        for (;;)
            pause();
    }
    UNTIL(death_board->ready != 0 && tap_sleeps(death_board->ready, death_board->ready), "a child that sleeps");
    MUST(kill(parent, SIGSTOP));
    UNTIL(tap_stands(parent, parent), "the thread at home to stop");
    death_kill(dying, KETTLE_KILL_NOW);
    CHECK(kill(death_board->ready, 0) == 0, "the child has ended");
    death_audit();
    MUST(kill(parent, SIGCONT));
    MUST(kill(parent, SIGKILL));
    MUST(kill(death_board->ready, SIGKILL));
    CHECK_DIES(parent, SIGKILL);
    death_start_again(dying);
}

/* Gets a child that is at home on DYING from another one there, which ends, and waits in vfork. */
static _Noreturn void adopt_and_vfork(int dying)
{
    pid_t giver, given = 0;
    int talk;

    MUST(prctl(PR_SET_CHILD_SUBREAPER, 1));
    giver = death_spawn(dying, "@giver", &talk);
    MUST(write(talk, &dying, sizeof(dying)));
    REQUIRE(read(talk, &given, sizeof(given)) == (ssize_t)sizeof(given), "no child");
    death_say(talk);
    CHECK_EXITS(giver, 0);
    CHECK(waitpid(given, NULL, WNOHANG) == 0, "it is not our child: %s", tap_error(errno));
    vfork_there(0);
    _exit(98);
}

/* A killed reaper that waits for its child in vfork has got a child that dies with the kernel, as does who gave it. */
void death_test_vfork_reaper(void)
{
    int dying = death_victim(0);
    pid_t reaper, child;

    death_begin();
    reaper = FORK();
    if (reaper == 0)
        adopt_and_vfork(dying);
    UNTIL(death_board->ready != 0 && tap_sleeps(death_board->ready, death_board->ready), "a child that sleeps");
    child = death_board->ready;
    MUST(kill(reaper, SIGKILL));
    death_kill(dying, KETTLE_KILL_NOW);
    CHECK(kill(child, 0) == 0, "the child in vfork has ended");
    MUST(kill(child, SIGKILL));
    CHECK_DIES(reaper, SIGKILL);
    death_audit();
    death_start_again(dying);
}

/* Of the parent at home on the kernel that dies: says whose child sleeps elsewhere, by descriptor 3. */
static void *vfork_elsewhere(void *kernel)
{
    static pid_t child;

    death_go((int)(intptr_t)kernel);
    if (vfork() == 0) {
        child = (int)syscall(SYS_getpid);
        if (write(3, &child, sizeof(child)) != (ssize_t)sizeof(child))
            _exit(97);
        for (;;)
            pause();
    }
    for (;;)
        pause();
    return NULL;
}

int death_home_vfork(int argc, char **argv)
{
    int elsewhere = death_neighbour(death_victim(0));
    pthread_t thread;

    (void)argc;
    (void)argv;
    MUST(-pthread_create(&thread, NULL, vfork_elsewhere, (void *)(intptr_t)elsewhere));
    for (;;)
        pause();
}

/* The home of a parent that was killed in vfork dies while the child sleeps on another kernel, which ends with it; or
 * when it is about to learn that the child is gone. */
void death_test_vfork_home(void)
{
    for (int turn = 0; turn < 2; turn++) {
        int dying = death_victim(0), talk;
        pid_t parent = death_spawn(dying, "@vfork", &talk), child = 0;
        char words[80];

        REQUIRE(read(talk, &child, sizeof(child)) == (ssize_t)sizeof(child), "no child");
        UNTIL(tap_sleeps(child, child), "the child to sleep");
        MUST(kill(parent, SIGKILL));
        if (turn == 0) {
            death_audit();
            death_kill(dying, KETTLE_KILL_NOW);
        } else {
            death_audit(); /* the end is left to the child now */
            snprintf(words, sizeof(words), "kernel=%d inject=type:GROUP_UNPINNED,delay:0,dies:1", dying);
            MUST(kettle_control(words));
            MUST(kill(child, SIGKILL));
            UNTIL(death_comes(dying, INT64_C(1000000)), "the kernel to die");
        }
        UNTIL(kill(child, 0) != 0 && errno == ESRCH, "the child to end");
        CHECK_DIES(parent, SIGKILL);
        MUST(close(talk));
        death_audit();
        death_start_again(dying);
    }
}

/* Kills parents in vfork as fast as they can be made, a few at a time, until the board says that it is over. */
static _Noreturn void kill_parents(void)
{
    pid_t parents[SLEEPERS] = {0}, children[SLEEPERS];
    int live = 0;

    for (int i = 0; death_board->over == 0 || live > 0; i = (i + 1) % SLEEPERS) {
        if (parents[i] != 0 && death_board->over != 0)
            kill(children[i], SIGKILL); /* unless a death has ended it */
        if (parents[i] != 0 && waitpid(parents[i], NULL, death_board->over != 0 ? 0 : WNOHANG) == parents[i]) {
            parents[i] = 0;
            live--;
        }
        if (parents[i] != 0 || death_board->over != 0) {
            sched_yield();
            continue;
        }
        death_board->ready = 0;
        parents[i] = FORK();
        if (parents[i] == 0)
            vfork_there(0);
        while (death_board->ready == 0)
            sched_yield();
        children[i] = death_board->ready;
        MUST(kill(parents[i], SIGKILL));
        live++;
        atomic_fetch_add(&death_board->done[0], 1);
    }
    _exit(7);
}

/* The same while more parents are killed, also after the clean-up has begun. */
void death_test_vfork_storm(void)
{
    int dying = death_victim(0);
    pid_t child;

    death_begin();
    child = FORK();
    if (child == 0)
        kill_parents();
    UNTIL(death_board->done[0] >= 4, "parents to be killed");
    death_kill(dying, KETTLE_KILL_NOW);
    tap_note("%ld parents were killed", death_board->done[0]);
    death_board->over = 1;
    CHECK_EXITS(child, 7);
    death_audit();
    death_start_again(dying);
}
