/* test-death: what becomes of processes that have threads, memory, their home or their parent on the kernel that dies.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"
#include "userland/x86.h"

#define FUTEX_WAIT 0

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
void death_test_threads(void)
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

int death_home_rest(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    death_say(3);
    for (;;)
        pause();
}

void death_test_homes(void)
{
    int dying = death_victim(1), talk;
    pid_t child;
    char byte;

    child = death_spawn(dying, "@rest", &talk);
    death_hear(talk);
    death_kill(dying, KETTLE_KILL_PANIC);
    CHECK_DIES(child, SIGKILL);
    CHECK(read(talk, &byte, 1) == 0, "the pipe of a process that has died has no end: %s", tap_error(errno));
    close(talk);
    death_audit();
    death_start_again(dying);
}

/* Has a child that is at home elsewhere. */
int death_home_parent(int argc, char **argv)
{
    char *inner[] = {(char *)(uintptr_t)tap_self(), "@orphan", NULL};

    (void)argc;
    (void)argv;
    if (kettle_spawn(0, inner[0], inner, (char *[]){NULL}, (const int[]){0, 1, 2, 3, KETTLE_FDS_END}) < 0)
        return 95;
    for (;;)
        pause();
}

int death_home_orphan(int argc, char **argv)
{
    pid_t parent = getppid();

    (void)argc;
    (void)argv;
    death_say(3);
    while (getppid() == parent)
        sched_yield();
    death_say(3);
    return 0;
}

void death_test_orphans(void)
{
    int dying = death_victim(0), talk;
    pid_t child = death_spawn(dying, "@parent", &talk);

    death_hear(talk);
    death_kill(dying, KETTLE_KILL_NOW);
    CHECK_DIES(child, SIGKILL);
    death_hear(talk);
    close(talk);
    death_start_again(dying);
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
void death_test_workers(void)
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
