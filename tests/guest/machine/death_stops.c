/* test-death: a kernel dies at the messages of another one's stop, death and start: as the successor, which takes over
 * what is there; as a kernel that knows of it; and as the one where the stop was asked for. A stop that has not begun
 * to commit is undone, or goes on with another successor; after the commit has begun, a death ends the machine, so
 * these states are left out. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"

#define COMES INT64_C(20000000000) /* ns: a death that comes, comes sooner */
#define TURNS 3                    /* stops and starts in which it is to come */
#define SITTER 2048l               /* pages */

static const struct {
    const char *type;
    int number;
    bool asks;  /* the stop is asked for there */
    bool kills; /* the death of the other kernel is asked for, and not its stop */
} states[] = {
    {"STARTED", 1, false, false},         {"ROLES", 1, false, false},
    {"START_KERNEL", 1, true, false},     {"STOP_KERNEL", 1, true, false},
    {"KILL_KERNEL", 1, true, true},       {"EVACUATE_FRAMES", 1, false, false}, /* from here on the successor */
    {"EVACUATE_FRAMES", 2, false, false}, {"EVACUATE_ENTRIES", 1, false, false},
    {"HANDOVER", 1, false, false},        {"HANDOVER", 2, false, false},
    {"MOVE_FILES", 1, false, false},
};
#define OF_SUCCESSOR 5

/* At home on the kernel that stops, with memory there and elsewhere, a pipe and a child: what is to be handed over. */
static void *sit(void *argument)
{
    char *memory = argument;

    death_go(0);
    memset(memory + PAGE, 2, PAGE);
    for (;;)
        pause();
    return NULL;
}

int death_home_sitter(int argc, char **argv)
{
    char *memory = mmap(NULL, SITTER * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t thread;
    int ends[2];

    (void)argc;
    (void)argv;
    if (memory == MAP_FAILED || pipe(ends) != 0 || pthread_create(&thread, NULL, sit, memory) != 0)
        return 94;
    memset(memory, 1, SITTER * PAGE);
    death_say(3);
    for (;;)
        pause();
}

/* Stops, or KILLS, and starts KERNEL, some times; from ON. Errors are those of a death meanwhile. */
static _Noreturn void stop_and_start(int kernel, int on, bool kills)
{
    death_go(on);
    for (int turn = 0; turn < TURNS; turn++) {
        if (kills)
            kettle_kill(kernel, KETTLE_KILL_NOW);
        else
            kettle_stop(kernel);
        kettle_start(kernel);
        death_board->ready++;
    }
    death_board->ready = -1;
    for (;;)
        pause();
}

/* DYING dies, or not, while THIRD stops. */
static bool die_in_stop(size_t state, int dying, int third, int living)
{
    int talk;
    pid_t sitter, stopper, worker;
    char words[128];
    int64_t since = tap_time();
    bool came = false;

    death_state = states[state].type;
    death_begin();
    worker = FORK();
    if (worker == 0)
        death_work(0, 0, living);
    sitter = death_spawn(third, "@sitter", &talk);
    death_hear(talk);
    snprintf(words, sizeof(words), "kernel=%d inject=type:%s,delay:0,dies:%d", dying, states[state].type,
             states[state].number);
    CHECK(kettle_control(words) == 0, "%s: %s", words, tap_error(errno));
    stopper = FORK();
    if (stopper == 0)
        stop_and_start(third, states[state].asks ? dying : 0, states[state].kills);
    while (!came && death_board->ready >= 0 && tap_time() - since < COMES) {
        came = kettle_started(dying) == 0;
        sched_yield();
    }
    if (!came) {
        snprintf(words, sizeof(words), "kernel=%d inject=off", dying);
        came = kettle_control(words) != 0 && death_comes(dying, COMES);
    }
    death_reap(stopper);
    death_audit();
    if (kettle_started(third) == 0)
        death_start_again(third);
    if (came)
        death_start_again(dying);
    for (long done = death_board->done[0]; death_board->done[0] == done;)
        sched_yield();
    death_board->over = 1;
    CHECK_EXITS(worker, 0);
    CHECK(death_board->wrong == 0, "%s: %ld things went wrong", death_state, (long)death_board->wrong);
    death_reap(sitter);
    close(talk);
    return came;
}

void death_test_stops(void)
{
    char line[512] = "";
    int reached = 0, stops, dying, living = 0, tried = TAP_COUNT(states);

    if (death_count < 3) {
        tap_skip("fewer than 3 kernels");
        return;
    }
    if (!death_successor(&stops, &dying)) { /* no node has two kernels without kernel 0 */
        stops = death_kernels[2];
        dying = death_kernels[1];
        tried = OF_SUCCESSOR;
    }
    for (int i = 1; i < death_count; i++) {
        if (death_kernels[i] != stops && death_kernels[i] != dying)
            living = death_kernels[i];
    }
    for (int i = 0; i < tried; i++) {
        char word[64];

        if (!die_in_stop((size_t)i, dying, stops, living))
            continue;
        reached++;
        snprintf(word, sizeof(word), " %s:%d", states[i].type, states[i].number);
        if (strlen(line) + strlen(word) < sizeof(line))
            strcat(line, word);
    }
    death_state = "no message";
    CHECK(reached > tried / 2, "%d of %d deaths came:%s", reached, tried, line);
    tap_note("%d of %d deaths came:%s", reached, tried, line);
}
