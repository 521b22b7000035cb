/* test-stop: kernels are stopped and started again under programs that count: threads, pipes, futexes, shared memory,
 * children, signals. Nothing may be lost, doubled or refused that would not be on a machine at rest. Takes a number of
 * rounds; or `under PROGRAM ARGS`: that program runs meanwhile, and its status is ours. In front of these `image FILE`:
 * of the starts each second one is from this image of another build. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/tasks/stop.h"
#include "userland/x86.h"

#define THREADS 12
#define PAIRS 2
#define PIPES 3
#define PARENTS 2
#define CHILDREN_EACH 4
#define RECEIVERS 3
#define SIGNAL (SIGRTMIN + 1)

/* What processes tell each other. */
static struct board {
    atomic_bool over;
    atomic_long shared;                     /* additions by everybody */
    atomic_long added[PARENTS + PIPES * 2]; /* the same, each its own */
    atomic_long written[PIPES], read[PIPES];
    atomic_long forks[PARENTS];
    atomic_int wrong;
    atomic_long received[RECEIVERS];
    atomic_int ready;
} * board;

static long rounds = 10;
static int kernels;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long guarded, own_counts[THREADS];
static int ball[PAIRS];
static long caught[PAIRS][2];
static pid_t pipe_writers[PIPES], pipe_readers[PIPES], parents[PARENTS], receivers[RECEIVERS];
static long sent[RECEIVERS];

static const char *image; /* or NULL */

static int start_again(int kernel)
{
    static unsigned starts;

    return image != NULL && starts++ % 2 == 0 ? kettle_image(kernel, image) : kettle_start(kernel);
}

static void go(int kernel)
{
    if (kettle_migrate(kernel % kernels) != 0 && errno != EAGAIN)
        atomic_fetch_add(&board->wrong, 1);
}

