/* test-moved: threads that others move, by setting their affinity, while they compute, wait, and make processes.
 *
 * A push returns before the thread has moved, unless it moved at once; where a case says how far a thread must be, it
 * waits until the thread says so itself. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userland/tests/case.h"
#include "userland/tests/machine.h"
#include "userland/tests/moved.h"
#include "userland/tests/place.h"
#include "userland/tests/tap.h"

#define PAGE 4096
#define PUSHES 60

void moved_start(struct moved *moved, int index, void *(*run)(void *))
{
    memset(moved, 0, sizeof(*moved));
    moved->index = index;
    MUST(pthread_create(&moved->thread, NULL, run, moved) == 0, "no thread");
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
    case_await("a moved thread's end");
    pthread_join(moved->thread, NULL);
}

long moved_storm(int tid, atomic_int *done, long least, uint64_t *random)
{
    long pushes = 0;

    while (atomic_load(done) == 0 || pushes < least) {
        int error = place_push(tid, (int)(tap_random(random) % (uint64_t)place_count()));

        /* It may have ended, if it is done. */
        MUST(error == 0 || (error == ESRCH && atomic_load(done) != 0), "sched_setaffinity: %s", case_error(error));
        pushes++;
        for (uint64_t turn = tap_random(random) % 20; turn > 0; turn--)
            sched_yield();
    }
    return pushes;
}

static void *mover_run(void *argument)
{
    struct mover *mover = argument;

    while (atomic_load(&mover->stop) == 0) {
        int error = place_push(mover->tid, (int)(tap_random(&mover->random) % (uint64_t)place_count()));

        if (error == ESRCH)
            break;
        MUST(error == 0, "sched_setaffinity: %s", case_error(error));
        atomic_fetch_add(&mover->pushes, 1);
        for (uint64_t turn = tap_random(&mover->random) % 20; turn > 0; turn--)
            sched_yield();
    }
    return NULL;
}

void mover_start(struct mover *mover, int tid, uint64_t seed)
{
    memset(mover, 0, sizeof(*mover));
    mover->tid = tid;
    mover->random = seed;
    MUST(pthread_create(&mover->thread, NULL, mover_run, mover) == 0, "no thread");
}

void mover_stop(struct mover *mover)
{
    UNTIL(atomic_load(&mover->pushes) >= PUSHES, "pushes");
    atomic_store(&mover->stop, 1);
    pthread_join(mover->thread, NULL);
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

static void case_where(void)
{
    struct moved moved;

    moved_start(&moved, 0, thread_computes);
    for (int i = 0; i < 3 * place_few(16); i++) {
        int error = place_push(atomic_load(&moved.tid), i);

        MUST(error == 0, "sched_setaffinity: %s", case_error(error));
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
            machine_pause();
    }
    atomic_store(&moved->counted, (long)sum);
    return NULL;
}

static void case_compute(void)
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

static void case_errors(void)
{
    cpu_set_t set;
    pid_t child;

    CPU_ZERO(&set);
    FAILS(sched_setaffinity(0, sizeof(set), &set), EINVAL);
    CPU_SET(CPU_SETSIZE - 1, &set);
    FAILS(sched_setaffinity(0, sizeof(set), &set), EINVAL);
    FAILS(sched_setaffinity(0x3fffffff, sizeof(set), &set), ESRCH);
    FAILS(syscall(SYS_sched_setaffinity, 0, sizeof(set), TAP_UNMAPPED), EFAULT);
    FAILS(syscall(SYS_sched_getaffinity, 0, 4096, TAP_UNMAPPED), EFAULT);
    FAILS(syscall(SYS_sched_getaffinity, 0, 1, &set), EINVAL);
    FAILS(sched_getaffinity(0x3fffffff, sizeof(set), &set), ESRCH);
    child = FORK();
    if (child == 0)
        _exit(0);
    CALL(waitid(P_PID, (id_t)child, NULL, WEXITED | WNOWAIT));
    place_push(child, 1); /* of a zombie: whatever it answers, nothing happens */
    EXITS(child, 0);
    CHECK(place_push(child, 1) == ESRCH, "a process that is gone is moved");
}

/* The affinity is what was set, for oneself and asked by others, and children inherit it. */
static void case_affinity(void)
{
    for (int i = 0; i < place_few(8); i++) {
        cpu_set_t mine;
        cpu_set_t theirs;
        int first = -1;
        int count = place_cpus(i, &first);
        pid_t child;

        MUST(place_push(0, i) == 0, "sched_setaffinity: %s", case_error(errno));
        CHECK(place_here() == i, "pushed oneself to %d, am at %d", i, place_here());
        CPU_ZERO(&mine);
        CALL(sched_getaffinity(0, sizeof(mine), &mine));
        CHECK(CPU_COUNT(&mine) == count && CPU_ISSET((size_t)first, &mine), "%d CPUs", CPU_COUNT(&mine));
        child = FORK();
        if (child == 0) {
            CHECK(place_here() == i, "a child is at %d", place_here());
            CPU_ZERO(&theirs);
            CALL(sched_getaffinity(getppid(), sizeof(theirs), &theirs));
            CHECK(CPU_EQUAL(&mine, &theirs), "the parent's differs");
            CPU_ZERO(&theirs);
            CALL(sched_getaffinity(0, sizeof(theirs), &theirs));
            CHECK(CPU_EQUAL(&mine, &theirs), "the child's differs");
            _exit(0);
        }
        EXITS(child, 0);
    }
    CHECK(place_free(0) == 0, "%s", case_error(errno));
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
                case_exec("status", "9", NULL);
            _exit(i);
        }
        EXITS(child, i % 4 == 3 ? 9 : i);
        atomic_fetch_add(&moved->counted, 1);
    }
    atomic_store(&moved->done, 1);
    return NULL;
}

