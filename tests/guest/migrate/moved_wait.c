/* test-moved: moved while it waits. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/migrate/moved.h"

#define WAKES 100
#define BYTES 200000
#define MS 1000000l

/* Pushes TID a few times, so that what comes next finds it on its way, arrived, or asleep. */
static void push_some(int tid, uint64_t *random)
{
    for (uint64_t i = tap_random(random) % 4; i > 0; i--) {
        int error = place_push(tid, (int)(tap_random(random) % (uint64_t)place_count()));

        REQUIRE(error == 0, "sched_setaffinity: %s", tap_error(error));
        for (uint64_t turn = tap_random(random) % 10; turn > 0; turn--)
            sched_yield();
    }
}

static int futex_word;

static void *thread_futex(void *argument)
{
    struct moved *moved = argument;

    moved_begin(moved);
    for (int i = 0; i < WAKES; i++) {
        long result = syscall(SYS_futex, &futex_word, 0, 0, NULL, NULL, 0);

        /* The word never changes, so nothing but a wake may end this; a move less than anything. */
        CHECK(result == 0, "futex wait returns %s", tap_error(errno));
        atomic_fetch_add(&moved->counted, 1);
    }
    moved_end(moved);
    return NULL;
}

void moved_test_futex(void)
{
    uint64_t random = 21;
    struct moved moved;

    moved_start(&moved, 0, thread_futex);
    for (int i = 0; i < WAKES; i++) {
        int64_t begin = tap_time();
        long woken = 0;

        CHECK(atomic_load(&moved.counted) == i, "%ld waits ended, %d wakes", atomic_load(&moved.counted), i);
        /* A wake that reaches somebody says so; until then there is nobody, at most on the way. */
        tap_await("a waiter to be there to be woken");
        while (woken == 0) {
            push_some(atomic_load(&moved.tid), &random);
            woken = MUST(syscall(SYS_futex, &futex_word, 1, 10, NULL, NULL, 0));
            REQUIRE(tap_time() - begin < TAP_PATIENCE, "nobody waits");
        }
        CHECK(woken == 1, "%ld woken", woken);
        push_some(atomic_load(&moved.tid), &random);
        UNTIL(atomic_load(&moved.counted) == i + 1, "a woken waiter");
    }
    moved_join(&moved);
}

static int descriptors[2];

static uint8_t byte_at(long position)
{
    return (uint8_t)(position * 31 + position / 251);
}

static void *thread_reads(void *argument)
{
    struct moved *moved = argument;
    uint8_t bytes[777];
    ssize_t count;
    long position = 0;

    moved_begin(moved);
    while ((count = read(descriptors[0], bytes, sizeof(bytes))) > 0) {
        for (ssize_t i = 0; i < count; i++, position++) {
            if (bytes[i] != byte_at(position)) {
                CHECK(false, "byte %ld is %d, not %d", position, bytes[i], byte_at(position));
                tap_stop();
            }
        }
        atomic_store(&moved->counted, position);
    }
    CHECK(count == 0, "read: %s", tap_error(errno));
    return NULL;
}

/* The writer writes little at a time and lets the reader wait between. */
void moved_test_pipe_read(void)
{
    uint64_t random = 22;
    struct moved moved;
    long position = 0;

    MUST(pipe(descriptors));
    moved_start(&moved, 0, thread_reads);
    while (position < BYTES / 10) {
        uint8_t bytes[200];
        size_t count = tap_random(&random) % sizeof(bytes) + 1;

        for (size_t i = 0; i < count; i++)
            bytes[i] = byte_at(position + (long)i);
        CHECK(write(descriptors[1], bytes, count) == (ssize_t)count, "%s", tap_error(errno));
        position += (long)count;
        push_some(atomic_load(&moved.tid), &random);
        if (position % 3 == 0)
            UNTIL(atomic_load(&moved.counted) == position, "a moved reader");
    }
    close(descriptors[1]);
    moved_join(&moved);
    CHECK(atomic_load(&moved.counted) == position, "%ld bytes read, %ld written", atomic_load(&moved.counted),
          position);
    close(descriptors[0]);
}

static void *thread_writes(void *argument)
{
    static uint8_t bytes[9000];
    struct moved *moved = argument;
    uint64_t random = 23;
    long position = 0;

    moved_begin(moved);
    while (position < BYTES) {
        size_t count = tap_random(&random) % sizeof(bytes) + 1;

        for (size_t i = 0; i < count; i++)
            bytes[i] = byte_at(position + (long)i);
        /* All of it: nothing but a signal may cut a write to a pipe. */
        CHECK(write(descriptors[1], bytes, count) == (ssize_t)count, "%s", tap_error(errno));
        position += (long)count;
        atomic_store(&moved->counted, position);
    }
    close(descriptors[1]);
    return NULL;
}