/* Counts under a lock and without, wanders about, sleeps now and then. */
static void *count(void *argument)
{
    long index = (long)argument, alone = 0;
    unsigned seed = (unsigned)index + 1;

    while (!board->over) {
        volatile long spin = 0;

        for (int i = 0; i < 2000; i++)
            spin++;
        pthread_mutex_lock(&mutex);
        guarded++;
        pthread_mutex_unlock(&mutex);
        alone++;
        x86_pause(); /* lets another CPU of an emulator run */
        seed = seed * 1103515245 + 12345;
        if (seed % 61 == 0)
            go((int)(seed >> 8));
        if (seed % 97 == 0)
            nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
    own_counts[index] = alone;
    return NULL;
}

/* Two throw a ball to each other. */
static void *play(void *argument)
{
    long pair = (long)argument / 2, side = (long)argument % 2;

    go((int)(1 + 2 * pair + side));
    pthread_mutex_lock(&mutex);
    while (!board->over) {
        while (ball[pair] != side && !board->over)
            pthread_cond_wait(&changed, &mutex);
        if (ball[pair] != side)
            break;
        ball[pair] = !side;
        caught[pair][side]++;
        pthread_cond_broadcast(&changed);
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void add_shared(int index)
{
    atomic_fetch_add(&board->shared, 1);
    atomic_fetch_add(&board->added[index], 1);
}

static void write_pipe(int index, int fd)
{
    unsigned char bytes[3000];
    long at = 0;

    while (!board->over) {
        size_t size = 1 + (size_t)(at * 7 % (long)sizeof(bytes));
        ssize_t done;

        for (size_t i = 0; i < size; i++)
            bytes[i] = (unsigned char)((at + (long)i) * 31 >> 3);
        done = write(fd, bytes, size);
        if (done <= 0) {
            atomic_fetch_add(&board->wrong, 1);
            break;
        }
        at += done;
        add_shared(PARENTS + index);
        x86_pause();
    }
    board->written[index] = at;
    _exit(0);
}

static void read_pipe(int index, int fd)
{
    unsigned char bytes[5000];
    long at = 0;
    ssize_t got;

    while ((got = read(fd, bytes, sizeof(bytes))) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            if (bytes[i] != (unsigned char)((at + i) * 31 >> 3))
                atomic_fetch_add(&board->wrong, 1);
        }
        at += got;
        add_shared(PARENTS + PIPES + index);
    }
    if (got < 0)
        atomic_fetch_add(&board->wrong, 1);
    board->read[index] = at;
    _exit(0);
}

/* Has children on every kernel and waits for them. */
static void be_parent(int index)
{
    int kernel = index;
    long forks = 0;

    while (!board->over) {
        pid_t children[CHILDREN_EACH];

        for (int i = 0; i < CHILDREN_EACH; i++) {
            go(kernel++);
            children[i] = fork();
            if (children[i] == 0) {
                add_shared(index);
                _exit(i + 10);
            }
            if (children[i] < 0)
                atomic_fetch_add(&board->wrong, 1);
            forks++;
        }
        go(kernel++);
        for (int i = 0; i < CHILDREN_EACH; i++) {
            int status;

            if (waitpid(children[i], &status, 0) != children[i] || !WIFEXITED(status) || WEXITSTATUS(status) != i + 10)
                atomic_fetch_add(&board->wrong, 1);
        }
    }
    board->forks[index] = forks;
    _exit(0);
}

static void receive(int index)
{
    struct timespec moment = {.tv_nsec = 300000000};
    sigset_t set;
    long got = 0;

    sigemptyset(&set);
    sigaddset(&set, SIGNAL);
    atomic_fetch_add(&board->ready, 1);
    for (;;) {
        bool over = board->over;
        siginfo_t info;
        int signal = sigtimedwait(&set, &info, &moment);

        if (signal == SIGNAL) {
            if (info.si_value.sival_int != (int)got) /* in order, each once */
                atomic_fetch_add(&board->wrong, 1);
            got++;
        } else if (signal == -1 && errno == EAGAIN && over) {
            break;
        } else if (signal == -1 && errno != EAGAIN && errno != EINTR) {
            atomic_fetch_add(&board->wrong, 1);
        }
    }
    board->received[index] = got;
    _exit(0);
}

static void send_signals(void)
{
    for (int i = 0; i < RECEIVERS; i++) {
        union sigval value = {.sival_int = (int)sent[i]};

        if (sigqueue(receivers[i], SIGNAL, value) == 0)
            sent[i]++;
        else
            CHECK(errno == EAGAIN, "sigqueue to %d: %s", receivers[i], strerror(errno));
    }
}

static pid_t fork_at(int kernel)
{
    go(kernel);
    return fork();
}

static void start_processes(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGNAL);
    sigprocmask(SIG_BLOCK, &set, NULL);
    for (int i = 0; i < PIPES; i++) {
        int ends[2];

        go(i + 1); /* no matter where we are, the pipe is at our home */
        if (!CHECK(pipe(ends) == 0, "pipe: %s", strerror(errno)))
            return;
        pipe_writers[i] = fork_at(i + 1);
        if (pipe_writers[i] == 0) {
            close(ends[0]);
            write_pipe(i, ends[1]);
        }
        pipe_readers[i] = fork_at(i + 2);
        if (pipe_readers[i] == 0) {
            close(ends[1]);
            read_pipe(i, ends[0]);
        }
        close(ends[0]);
        close(ends[1]);
    }
    for (int i = 0; i < PARENTS; i++) {
        parents[i] = fork_at(i + 1);
        if (parents[i] == 0)
            be_parent(i);
    }
    for (int i = 0; i < RECEIVERS; i++) {
        receivers[i] = fork_at(i + 1);
        if (receivers[i] == 0)
            receive(i);
    }
    while (board->ready < RECEIVERS)
        sched_yield();
}

static bool stop_and_start(int kernel)
{
    bool good = CHECK(kettle_stop(kernel) == 0, "stop of kernel %d: %s", kernel, strerror(errno));

    send_signals();
    good = good && CHECK(kettle_started(kernel) == 0, "kernel %d runs on", kernel);
    good = good && CHECK(start_again(kernel) == 0, "start of kernel %d: %s", kernel, strerror(errno));
    send_signals();
    return good && CHECK(kettle_started(kernel) == 1, "kernel %d does not run again", kernel);
}

static void expect_exit(const char *what, int index, pid_t pid)
{
    int status = -1;

    CHECK(waitpid(pid, &status, 0) == pid && status == 0, "%s %d ends with %x", what, index, status);
}

/* Everybody has done something. Some may have had no turn of a CPU in all the rounds. */
static bool all_have_worked(void)
{
    bool all;

    pthread_mutex_lock(&mutex);
    all = guarded > 0;
    for (int i = 0; i < PAIRS; i++)
        all = all && caught[i][0] > 0 && caught[i][1] > 0;
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < PARENTS + 2 * PIPES; i++)
        all = all && board->added[i] > 0;
    return all;
}

