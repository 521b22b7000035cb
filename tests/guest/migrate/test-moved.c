/* test-moved: threads that others move, by setting their affinity, while they compute, wait, and make processes.
 *
 * A push returns before the thread has moved, unless it moved at once; where a test says how far a thread must be, it
 * waits until the thread says so itself. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/migrate/moved.h"
#include "userland/x86.h"

#define PAGE 4096
#define PUSHES 60

void moved_start(struct moved *moved, int index, void *(*run)(void *))
{
    memset(moved, 0, sizeof(*moved));
    moved->index = index;
    REQUIRE(pthread_create(&moved->thread, NULL, run, moved) == 0, "no thread");
    UNTIL(atomic_load(&moved->tid) != 0, "a thread to begin");
}

void moved_begin(struct moved *moved)
{
    atomic_store(&moved->tid, (int)syscall(SYS_gettid));
}

void moved_end(struct moved *moved)
{
    UNTIL(atomic_load(&moved->released) == 1, "the end of the pushes");
}

void moved_join(struct moved *moved)
{
    atomic_store(&moved->released, 1);
    tap_await("a moved thread's end");
    pthread_join(moved->thread, NULL);
}

long moved_storm(int tid, atomic_int *done, long least, uint64_t *random)
{
    uint64_t turns = place_count() > 1 ? 20 : 2; /* with one CPU, each turn is a slice of the thread that is pushed */
    long pushes = 0;

    while (atomic_load(done) == 0 || pushes < least) {
        int error = place_push(tid, (int)(tap_random(random) % (uint64_t)place_count()));

        /* It may have ended, if it is done. */
        REQUIRE(error == 0 || (error == ESRCH && atomic_load(done) != 0), "sched_setaffinity: %s", tap_error(error));
        pushes++;
        for (uint64_t turn = tap_random(random) % turns; turn > 0; turn--)
            sched_yield();
    }
    return pushes;
}

static void *mover_run(void *argument)
{
    struct mover *mover = argument;
    uint64_t turns = place_count() > 1 ? 20 : 2;

    while (atomic_load(&mover->stop) == 0) {
        int error = place_push(mover->tid, (int)(tap_random(&mover->random) % (uint64_t)place_count()));

        if (error == ESRCH)
            break;
        REQUIRE(error == 0, "sched_setaffinity: %s", tap_error(error));
        atomic_fetch_add(&mover->pushes, 1);
        for (uint64_t turn = tap_random(&mover->random) % turns; turn > 0; turn--)
            sched_yield();
    }
    return NULL;
}

void mover_start(struct mover *mover, int tid, uint64_t seed)
{
    memset(mover, 0, sizeof(*mover));
    mover->tid = tid;
    mover->random = seed;
    REQUIRE(pthread_create(&mover->thread, NULL, mover_run, mover) == 0, "no thread");
}

/* --- computing --- */

static void *thread_computes(void *argument)
{
    struct moved *moved = argument;
    uint64_t sum = 1;

    moved_begin(moved);
    while (atomic_load(&moved->done) == 0) {
        for (int i = 0; i < 10000; i++)
            sum = sum * 6364136223846793005u + 1442695040888963407u;
        atomic_store(&moved->counted, place_here());
    }
    return (void *)sum;
}

static void test_where(void)
{
    struct moved moved;

    moved_start(&moved, 0, thread_computes);
    for (int i = 0; i < 3 * place_few(16); i++) {
        int error = place_push(atomic_load(&moved.tid), i);

        REQUIRE(error == 0, "sched_setaffinity: %s", tap_error(error));
        UNTIL(atomic_load(&moved.counted) == i % place_count(), "the thread to be where it was pushed");
    }
    atomic_store(&moved.done, 1);
    moved_join(&moved);
}