void moved_test_pipe_write(void)
{
    uint64_t random = 24;
    struct moved moved;
    struct mover mover;
    uint8_t bytes[3000];
    long position = 0;
    ssize_t count;

    MUST(pipe(descriptors));
    moved_start(&moved, 0, thread_writes);
    mover_start(&mover, atomic_load(&moved.tid), 25);
    tap_await("the bytes of a moved writer");
    while ((count = read(descriptors[0], bytes, tap_random(&random) % sizeof(bytes) + 1)) > 0) {
        for (ssize_t i = 0; i < count; i++, position++)
            REQUIRE(bytes[i] == byte_at(position), "byte %ld is %d, not %d", position, bytes[i], byte_at(position));
    }
    CHECK(position >= BYTES && position == atomic_load(&moved.counted), "%ld bytes read, %ld written", position,
          atomic_load(&moved.counted));
    atomic_store(&mover.stop, 1);
    pthread_join(mover.thread, NULL);
    moved_join(&moved);
    close(descriptors[0]);
}

static void *thread_sleeps(void *argument)
{
    struct moved *moved = argument;

    moved_begin(moved);
    for (int i = 0; i < 10; i++) {
        struct timespec asked = {0, 30 * MS + i};
        int64_t begin = tap_time();

        CHECK(nanosleep(&asked, &asked) == 0, "nanosleep: %s", tap_error(errno));
        CHECK(tap_time() - begin >= 30 * MS, "slept %ld ns", (long)(tap_time() - begin));
        atomic_fetch_add(&moved->counted, 1);
    }
    atomic_store(&moved->done, 1);
    return NULL;
}

/* A push far more often than a sleep is long: one that began again each time would never end. */
void moved_test_sleep(void)
{
    uint64_t random = 26;
    struct moved moved;

    moved_start(&moved, 0, thread_sleeps);
    tap_await("the sleeps of a moved thread");
    moved_storm(atomic_load(&moved.tid), &moved.done, 1, &random);
    moved_join(&moved);
    CHECK(atomic_load(&moved.counted) == 10, "%ld sleeps", atomic_load(&moved.counted));
}

static atomic_int forked[WAKES];

static void *thread_waits(void *argument)
{
    struct moved *moved = argument;

    moved_begin(moved);
    while (atomic_load(&moved->counted) < WAKES) {
        int status = -1;
        pid_t child = waitpid(-1, &status, 0);

        if (child == -1 && errno == ECHILD) {
            sched_yield();
            continue;
        }
        REQUIRE(child > 0 && WIFEXITED(status) && WEXITSTATUS(status) < WAKES, "waitpid returns %d status %#x: %s",
                (int)child, (unsigned)status, tap_error(errno));
        atomic_fetch_add(&forked[WEXITSTATUS(status)], 1);
        atomic_fetch_add(&moved->counted, 1);
    }
    moved_end(moved);
    return NULL;
}

void moved_test_wait4(void)
{
    uint64_t random = 27;
    struct moved moved;

    moved_start(&moved, 0, thread_waits);
    for (int i = 0; i < WAKES; i++) {
        pid_t child = FORK();

        if (child == 0) {
            for (int k = 0; k < i; k++)
                sched_yield();
            _exit(i);
        }
        push_some(atomic_load(&moved.tid), &random);
        if (i % 4 == 3)
            UNTIL(atomic_load(&moved.counted) == i + 1, "a moved thread to reap a child");
    }
    moved_join(&moved);
    for (int i = 0; i < WAKES; i++)
        CHECK(atomic_load(&forked[i]) == 1, "child %d was reaped %d times", i, atomic_load(&forked[i]));
}

static atomic_int handled;

static void handler_counts(int signal)
{
    (void)signal;
    atomic_fetch_add(&handled, 1);
}

static void *thread_suspends(void *argument)
{
    struct moved *moved = argument;
    sigset_t none;

    sigemptyset(&none);
    moved_begin(moved);
    for (int i = 0; i < WAKES; i++) {
        CHECK_ERROR(sigsuspend(&none), EINTR);
        CHECK(atomic_load(&handled) == i + 1, "%d signals in %d waits", atomic_load(&handled), i + 1);
        atomic_fetch_add(&moved->counted, 1);
    }
    moved_end(moved);
    return NULL;
}