static void test_rounds(void)
{
    pthread_t threads[THREADS + 2 * PAIRS];
    long sum = 0, total = 0;

    start_processes();
    for (long i = 0; i < THREADS + 2 * PAIRS; i++)
        pthread_create(&threads[i], NULL, i < THREADS ? count : play, (void *)(i < THREADS ? i : i - THREADS));
    for (int round = 0; round < rounds; round++) {
        for (int kernel = 1; kernel < kernels; kernel++) {
            if (!stop_and_start(kernel))
                round = rounds;
        }
        go(round);
    }
    UNTIL(all_have_worked(), "threads and processes that do nothing yet");
    board->over = true;
    pthread_mutex_lock(&mutex);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < THREADS + 2 * PAIRS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < PIPES; i++) {
        expect_exit("writer", i, pipe_writers[i]);
        expect_exit("reader", i, pipe_readers[i]);
    }
    for (int i = 0; i < PARENTS; i++)
        expect_exit("parent", i, parents[i]);
    for (int i = 0; i < RECEIVERS; i++)
        expect_exit("receiver", i, receivers[i]);

    for (int i = 0; i < THREADS; i++)
        sum += own_counts[i];
    CHECK(sum == guarded && sum > 0, "threads counted %ld and together %ld", sum, guarded);
    for (int i = 0; i < PAIRS; i++)
        CHECK(labs(caught[i][0] - caught[i][1]) <= 1 && caught[i][0] > 0, "a ball was caught %ld and %ld times",
              caught[i][0], caught[i][1]);
    for (int i = 0; i < PIPES; i++)
        CHECK(board->written[i] == board->read[i] && board->read[i] > 0, "pipe %d: %ld bytes written, %ld read", i,
              (long)board->written[i], (long)board->read[i]);
    for (int i = 0; i < PARENTS; i++) {
        CHECK(board->added[i] == board->forks[i] && board->forks[i] > 0, "%ld children of %ld have added",
              (long)board->added[i], (long)board->forks[i]);
    }
    for (int i = 0; i < PARENTS + 2 * PIPES; i++)
        total += board->added[i];
    CHECK(total == board->shared, "%ld additions, %ld counted", total, (long)board->shared);
    for (int i = 0; i < RECEIVERS; i++)
        CHECK(board->received[i] == sent[i], "%ld of %ld signals came", (long)board->received[i], sent[i]);
    CHECK(board->wrong == 0, "%d things went wrong in other processes", (int)board->wrong);
    printf("# %ld counts, %ld and %ld throws, %ld bytes, %ld forks, %ld signals\n", guarded, caught[0][0], caught[1][0],
           (long)(board->read[0] + board->read[1] + board->read[2]), (long)(board->forks[0] + board->forks[1]),
           sent[0]);
}

static void test_refusals(void)
{
    CHECK(kettle_stop(0) == -1 && errno == EBUSY, "stop of kernel 0: %s", strerror(errno));
    CHECK(kettle_stop(kernels) == -1 && errno == EINVAL, "stop of kernel %d: %s", kernels, strerror(errno));
    CHECK(kettle_stop(-1) == -1 && errno == EINVAL, "stop of kernel -1: %s", strerror(errno));
    if (kernels == 1)
        return;
    CHECK(kettle_stop(1) == 0, "stop of kernel 1: %s", strerror(errno));
    CHECK(kettle_stop(1) == 0, "stop of a kernel that does not run: %s", strerror(errno));
    CHECK(kettle_started(1) == 0, "kernel 1 runs");
    CHECK(kettle_migrate(1) == -1 && errno == EAGAIN, "a move to a kernel that has stopped: %s", strerror(errno));
    CHECK(kettle_start(1) == 0 && kettle_migrate(1) == 0, "a move to a kernel that runs again: %s", strerror(errno));
    CHECK(kettle_kernel() == 1, "the move led to kernel %d", kettle_kernel());
    CHECK(kettle_stop(1) == 0, "a thread stops the kernel it is on: %s", strerror(errno));
    CHECK(kettle_kernel() != 1, "it is still there");
    CHECK(kettle_start(1) == 0, "start of kernel 1: %s", strerror(errno));
}