/* No system call: it is taken out of the loop by force. What it computes is what it computes unmoved. */
static void *thread_computes_only(void *argument)
{
    struct moved *moved = argument;
    uint64_t sum = 1;

    moved_begin(moved);
    for (long i = 0; atomic_load_explicit(&moved->done, memory_order_relaxed) == 0 || i < 1000000; i++) {
        if (i < 1000000)
            sum = sum * 6364136223846793005u + 1442695040888963407u;
        else
            x86_pause();
    }
    atomic_store(&moved->counted, (long)sum);
    return NULL;
}

static void test_compute(void)
{
    uint64_t random = 5;
    uint64_t sum = 1;
    atomic_int enough = 1;
    struct moved moved;

    for (long i = 0; i < 1000000; i++)
        sum = sum * 6364136223846793005u + 1442695040888963407u;
    moved_start(&moved, 0, thread_computes_only);
    moved_storm(atomic_load(&moved.tid), &enough, 4 * PUSHES, &random);
    atomic_store(&moved.done, 1);
    moved_join(&moved);
    CHECK((uint64_t)atomic_load(&moved.counted) == sum, "%lx, not %lx", (uint64_t)atomic_load(&moved.counted), sum);
}

static void test_errors(void)
{
    cpu_set_t set;
    pid_t child;

    CPU_ZERO(&set);
    CHECK_ERROR(sched_setaffinity(0, sizeof(set), &set), EINVAL);
    CPU_SET(CPU_SETSIZE - 1, &set);
    CHECK_ERROR(sched_setaffinity(0, sizeof(set), &set), EINVAL);
    CHECK_ERROR(sched_setaffinity(0x3fffffff, sizeof(set), &set), ESRCH);
    CHECK_ERROR(syscall(SYS_sched_setaffinity, 0, sizeof(set), TAP_UNMAPPED), EFAULT);
    CHECK_ERROR(syscall(SYS_sched_getaffinity, 0, 4096, TAP_UNMAPPED), EFAULT);
    CHECK_ERROR(syscall(SYS_sched_getaffinity, 0, 1, &set), EINVAL);
    CHECK_ERROR(sched_getaffinity(0x3fffffff, sizeof(set), &set), ESRCH);
    child = FORK();
    if (child == 0)
        _exit(0);
    MUST(waitid(P_PID, (id_t)child, NULL, WEXITED | WNOWAIT));
    place_push(child, 1); /* of a zombie: whatever it answers, nothing happens */
    CHECK_EXITS(child, 0);
    CHECK(place_push(child, 1) == ESRCH, "a process that is gone is moved");
}

/* The affinity is what was set, for oneself and asked by others, and children inherit it. */
static void test_affinity(void)
{
    for (int i = 0; i < place_few(8); i++) {
        cpu_set_t mine;
        cpu_set_t theirs;
        int first = -1;
        int count = place_cpus(i, &first);
        pid_t child;

        REQUIRE(place_push(0, i) == 0, "sched_setaffinity: %s", tap_error(errno));
        CHECK(place_here() == i, "pushed oneself to %d, am at %d", i, place_here());
        CPU_ZERO(&mine);
        MUST(sched_getaffinity(0, sizeof(mine), &mine));
        CHECK(CPU_COUNT(&mine) == count && CPU_ISSET((size_t)first, &mine), "%d CPUs", CPU_COUNT(&mine));
        child = FORK();
        if (child == 0) {
            CHECK(place_here() == i, "a child is at %d", place_here());
            CPU_ZERO(&theirs);
            MUST(sched_getaffinity(getppid(), sizeof(theirs), &theirs));
            CHECK(CPU_EQUAL(&mine, &theirs), "the parent's differs");
            CPU_ZERO(&theirs);
            MUST(sched_getaffinity(0, sizeof(theirs), &theirs));
            CHECK(CPU_EQUAL(&mine, &theirs), "the child's differs");
            _exit(0);
        }
        CHECK_EXITS(child, 0);
    }
    CHECK(place_free(0) == 0, "%s", tap_error(errno));
}

/* --- moved while it makes, becomes and ends processes --- */