void moved_test_suspend(void)
{
    struct sigaction action = {.sa_handler = handler_counts};
    uint64_t random = 28;
    struct moved moved;
    sigset_t mask;

    MUST(sigaction(SIGUSR1, &action, NULL));
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    MUST(sigprocmask(SIG_BLOCK, &mask, NULL));
    moved_start(&moved, 0, thread_suspends);
    for (int i = 0; i < WAKES; i++) {
        push_some(atomic_load(&moved.tid), &random);
        CHECK(atomic_load(&moved.counted) == i, "%ld waits ended, %d signals", atomic_load(&moved.counted), i);
        if (i % 2 == 0)
            MUST(syscall(SYS_tgkill, getpid(), atomic_load(&moved.tid), SIGUSR1));
        else
            MUST(kill(getpid(), SIGUSR1));
        push_some(atomic_load(&moved.tid), &random);
        UNTIL(atomic_load(&moved.counted) == i + 1, "sigsuspend of a moved thread");
    }
    moved_join(&moved);
}

#define AWAITED (SIGRTMIN + 1)

/* The set of AWAITED; no thread made from now on takes it but by waiting for it. */
static sigset_t awaited_block(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, AWAITED);
    MUST(sigprocmask(SIG_BLOCK, &set, NULL));
    return set;
}

static void *thread_takes(void *argument)
{
    struct moved *moved = argument;
    struct timespec hour = {3600, 0};
    sigset_t set = awaited_block();

    moved_begin(moved);
    for (int i = 0; i < WAKES; i++) {
        siginfo_t info;

        CHECK(sigtimedwait(&set, &info, &hour) == AWAITED && info.si_value.sival_int == i, "value %d, not %d: %s",
              info.si_value.sival_int, i, tap_error(errno));
        atomic_fetch_add(&moved->counted, 1);
    }
    moved_end(moved);
    return NULL;
}

void moved_test_timedwait(void)
{
    uint64_t random = 29;
    struct moved moved;

    awaited_block();
    moved_start(&moved, 0, thread_takes);
    for (int i = 0; i < WAKES; i++) {
        union sigval value = {.sival_int = i};

        push_some(atomic_load(&moved.tid), &random);
        MUST(sigqueue(getpid(), AWAITED, value));
        push_some(atomic_load(&moved.tid), &random);
        if (i % 3 == 0)
            UNTIL(atomic_load(&moved.counted) == i + 1, "sigtimedwait of a moved thread");
    }
    moved_join(&moved);
}

static void *thread_waits_in_vain(void *argument)
{
    struct moved *moved = argument;
    struct timespec some = {0, 30 * MS};
    sigset_t set = awaited_block();

    moved_begin(moved);
    for (int i = 0; i < 10; i++) {
        int64_t begin = tap_time();

        CHECK(sigtimedwait(&set, NULL, &some) == -1 && errno == EAGAIN, "sigtimedwait: %s", tap_error(errno));
        CHECK(tap_time() - begin >= 30 * MS, "waited %ld ns", (long)(tap_time() - begin));
        atomic_fetch_add(&moved->counted, 1);
    }
    atomic_store(&moved->done, 1);
    return NULL;
}

/* As with sleeps, the time does not begin again with each push. */
void moved_test_timedwait_time(void)
{
    uint64_t random = 31;
    struct moved moved;

    awaited_block();
    moved_start(&moved, 0, thread_waits_in_vain);
    tap_await("the waits for signals of a moved thread");
    moved_storm(atomic_load(&moved.tid), &moved.done, 1, &random);
    moved_join(&moved);
    CHECK(atomic_load(&moved.counted) == 10, "%ld waits", atomic_load(&moved.counted));
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static long guarded;
static int turn_of;

/* Each in turn adds one, through mutex and condition variable. */
static void *thread_turns(void *argument)
{
    struct moved *moved = argument;

    moved_begin(moved);
    for (int i = 0; i < WAKES; i++) {
        pthread_mutex_lock(&mutex);
        while (turn_of != moved->index)
            pthread_cond_wait(&condition, &mutex);
        guarded++;
        turn_of = (turn_of + 1) % 3;
        pthread_cond_broadcast(&condition);
        pthread_mutex_unlock(&mutex);
    }
    atomic_store(&moved->done, 1);
    return NULL;
}

void moved_test_join(void)
{
    struct moved moved[3];
    struct mover movers[3];

    for (int i = 0; i < 3; i++) {
        moved_start(&moved[i], i, thread_turns);
        mover_start(&movers[i], atomic_load(&moved[i].tid), 30 + (uint64_t)i);
    }
    for (int i = 0; i < 3; i++)
        moved_join(&moved[i]);
    for (int i = 0; i < 3; i++) {
        atomic_store(&movers[i].stop, 1);
        pthread_join(movers[i].thread, NULL);
    }
    CHECK(guarded == 3 * WAKES, "%ld turns", guarded);
}