/* In a child: another root, while its home stops. A thread on the first kernel looks, too. */
static void *look(void *wrong)
{
    go(0);
    while (!board->over) {
        if (access("/inside", F_OK) != 0)
            atomic_fetch_add((atomic_int *)wrong, 1);
        sched_yield();
    }
    return NULL;
}

static void be_rooted(const char *directory)
{
    atomic_int wrong = 0;
    pthread_t thread;

    if (chroot(directory) != 0 || pthread_create(&thread, NULL, look, &wrong) != 0)
        _exit(1);
    board->ready = 1;
    look(&wrong);
    pthread_join(thread, NULL);
    _exit(wrong == 0 && access("/inside", F_OK) == 0 ? 0 : 2);
}

static void test_root(void)
{
    char directory[] = "/tmp/stopXXXXXX", inside[32];
    pid_t child;

    if (!CHECK(mkdtemp(directory) != NULL, "%s", strerror(errno)))
        return;
    snprintf(inside, sizeof(inside), "%s/inside", directory);
    CHECK(mkdir(inside, 0755) == 0, "%s", strerror(errno));
    board->over = false;
    board->ready = 0;
    child = fork_at(1);
    if (child == 0)
        be_rooted(directory);
    go(0);
    while (board->ready == 0)
        sched_yield();
    for (int i = 0; i < 2; i++) {
        for (int kernel = 1; kernel < kernels; kernel++) {
            CHECK(kettle_stop(kernel) == 0, "stop of kernel %d: %s", kernel, strerror(errno));
            CHECK(start_again(kernel) == 0, "start of kernel %d: %s", kernel, strerror(errno));
        }
    }
    board->over = true;
    expect_exit("the process", 0, child);
    CHECK(rmdir(inside) == 0 && rmdir(directory) == 0, "%s", strerror(errno));
}

/* In a child at home on the kernel that stops: devices that it has opened there. */
static void use_devices(void)
{
    int null = open("/dev/null", O_RDWR), zero = open("/dev/zero", O_RDWR), copy = dup(null);
    char byte = 1;

    board->ready = 1;
    while (!board->over)
        sched_yield();
    if (write(null, &byte, 1) != 1 || read(copy, &byte, 1) != 0)
        _exit(1);
    _exit(read(zero, &byte, 1) == 1 && byte == 0 ? 0 : 2);
}

static void test_devices(void)
{
    pid_t child;

    board->over = false;
    board->ready = 0;
    child = fork_at(1);
    if (child == 0)
        use_devices();
    go(0);
    while (board->ready == 0)
        sched_yield();
    for (int kernel = 1; kernel < kernels; kernel++) {
        CHECK(kettle_stop(kernel) == 0, "stop of kernel %d: %s", kernel, strerror(errno));
        CHECK(start_again(kernel) == 0, "start of kernel %d: %s", kernel, strerror(errno));
    }
    board->over = true;
    expect_exit("the process", 0, child);
}

static volatile sig_atomic_t alarms;

static void on_alarm(int signal)
{
    (void)signal;
    alarms++;
}

/* A process whose thread is away from its home: says when an alarm has come, and waits for another one when told. */
static _Noreturn void be_alarmed(void)
{
    const struct itimerval often = {.it_interval = {.tv_usec = 20000}, .it_value = {.tv_usec = 20000}};
    struct sigaction action = {.sa_handler = on_alarm};
    time_t begin;
    int before;

    go(kernels > 2 ? 2 : 0);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (alarms == 0)
        sched_yield();
    board->ready = 1;
    while (!board->over)
        sched_yield();
    before = alarms;
    begin = time(NULL);
    while (alarms == before && time(NULL) - begin < 30)
        sched_yield();
    _exit(alarms != before ? 0 : 1);
}

