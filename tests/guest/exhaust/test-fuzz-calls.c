/* test-fuzz-calls seed=S rounds=N|seconds=N|round=R [stops=N] [alloc=N]: processes of a user without privileges make
 * system calls with arguments drawn at random by their types, with threads on all kernels that move, while root stops
 * and starts a kernel in every N-th round (5; 0: in none). After each round all of them are killed, and root's work
 * must succeed: the machine lives on.
 *
 * With alloc=N one of N allocations of the kernels is refused while they run and are killed (boot option alloc).
 *
 * The calls of a round's processes, of which some live at a time, depend on the seed and its number only; what they
 * meet depends on time. A machine that has come down repeats with the round that was said last. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/abi/kettle.h"
#include "libc/kettle.h"
#include "tests/guest/exhaust/call_arguments.h"
#include "tests/guest/exhaust/call_types.h"
#include "tests/guest/exhaust/hog.h"
#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define PAGE 4096ul
#define PROCESSES 4        /* at a time */
#define LIVES 400          /* processes in a round at most: many end soon, by a call of theirs */
#define LIFE_NS 400000000l /* then a process is killed: a call has put it to sleep, perhaps */
#define THREADS 3
#define CALLS 400 /* that each thread makes, if its process lives so long */
#define ROUND_NS 2000000000l

static int own_place; /* of a process: its number in the round */
static uint64_t seed = 1;
static long only = -1, rounds = 10, seconds, stops = 5,
            refused; /* REFUSED: alloc=; 0: none. SECONDS: instead of ROUNDS */
static uint8_t
    *made; /* for each process of a round, a page that begins with the number of its calls that have returned */
static long made_before; /* in the rounds before */