static void *thread_forks(void *argument)
{
    struct moved *moved = argument;

    moved_begin(moved);
    for (int i = 0; i < PUSHES; i++) {
        pid_t child = FORK();

        if (child == 0) {
            if (i % 4 == 3)
                tap_exec("status", "9", NULL);
            _exit(i);
        }
        CHECK_EXITS(child, i % 4 == 3 ? 9 : i);
        atomic_fetch_add(&moved->counted, 1);
    }
    atomic_store(&moved->done, 1);
    return NULL;
}

static void test_fork(void)
{
    uint64_t random = 6;
    struct moved moved;

    moved_start(&moved, 0, thread_forks);
    moved_storm(atomic_load(&moved.tid), &moved.done, PUSHES, &random);
    moved_join(&moved);
    CHECK(atomic_load(&moved.counted) == PUSHES, "%ld forks", atomic_load(&moved.counted));
}

static atomic_long born;

static void *thread_counts(void *argument)
{
    atomic_fetch_add(&born, 1);
    return argument;
}

static void *thread_clones(void *argument)
{
    struct moved *moved = argument;

    moved_begin(moved);
    for (int i = 0; i < PUSHES; i++) {
        pthread_t thread;
        void *result = NULL;

        REQUIRE(pthread_create(&thread, NULL, thread_counts, &born) == 0, "no thread");
        pthread_join(thread, &result);
        CHECK(result == &born, "a thread returns %p", result);
        atomic_fetch_add(&moved->counted, 1);
    }
    atomic_store(&moved->done, 1);
    return NULL;
}

static void test_clone(void)
{
    uint64_t random = 7;
    struct moved moved;

    moved_start(&moved, 0, thread_clones);
    moved_storm(atomic_load(&moved.tid), &moved.done, PUSHES, &random);
    moved_join(&moved);
    CHECK(atomic_load(&born) == PUSHES, "%ld threads", atomic_load(&born));
}

/* @status NUMBER */
static int child_status(int argc, char **argv)
{
    return argc > 2 ? atoi(argv[2]) : 99;
}

/* Pushes the child PID, which ends by itself, until it is a zombie; returns its status. */
static int push_until_ended(pid_t child, uint64_t *random)
{
    siginfo_t info;

    tap_await("a child that is moved until it ends");
    for (int64_t begin = tap_time();;) {
        int error = place_push(child, (int)(tap_random(random) % (uint64_t)place_count()));

        REQUIRE(error == 0 || error == ESRCH, "sched_setaffinity: %s", tap_error(error));
        info.si_pid = 0;
        MUST(waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT));
        if (info.si_pid == child)
            return tap_wait(child);
        REQUIRE(tap_time() - begin < TAP_PATIENCE, "it does not end");
    }
}

static void test_exec_exit(void)
{
    uint64_t random = 8;

    for (int i = 0; i < 20; i++) {
        pid_t child = FORK();
        int status;

        if (child == 0) {
            for (int k = 0; k < i * 10; k++)
                sched_yield();
            if (i % 2 == 0)
                tap_exec("status", "33", NULL);
            _exit(33);
        }
        status = push_until_ended(child, &random);
        CHECK(status == 33 << 8, "status %#x", (unsigned)status);
    }
}

static void *thread_spins(void *argument)
{
    moved_begin(argument);
    for (;;)
        x86_pause();
    return NULL;
}

static void *thread_dies(void *argument)
{
    struct moved *moved = argument;

    moved_begin(moved);
    while (atomic_load(&moved->done) == 0)
        sched_yield();
    if (moved->index % 3 == 0)
        _exit(44);
    if (moved->index % 3 == 1) {
        /* Any thread may be the one that takes it. */
        kill(getpid(), SIGTERM);
        for (;;)
            pause();
    }
    x86_null_write();
    return NULL;
}

