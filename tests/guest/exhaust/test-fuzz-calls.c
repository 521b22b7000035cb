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
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/abi/kettle.h"
#include "libc/kettle.h"
#include "tests/guest/exhaust/call_types.h"
#include "tests/guest/exhaust/hog.h"
#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define PAGE 4096ul
#define ARENA (64 * PAGE)
#define PROCESSES 4        /* at a time */
#define LIVES 400          /* processes in a round at most: many end soon, by a call of theirs */
#define LIFE_NS 400000000l /* then a process is killed: a call has put it to sleep, perhaps */
#define THREADS 3
#define CALLS 400 /* that each thread makes, if its process lives so long */
#define ROUND_NS 2000000000l

static char *arena;   /* every process has its own */
static int own_place; /* of a process: its number in the round */
static uint64_t seed = 1;
static long only = -1, rounds = 10, seconds, stops = 5,
            refused; /* REFUSED: alloc=; 0: none. SECONDS: instead of ROUNDS */
static uint8_t
    *made; /* for each process of a round, a page that begins with the number of its calls that have returned */
static long made_before; /* in the rounds before */

struct fuzzer {
    uint64_t random;
    int index;
};

static uint64_t draw(struct fuzzer *f, uint64_t below)
{
    return tap_random(&f->random) % below;
}

static uint64_t anything(struct fuzzer *f)
{
    static const uint64_t edges[] = {
        0,
        1,
        2,
        7,
        8,
        4095,
        4096,
        4097,
        0x7fffffff,
        0x80000000,
        0xffffffff,
        0x7ffffffff000,
        0x800000000000,
        UINT64_MAX,
        UINT64_MAX - 1,
        INT64_MAX,
        0xffff800000000000,
        0xffff888000000000,
    };

    switch (draw(f, 4)) {
    case 0:
        return edges[draw(f, sizeof(edges) / sizeof(edges[0]))];
    case 1:
        return tap_random(&f->random) >> draw(f, 64);
    case 2:
        return 1ull << draw(f, 64);
    default:
        return draw(f, 64);
    }
}

/* An address of the arena, now and then right before its end or where nothing is. */
static uint64_t memory(struct fuzzer *f)
{
    switch (draw(f, 16)) {
    case 0:
        return (uint64_t)arena + ARENA - draw(f, 32);
    case 1:
        return anything(f);
    default:
        return (uint64_t)arena + draw(f, ARENA / 2) / 8 * 8;
    }
}

static const char *const paths[] = {
    "/tmp/fuzz/a",
    "/tmp/fuzz/b",
    "/tmp/fuzz/d",
    "/tmp/fuzz/d/c",
    "/tmp/fuzz",
    "/proc/self/maps",
    "/proc/self/fd/3",
    "/proc/self/stat",
    "/dev/null",
    "/dev/zero",
    "/dev/tty",
    "/",
    "/sys/devices/system/node",
    "/tmp/fuzz/fifo",
    "../..",
    "",
    "/proc/kettle/objects",
    "/dev/ptmx",
    "/mq",
    "user.a",
};

/* Fills some memory with something like a structure: small numbers, addresses, times. */
static void scribble(struct fuzzer *f)
{
    uint64_t *at = (uint64_t *)(void *)(arena + draw(f, ARENA / 2) / 8 * 8);

    for (uint64_t i = draw(f, 16); i > 0; i--)
        *at++ = draw(f, 3) == 0 ? memory(f) : draw(f, 2) == 0 ? anything(f) : draw(f, 20);
}

