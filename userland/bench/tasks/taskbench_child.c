/* taskbench: the processes that are measured while they end.
 *
 * A child is this program again. It is told its places by number, as what it may use is what its parent had bound
 * itself to. A child that is to end by itself is told when, on the monotonic clock, and says with its exit status when
 * it was not ready by then, so that no operation begins before all is in place.
 *
 *     taskbench child group REGION DEADLINE THREADS PLACES    threads that sleep on all places in turn, then exit_group
 *     taskbench child visits REGION DEADLINE COUNT PLACES     goes to COUNT places and back to the first, then
 * exit_group taskbench child wait PLACES                             goes to the place, tells its parent, and sleeps */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/abi/kettle.h"
#include "libc/kettle.h"
#include "userland/bench/bench.h"
#include "userland/bench/mark.h"
#include "userland/bench/tasks/taskbench.h"
#include "userland/thread.h"
#include "userland/x86.h"

#include <sys/syscall.h>

#define STATUS_USAGE 2
#define STATUS_NO_PLACE 4
#define WORDS_MAX 8
#define THREADS_MAX 64
#define LOOK_NS 1000000
#define LONG_NS 3600000000000

char taskbench_self[BENCH_PATH_SIZE];

static struct bench_place places[BENCH_PLACES_MAX];
static int place_count;
static enum bench_how how;
static struct thread threads[THREADS_MAX];
static atomic_bool go;
static atomic_int there; /* threads at their places */
static atomic_int lost;  /* threads that could not get there */

/* --- the parent's side --- */

void taskbench_places_print(int first, int last, char *text, size_t size)
{
    const struct bench_machine *machine = &bench_machine;
    int used = snprintf(text, size, "%c", machine->usual == HOW_MIGRATE ? 'm' : 'a');

    for (int i = first; i <= last && used < (int)size; i++) {
        const struct bench_place *place = &machine->places[i];

        used += snprintf(text + used, size - (size_t)used, "%s%d", i == first ? "" : ",",
                         machine->usual == HOW_MIGRATE ? place->kernel : place->cpu);
    }
}

pid_t taskbench_child_start(const char *const words[], int *error)
{
    char *argv[WORDS_MAX] = {taskbench_self, "child"};
    pid_t child;

    for (int i = 0; i < WORDS_MAX - 3 && words[i] != NULL; i++)
        argv[i + 2] = (char *)words[i];
    child = kettle_spawn(bench_machine.places[0].kernel, taskbench_self, argv, environ, NULL);
    if (child < 0)
        *error = bench_failed("kettle_spawn of this program", errno);
    return child;
}

int taskbench_wait(pid_t child, int *status)
{
    while (waitpid(child, status, 0) != child) {
        if (errno != EINTR)
            return bench_failed("waitpid", errno);
    }
    return 0;
}

/* --- the child's side --- */

/* Reads "m0,1,2": kernels, or "a0,1,2": CPUs. */
static bool places_parse(const char *text)
{
    how = text[0] == 'm' ? HOW_MIGRATE : HOW_AFFINITY;
    for (const char *at = text + 1; place_count < BENCH_PLACES_MAX; at++) {
        char *end;
        long number = strtol(at, &end, 10);

        if (end == at || number < 0 || number >= 1024)
            return false;
        places[place_count++] = (struct bench_place){.kernel = (int)number, .cpu = (int)number};
        if (*end == '\0')
            return text[0] == 'm' || text[0] == 'a';
        if (*end != ',')
            return false;
        at = end;
    }
    return false;
}

static bool place_go(int place)
{
    unsigned long set[16] = {0};
    int cpu = places[place].cpu;

    if (how == HOW_MIGRATE)
        return x86_syscall1(KETTLE_CALL_MIGRATE, places[place].kernel) == 0;
    set[cpu / 64] = 1ul << cpu % 64;
    return x86_syscall3(SYS_sched_setaffinity, 0, sizeof(set), (long)set) == 0;
}

static void sleeper_main(struct thread *thread)
{
    while (!atomic_load(&go))
        bench_rest(LOOK_NS);
    atomic_fetch_add(place_go(thread->index % place_count) ? &there : &lost, 1);
    for (;;)
        bench_rest(LONG_NS);
}

/* The first thread is one of THREADS and stays at the first place. All stacks are made before any thread moves. */
/* Begins REGION and ends the process at DEADLINE. */
static int exit_at(unsigned region, uint64_t deadline)
{
    if (bench_now() >= deadline)
        return TASKBENCH_CHILD_LATE;
    while (bench_now() < deadline)
        x86_pause();
    mark_begin(region);
    for (;;)
        x86_syscall1(SYS_exit_group, 0);
}

static int visits_main(unsigned region, uint64_t deadline, int count)
{
    for (int i = 1; i <= count; i++) {
        if (!place_go(i % count % place_count))
            return STATUS_NO_PLACE;
    }
    return exit_at(region, deadline);
}

static int group_main(unsigned region, uint64_t deadline, int count)
{
    for (int i = 1; i < count; i++) {
        threads[i].index = i;
        if (!thread_start(&threads[i], sleeper_main))
            return STATUS_NO_PLACE;
    }
    atomic_store(&go, true);
    while (atomic_load(&there) + atomic_load(&lost) < count - 1)
        bench_rest(LOOK_NS);
    if (atomic_load(&lost) != 0)
        return STATUS_NO_PLACE;
    return exit_at(region, deadline);
}

static int wait_main(void)
{
    pid_t parent = getppid();

    if (!place_go(0))
        return STATUS_NO_PLACE;
    if (kill(parent, SIGUSR1) != 0)
        return STATUS_NO_PLACE;
    for (;;)
        bench_rest(LONG_NS);
}

int taskbench_child_main(int argc, char **argv)
{
    uint64_t region;
    uint64_t deadline;
    uint64_t count;

    bool group = argc == 7 && strcmp(argv[2], "group") == 0, visits = argc == 7 && strcmp(argv[2], "visits") == 0;

    if ((group || visits) && bench_number_parse(argv[3], 0, 255, &region) &&
        bench_number_parse(argv[4], 0, UINT64_MAX, &deadline) && bench_number_parse(argv[5], 1, THREADS_MAX, &count) &&
        places_parse(argv[6]))
        return group ? group_main((unsigned)region, deadline, (int)count)
                     : visits_main((unsigned)region, deadline, (int)count);
    if (argc == 4 && strcmp(argv[2], "wait") == 0 && places_parse(argv[3]))
        return wait_main();
    fputs("taskbench: child is for this program itself (try taskbench --help)\n", stderr);
    return STATUS_USAGE;
}