/* A process ends, in three ways, while its threads are being moved by one of them. */
static void test_end_of_group(void)
{
    for (int i = 0; i < 9; i++) {
        pid_t child = FORK();

        if (child == 0) {
            struct moved spinning[3];
            struct moved dying;
            struct mover movers[3];

            for (int k = 0; k < 3; k++) {
                moved_start(&spinning[k], k, thread_spins);
                mover_start(&movers[k], atomic_load(&spinning[k].tid), (uint64_t)(i * 3 + k));
            }
            moved_start(&dying, i, thread_dies);
            UNTIL(atomic_load(&movers[0].pushes) > 5 && atomic_load(&movers[2].pushes) > 5, "threads to be moved");
            atomic_store(&dying.done, 1);
            for (;;)
                pause();
        }
        if (i % 3 == 0)
            CHECK_EXITS(child, 44);
        else
            CHECK_DIES(child, i % 3 == 1 ? SIGTERM : SIGSEGV);
    }
}

static _Atomic(uint64_t) *beats;

/* A group is stopped and continued while its threads are being moved from outside. */
static void test_stop_group(void)
{
    uint64_t random = 9;
    pid_t child;
    int status;

    beats = tap_share(PAGE);
    child = FORK();
    if (child == 0) {
        for (;;) {
            atomic_fetch_add(beats, 1);
            x86_pause();
        }
    }
    for (int i = 0; i < 15; i++) {
        uint64_t before;

        for (int k = 0; k < 3; k++)
            place_push(child, (int)(tap_random(&random) % (uint64_t)place_count()));
        MUST(kill(child, SIGSTOP));
        place_push(child, i);
        tap_await("a stopped child");
        CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status), "status %#x", (unsigned)status);
        before = atomic_load(beats);
        /* Moved while it is stopped it stays so. */
        REQUIRE(place_push(child, i + 1) == 0, "sched_setaffinity of a stopped thread");
        for (int k = 0; k < 50; k++)
            sched_yield();
        CHECK(atomic_load(beats) == before, "a stopped child goes on");
        MUST(kill(child, SIGCONT));
        place_push(child, i + 2);
        UNTIL(atomic_load(beats) > before, "a continued child");
        CHECK(waitpid(child, &status, WCONTINUED) == child && WIFCONTINUED(status), "status %#x", (unsigned)status);
    }
    for (int k = 0; k < 5; k++)
        place_push(child, k);
    MUST(kill(child, SIGKILL));
    CHECK_DIES(child, SIGKILL);
}

static const struct tap_test tests[] = {
    {"where", "a running thread goes to the CPU that its affinity names", test_where},
    {"compute", "a thread without system calls computes the same while it is moved", test_compute},
    {"errors", "invalid affinities are refused", test_errors},
    {"affinity", "the affinity is what was set, and children inherit it", test_affinity},
    {"futex", "futex waiters are woken once for each wake", moved_test_futex},
    {"pipe-read", "a reader of a pipe gets every byte once, in order", moved_test_pipe_read},
    {"pipe-write", "a writer of a full pipe writes every byte once, in order", moved_test_pipe_write},
    {"sleep", "a sleep is not shorter than asked and not restarted", moved_test_sleep},
    {"wait4", "wait4 finds each child once while its caller is moved", moved_test_wait4},
    {"suspend", "sigsuspend ends once for each signal", moved_test_suspend},
    {"timedwait", "sigtimedwait takes each queued signal once", moved_test_timedwait},
    {"timedwait-time", "sigtimedwait ends at its timeout while its caller is moved", moved_test_timedwait_time},
    {"join", "joins and mutexes of moved threads work", moved_test_join},
    {"fork", "fork, exec and wait of a moved thread work", test_fork},
    {"clone", "a moved thread makes threads", test_clone},
    {"exec-exit", "a process that execs and exits is moved from outside", test_exec_exit},
    {"end", "a group ends while its threads are moved", test_end_of_group},
    {"stop", "a group stops and continues while its threads are moved", test_stop_group},
};

static const struct tap_child children[] = {{"status", child_status}};

static const struct tap_program program = {
    .tests = tests, .count = TAP_COUNT(tests), .apart = true, .children = children, .child_count = TAP_COUNT(children)};

int main(int argc, char **argv)
{
    return tap_main(argc, argv, &program);
}