/* Call NUMBER with arguments of TYPES; NULL: none. */
static void one_call(struct call_arguments *drawn, long number, const char *types)
{
    long a[6] = {0};

    if (types == NULL)
        return;
    for (int i = 0; types[i] != 0; i++)
        a[i] = (long)call_argument(drawn, types[i]);
    x86_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* One of Kettle's own calls; those that need root are refused. */
static void kettle_call(struct call_arguments *drawn)
{
    long number = KETTLE_CALL_BASE + (long)call_draw(drawn, KETTLE_CALL_COUNT);

    one_call(drawn, number, call_types(number));
}

static void linux_call(struct call_arguments *drawn)
{
    long number = (long)call_draw(drawn, (uint64_t)call_types_last() + 1);

    call_arguments_prepare(drawn);
    one_call(drawn, number, call_types(number));
}

static atomic_long *returned(int place)
{
    return (atomic_long *)(void *)(made + (unsigned long)place * PAGE);
}

/* Of what processes share, one keeps its own counter only: a call of its own may write there, or into the harness's
 * report of failures, which decides what becomes of the test. */
static void keep_own_counter(void)
{
    tap_leave();
    munmap(made, (unsigned long)own_place * PAGE);
    munmap(made + (unsigned long)(own_place + 1) * PAGE, (unsigned long)(LIVES - own_place - 1) * PAGE);
}

static void fuzz(struct thread *thread)
{
    struct call_arguments drawn = {.random = *(uint64_t *)thread->argument ^ (uint64_t)thread->index << 32,
                                   .wild = true};

    for (int i = 0; i < CALLS; i++) {
        if (call_draw(&drawn, 12) == 0)
            x86_syscall1(KETTLE_CALL_MIGRATE, (long)call_draw(&drawn, (uint64_t)place_count()));
        if (call_draw(&drawn, 40) == 0)
            kettle_call(&drawn);
        else
            linux_call(&drawn);
        atomic_fetch_add(returned(own_place), 1);
    }
    thread_exit(0);
}

static void process(uint64_t random)
{
    static struct thread threads[THREADS];

    setsid(); /* the hang-up of an orphaned group with a stopped process is not the test's */
    hog_become_user();
    keep_own_counter();
    call_arguments_begin();
    for (int i = 0; i < THREADS; i++) {
        threads[i].index = i;
        threads[i].argument = &random;
        thread_start(&threads[i], fuzz);
    }
    for (int i = 0; i < THREADS; i++)
        thread_ended(&threads[i]);
    _exit(0);
}

/* False: KERNEL cannot be stopped. It may stand still after this, if REFUSING: allocations are refused now. */
static bool stop_and_start(int kernel, bool refusing)
{
    if (kettle_stop(kernel) != 0)
        return false;
    return CHECK(kettle_start(kernel) == 0 || (refusing && errno == ENOMEM), "kernel %d is not started: %s", kernel,
                 tap_error(errno));
}

/* One of RATE allocations is refused from now on; 0: none. Root's own programs are spared, but not what other kernels
 * do for them. */
static void refuse(long rate)
{
    char words[32];

    if (refused == 0)
        return;
    snprintf(words, sizeof(words), "alloc=%ld", rate);
    MUST(kettle_control(words));
}

struct round {
    uint64_t random;
    int kernels[64], count; /* those that run at its begin */
    pid_t children[PROCESSES];
    int64_t since[PROCESSES];
    int begun, live;
};

/* The next process of ROUND, as number PLACE of those that live. */
static void begin_process(struct round *round, int place)
{
    uint64_t own = tap_random(&round->random);
    int kernel = round->kernels[round->begun % round->count];
    pid_t child;

    own_place = round->begun++;
    child = fork();
    if (child == 0) {
        x86_syscall1(KETTLE_CALL_MIGRATE, kernel); /* may find no memory, or that it is being stopped */
        process(own);
    }
    round->children[place] = child;
    round->since[place] = tap_time();
    round->live += child > 0;
    if (refused == 0)
        CHECK(child > 0, "%s", tap_error(errno));
}

/* Others take the place of those that have ended. */
static void look_after(struct round *round)
{
    pid_t ended;

    while ((ended = waitpid(-1, NULL, WNOHANG)) > 0) {
        for (int i = 0; i < PROCESSES; i++) {
            if (round->children[i] != ended)
                continue;
            round->children[i] = 0;
            round->live--;
        }
    }
    for (int i = 0; i < PROCESSES && round->begun < LIVES; i++) {
        if (round->children[i] <= 0)
            begin_process(round, i);
        else if (tap_time() - round->since[i] > LIFE_NS)
            kill(round->children[i], SIGKILL);
    }
}

/* Counts the calls of a round, of processes whose counter can be right: a call may have written there. */
static void count_calls(void)
{
    for (int i = 0; i < LIVES; i++) {
        long calls = atomic_exchange(returned(i), 0);

        if (calls > 0 && calls <= (long)LIVES * THREADS * CALLS)
            made_before += calls;
    }
}

static void one_round(long number)
{
    struct round round = {.random = seed ^ (uint64_t)number * 0x9e3779b97f4a7c15ull};
    int64_t until = tap_time() + ROUND_NS;
    const int *kernels = round.kernels;
    int count = round.count = tap_kernels(round.kernels);

    look_after(&round);
    refuse(refused);
    if (stops != 0 && number % stops == 1 % stops && count > 1) {
        usleep(100000);
        if (!stop_and_start(kernels[count - 1], refused != 0))
            tap_note("kernel %d is not stopped: %s", kernels[count - 1],
                     tap_error(errno)); /* a file that cannot move */
    }
    while ((round.live > 0 || round.begun < LIVES) && tap_time() < until) {
        look_after(&round);
        usleep(5000);
    }
    REQUIRE(hog_end_user(refused != 0), "round %ld: a killed process does not end", number);
    refuse(0);
    for (int i = 0; i < count; i++)
        CHECK(kettle_started(kernels[i]) == 1 || kettle_start(kernels[i]) == 0, "kernel %d is not started: %s",
              kernels[i], tap_error(errno));
    count_calls();
    CHECK(hog_root_works(), "round %ld: %s", number, tap_error(errno));
    if (stops != 0 && number % stops == (stops + 1) / 2 % stops && count > 1)
        CHECK(stop_and_start(kernels[count - 1], false) || errno == ENOMEM, "round %ld: kernel %d is not stopped: %s",
              number, kernels[count - 1], tap_error(errno));
}

static bool goes_on(long round, int64_t begin)
{
    if (only >= 0)
        return round == only;
    return seconds > 0 ? tap_time() - begin < seconds * 1000000000l : round < rounds;
}

static void test_calls(void)
{
    int64_t begin = tap_time();

    made = tap_share(LIVES * PAGE);
    MUST(prctl(PR_SET_CHILD_SUBREAPER, 1));            /* hog_end_user waits for orphans */
    x86_syscall1(KETTLE_CALL_MIGRATE, getpid() >> 16); /* home, where root's calls are spared: an id begins with it */
    call_arguments_directory();
    for (long round = only < 0 ? 0 : only; goes_on(round, begin); round++) {
        printf("# test-fuzz-calls seed=%lu round=%ld stops=%ld alloc=%ld\n", (unsigned long)seed, round, stops,
               refused);
        fflush(stdout);
        one_round(round);
    }
    tap_note("%ld calls", made_before);
    CHECK(made_before > 0, "no call has returned");
}

static const struct tap_test tests[] = {
    {"calls", "the machine lives on whatever calls a user makes", test_calls},
};

/* Takes NAME=NUMBER out of the arguments. */
static void take(int *argc, char ***argv, const char *name, long *number)
{
    size_t length = strlen(name);

    if (*argc > 1 && strncmp((*argv)[1], name, length) == 0) {
        *number = atol((*argv)[1] + length);
        (*argv)[1] = (*argv)[0];
        (*argv)++;
        (*argc)--;
    }
}

int main(int argc, char **argv)
{
    long number = (long)seed;

    for (int i = 0; i < 6; i++) { /* in any order */
        take(&argc, &argv, "alloc=", &refused);
        take(&argc, &argv, "stops=", &stops);
        take(&argc, &argv, "seed=", &number);
        take(&argc, &argv, "rounds=", &rounds);
        take(&argc, &argv, "seconds=", &seconds);
        take(&argc, &argv, "round=", &only);
    }
    seed = (uint64_t)number;
    return tap_main(argc, argv,
                    &(struct tap_program){.tests = tests,
                                          .count = TAP_COUNT(tests),
                                          .parameters = "[seed=S] [rounds=N | seconds=N | round=R] [stops=N] [alloc=N]",
                                          .extra = seconds * 4000000000l + rounds * 2 * ROUND_NS});
}