static uint64_t argument(struct fuzzer *f, char type)
{
    if (draw(f, 24) == 0)
        type = 'x';
    switch (type) {
    case 'f':
        return draw(f, 16) == 0 ? (uint64_t)-100 : draw(f, 40);
    case 'P':
        return (uint64_t)paths[draw(f, sizeof(paths) / sizeof(paths[0]))];
    case 'p':
        return draw(f, 6) == 0 ? 0 : memory(f);
    case 'v':
        return memory(f);
    case 's':
        return draw(f, 4) == 0 ? draw(f, 2 * ARENA) : draw(f, 300);
    case 'l':
        return draw(f, 8) * PAGE;
    case 'n':
        return draw(f, 12);
    case 'i':
        return draw(f, 3) == 0 ? 0 : 1ull << draw(f, 20) | (draw(f, 2) == 0 ? 0 : 1ull << draw(f, 20));
    case 'a':
        return (uint64_t)arena + draw(f, ARENA / PAGE) * PAGE;
    case 't':
        return draw(f, 4) == 0 ? (uint64_t)x86_syscall0(SYS_getpid) : draw(f, 3) == 0 ? 0 : draw(f, 200);
    case 'g':
        return draw(f, 65);
    case 'k':
        return draw(f, (uint64_t)place_count() + 1);
    case 'c':
        return draw(f, 12);
    case 'o':
        return draw(f, 3 * PAGE);
    case 'z':
        return 0;
    default:
        return anything(f);
    }
}

static void fill_iovec(struct fuzzer *f)
{
    struct iovec *vector = (struct iovec *)(void *)arena;

    for (int i = 0; i < 8; i++)
        vector[i] = (struct iovec){(void *)memory(f), draw(f, 600)};
}

/* One of Kettle's own calls; those that need root are refused. */
static long kettle_call(struct fuzzer *f)
{
    static const char *const types[KETTLE_CALL_COUNT] = {"k", "",  "",    "k",  "k",  "k",  "kPppp", "p",  "kp",
                                                         "P", "k", "tps", "tP", "al", "kk", "tP",    "kp", "al"};
    uint64_t which = draw(f, KETTLE_CALL_COUNT);
    const char *type = types[which];
    long a[6] = {0};

    for (int i = 0; type[i] != 0; i++)
        a[i] = (long)argument(f, type[i]);
    return x86_syscall(KETTLE_CALL_BASE + (long)which, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void one_call(struct fuzzer *f)
{
    long number = (long)draw(f, (uint64_t)call_types_last() + 1);
    const char *types = call_types(number);
    long a[6];

    if (types == NULL)
        return;
    if (draw(f, 3) == 0)
        scribble(f);
    fill_iovec(f);
    for (int i = 0; i < 6; i++)
        a[i] = *types != 0 ? (long)argument(f, *types++) : 0;
    x86_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
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
    struct fuzzer f = {.random = *(uint64_t *)thread->argument ^ (uint64_t)thread->index << 32, .index = thread->index};

    for (int i = 0; i < CALLS; i++) {
        if (draw(&f, 12) == 0)
            x86_syscall1(KETTLE_CALL_MIGRATE, (long)draw(&f, (uint64_t)place_count()));
        if (draw(&f, 40) == 0)
            kettle_call(&f);
        else
            one_call(&f);
        atomic_fetch_add(returned(own_place), 1);
    }
    thread_exit(0);
}

static void open_some(void)
{
    sigset_t set;
    int ends[2];
    int fd;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    (void)!pipe2(ends, O_NONBLOCK);
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends);
    socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
    (void)!pipe(ends);
    eventfd(3, EFD_NONBLOCK);
    timerfd_create(CLOCK_MONOTONIC, 0);
    signalfd(-1, &set, SFD_NONBLOCK);
    inotify_init1(IN_NONBLOCK);
    epoll_create1(0);
    fd = memfd_create("fuzz", MFD_ALLOW_SEALING);
    if (fd >= 0)
        (void)!ftruncate(fd, 5 * PAGE);
    open("/tmp/fuzz/a", O_RDWR | O_CREAT, 0666);
    open("/tmp/fuzz", O_RDONLY | O_DIRECTORY);
    open("/proc/self/maps", O_RDONLY);
    open("/dev/zero", O_RDWR);
}

static void process(uint64_t random)
{
    static struct thread threads[THREADS];

    setsid(); /* the hang-up of an orphaned group with a stopped process is not the test's */
    hog_become_user();
    for (int fd = 0; fd < 3; fd++) {
        close(fd);
        open("/dev/null", O_RDWR);
    }
    keep_own_counter();
    open_some();
    arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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
    MUST(mkdir("/tmp/fuzz", 0777));
    MUST(chmod("/tmp/fuzz", 0777));
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
