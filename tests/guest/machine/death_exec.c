/* test-death: programs that exec while a kernel dies on which they have threads and memory. An exec ends the other
 * threads and takes back all leases; so does the death of a member's kernel end its process. One of both is first:
 * the process ends by SIGKILL, or the new program runs to its end. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"

#define EXECS 8
#define DEATHS 8
#define MAPPED (PAGES * PAGE)

/* The new program: its memory is its own, wherever it runs. */
int death_home_execed(int argc, char **argv)
{
    static char bytes[MAPPED];

    (void)argc;
    (void)argv;
    memset(bytes, 9, sizeof(bytes));
    for (int i = 0; i < MAPPED; i++) {
        if (bytes[i] != 9)
            return 8;
    }
    return 7;
}

static char *memory; /* mapped by the parent, and so there is a lease to recall where it is mapped again */

/* On the kernel that dies: maps and unmaps, for which it has leases of the address space. */
static void *change(void *kernel)
{
    death_go((int)(intptr_t)kernel);
    memset(memory, 1, MAPPED);
    atomic_fetch_add(&death_board->ready, 1);
    for (;;) {
        char *more = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (more == MAP_FAILED)
            continue;
        more[0] = 1;
        munmap(more, MAPPED);
    }
    return NULL;
}

/* At home on a kernel that lives on, with threads on that which dies; the board says when to exec. */
static _Noreturn void exec_beside(int dying, int index)
{
    char *words[] = {(char *)(uintptr_t)tap_self(), (char *)(uintptr_t) "@execed", NULL};
    pthread_t thread;

    memory = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED, "no memory");
    memset(memory, 2, MAPPED);
    MUST(-pthread_create(&thread, NULL, change, (void *)(intptr_t)dying));
    while (atomic_load(&death_board->word) <= (unsigned)index)
        sched_yield();
    execv(words[0], words);
    _exit(9);
}

static bool has_ended(pid_t child)
{
    siginfo_t info = {.si_pid = 0};

    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child;
}

static void die_beside(int dying, int turn, int *killed, int *ran)
{
    pid_t children[EXECS];
    int status;

    death_begin();
    for (int i = 0; i < EXECS; i++) {
        children[i] = FORK();
        if (children[i] == 0)
            exec_beside(dying, i);
    }
    UNTIL(atomic_load(&death_board->ready) == EXECS, "threads on the kernel that dies");
    if (turn % 2 != 0) { /* when an exec asks it to end its threads */
        char words[64];

        snprintf(words, sizeof(words), "kernel=%d inject=type:GROUP_KILL,delay:0,dies:%d", dying, 1 + turn / 2);
        MUST(kettle_control(words));
        atomic_store(&death_board->word, EXECS);
        CHECK(death_comes(dying, INT64_C(10000000000)), "kernel %d lives", dying);
    } else {
        atomic_store(&death_board->word, (unsigned)(1 + turn)); /* some have begun, and others begin behind the death */
        if (turn % 4 == 0)
            UNTIL(has_ended(children[0]), "the first to have run");
        death_kill(dying, KETTLE_KILL_NOW);
        atomic_store(&death_board->word, EXECS);
    }
    for (int i = 0; i < EXECS; i++) {
        MUST(waitpid(children[i], &status, 0));
        *killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        *ran += WIFEXITED(status) && WEXITSTATUS(status) == 7;
        CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) || (WIFEXITED(status) && WEXITSTATUS(status) == 7),
              "death %d, child %d: %x", turn, i, (unsigned)status);
    }
    death_audit();
    death_start_again(dying);
}

void death_test_exec(void)
{
    int killed = 0, ran = 0;

    for (int turn = 0; turn < DEATHS; turn++)
        die_beside(death_victim(turn), turn, &killed, &ran);
    tap_note("%d ended by SIGKILL, %d ran", killed, ran);
    CHECK(killed > 0 && ran > 0, "%d ended by SIGKILL, %d ran", killed, ran);
}