static void case_fork(void)
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

        MUST(pthread_create(&thread, NULL, thread_counts, &born) == 0, "no thread");
        pthread_join(thread, &result);
        CHECK(result == &born, "a thread returns %p", result);
        atomic_fetch_add(&moved->counted, 1);
    }
    atomic_store(&moved->done, 1);
    return NULL;
}

static void case_clone(void)
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

    case_await("a child that is moved until it ends");
    for (int64_t begin = case_time();;) {
        int error = place_push(child, (int)(tap_random(random) % (uint64_t)place_count()));

        MUST(error == 0 || error == ESRCH, "sched_setaffinity: %s", case_error(error));
        info.si_pid = 0;
        CALL(waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT));
        if (info.si_pid == child)
            return case_wait(child);
        MUST(case_time() - begin < CASE_PATIENCE, "it does not end");
    }
}

static void case_exec_exit(void)
{
    uint64_t random = 8;

    for (int i = 0; i < 20; i++) {
        pid_t child = FORK();
        int status;

        if (child == 0) {
            for (int k = 0; k < i * 10; k++)
                sched_yield();
            if (i % 2 == 0)
                case_exec("status", "33", NULL);
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
        machine_pause();
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
    machine_null_write();
    return NULL;
}

/* A process ends, in three ways, while its threads are being moved by one of them. */
static void case_end_of_group(void)
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
            EXITS(child, 44);
        else
            DIES(child, i % 3 == 1 ? SIGTERM : SIGSEGV);
    }
}

static _Atomic(uint64_t) *beats;

/* A group is stopped and continued while its threads are being moved from outside. */
static void case_stop_group(void)
{
    uint64_t random = 9;
    pid_t child;
    int status;

    beats = case_share(PAGE);
    child = FORK();
    if (child == 0) {
        for (;;) {
            atomic_fetch_add(beats, 1);
            machine_pause();
        }
    }
    for (int i = 0; i < 15; i++) {
        uint64_t before;

        for (int k = 0; k < 3; k++)
            place_push(child, (int)(tap_random(&random) % (uint64_t)place_count()));
        CALL(kill(child, SIGSTOP));
        place_push(child, i);
        case_await("a stopped child");
        CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status), "status %#x", (unsigned)status);
        before = atomic_load(beats);
        /* Moved while it is stopped it stays so. */
        MUST(place_push(child, i + 1) == 0, "sched_setaffinity of a stopped thread");
        for (int k = 0; k < 50; k++)
            sched_yield();
        CHECK(atomic_load(beats) == before, "a stopped child goes on");
        CALL(kill(child, SIGCONT));
        place_push(child, i + 2);
        UNTIL(atomic_load(beats) > before, "a continued child");
        CHECK(waitpid(child, &status, WCONTINUED) == child && WIFCONTINUED(status), "status %#x", (unsigned)status);
    }
    for (int k = 0; k < 5; k++)
        place_push(child, k);
    CALL(kill(child, SIGKILL));
    DIES(child, SIGKILL);
}

static const struct case_entry cases[] = {
    {"where", "a running thread goes where it is pushed", case_where},
    {"compute", "a thread that makes no calls computes the same", case_compute},
    {"errors", "affinities that cannot be are refused", case_errors},
    {"affinity", "the affinity is what was set, and children inherit it", case_affinity},
    {"futex", "futex waiters are woken once for each wake", case_futex},
    {"pipe-read", "a reader of a pipe gets every byte once, in order", case_pipe_read},
    {"pipe-write", "a writer of a full pipe writes every byte once, in order", case_pipe_write},
    {"sleep", "a sleep is not shorter than asked and not restarted", case_sleep},
    {"wait4", "waiting for children finds each once", case_wait4},
    {"suspend", "sigsuspend ends once for each signal", case_suspend},
    {"timedwait", "sigtimedwait takes each queued signal once", case_timedwait},
    {"timedwait-time", "sigtimedwait ends in time", case_timedwait_time},
    {"join", "a join and a mutex of moved threads", case_join},
    {"fork", "fork, exec and wait of a moved thread", case_fork},
    {"clone", "threads made by a moved thread", case_clone},
    {"exec-exit", "a process that execs and exits is moved from outside", case_exec_exit},
    {"end", "a group ends while its threads are moved", case_end_of_group},
    {"stop", "a group stops and continues while its threads are moved", case_stop_group},
};

static const struct case_child children[] = {{"status", child_status}};

static const struct case_set set = {"test-moved", cases, CASE_COUNT(cases), children, CASE_COUNT(children)};

int main(int argc, char **argv)
{
    return case_main(argc, argv, &set);
}