static void test_home(void)
{
    pid_t child;

    board->over = false;
    board->ready = 0;
    child = fork_at(1);
    if (child == 0)
        be_alarmed();
    go(0);
    while (board->ready == 0)
        sched_yield();
    CHECK(kettle_stop(1) == 0, "stop of kernel 1: %s", strerror(errno));
    CHECK(syscall(SYS_tgkill, child, child, 0) == 0, "the thread is not found: %s", strerror(errno));
    board->over = true;
    expect_exit("the process with an alarm", 0, child);
    CHECK(kettle_start(1) == 0, "start of kernel 1: %s", strerror(errno));
}

/* In a child at home on the first kernel, which alone is left: a file in the place of memory that the home had leased
 * to itself when the second kernel joined. */
static int map_in_lease(void)
{
    const size_t size = 1 << 20, part = 64 << 10, page = 4096;
    char name[] = "/tmp/stopXXXXXX";
    int file = mkstemp(name), wrong = 0;
    char *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *start = area + part;

    if (file < 0 || unlink(name) != 0 || area == MAP_FAILED)
        return 1;
    for (size_t at = 0; at < part; at += page)
        wrong |= pwrite(file, &(char){(char)(at / page + 1)}, 1, (off_t)at) != 1;
    go(1);
    go(0);
    if (wrong != 0 || kettle_stop(1) != 0)
        return 2;
    if (mmap(start, part, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) != start)
        wrong = 1;
    for (size_t at = 0; at < part && wrong == 0; at += page)
        wrong = ((volatile char *)start)[at] != (char)(at / page + 1);
    if (start_again(1) != 0)
        return 3;
    go(1);
    for (size_t at = 0; at < part && wrong == 0; at += page)
        wrong = ((volatile char *)start)[at] != (char)(at / page + 1);
    return wrong == 0 && area[0] == 0 && area[size - 1] == 0 ? 0 : 4;
}

static void test_leased_file(void)
{
    pid_t child = fork_at(0);

    if (child == 0)
        _exit(map_in_lease());
    expect_exit("the process with a file", 0, child);
    CHECK(kettle_started(1) == 1, "kernel 1 does not run again");
}

#define STOPS_UNDER 100 /* at most: each start takes a role for good */

/* Runs the program ARGV while kernels stop and start; returns its status. What cannot be moved now is tried again. */
static int run_under(char **argv)
{
    pid_t child = fork();
    long stops = 0, busy = 0, failed = 0;
    int status = -1;

    if (child == 0) {
        execvp(argv[0], argv);
        _exit(127);
    }
    for (int kernel = 1; waitpid(child, &status, stops < STOPS_UNDER ? WNOHANG : 0) == 0;
         kernel = kernel % (kernels - 1) + 1) {
        if (kettle_stop(kernel) == 0)
            stops++;
        else if (errno == EBUSY)
            busy++;
        else if (errno != EINTR)
            failed++;
        if (start_again(kernel) != 0)
            failed++;
    }
    fprintf(stderr, "test-stop: %ld stops, %ld times something could not be moved, %ld failures\n", stops, busy,
            failed);
    return failed == 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"refusals", "kernel 0 and invalid numbers are refused, and a stopped kernel can be started and used again",
         test_refusals},
        {"rounds", "programs lose nothing while kernels stop and start", test_rounds},
        {"root", "a process keeps its root when its home stops", test_root},
        {"devices", "a process keeps devices that are open on the kernel that stops", test_devices},
        {"home", "a process keeps its alarm, and its thread is found elsewhere, when its home stops", test_home},
        {"timers", "a process keeps its timers when its home stops", test_timers},
        {"timed-thread", "a timer finds its thread when the kernel of the thread's birth stops", test_timed_thread},
        {"leased-file", "a file is mapped in what the home had leased to itself before the others stopped",
         test_leased_file},
        {"robust", "a thread anywhere ends or moves with its robust lock when its home has stopped", test_robust_lists},
    };

    kernels = kettle_kernels();
    if (argc > 2 && strcmp(argv[1], "image") == 0) {
        image = argv[2];
        argc -= 2;
        argv += 2;
    }
    if (argc > 2 && strcmp(argv[1], "under") == 0 && kernels > 1)
        return run_under(argv + 2);
    tap_take_number(&argc, &argv, &rounds);
    board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED)
        return 1;
    return tap_run(argc, argv, tests, kernels == 1 ? 1 : TAP_COUNT(tests));
}
