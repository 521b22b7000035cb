/* test-signals: waits that signals end or do not end.
 *
 * Children signal the process that made them by its id: the parent of an orphan is somebody else.
 *
 * A signal may come just before the wait begins; so where it must end the wait, it is sent again until it did. */
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/signal/signal.h"

#define PAGE 4096
#define MANY 20
#define MS 1000000l

struct waiting {
    atomic_int done;    /* waits that have ended */
    atomic_int handled; /* signals */
    atomic_int go;
};

static struct waiting *waiting;

static void handler_shared(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    (void)context;
    atomic_fetch_add(&waiting->handled, 1);
}

static void waiting_begin(int flags)
{
    waiting = tap_share(PAGE);
    signal_handle(SIGUSR1, handler_shared, flags, NULL);
}

/* A child, at PLACE, that sends SIGUSR1 to its parent until COUNT waits have ended. */
static pid_t interrupter(int place, int count)
{
    pid_t target = getpid();
    pid_t child = FORK();

    if (child == 0) {
        place_go(place);
        for (int before = -1; atomic_load(&waiting->done) < count;) {
            /* One at a time: the next goes when the last was handled. */
            if (atomic_load(&waiting->handled) != before) {
                before = atomic_load(&waiting->handled);
                for (int i = 0; i < 20; i++)
                    sched_yield();
                MUST(kill(target, SIGUSR1));
            }
            sched_yield();
        }
        _exit(0);
    }
    return child;
}

/* A child that has MANY signals handled by its parent and then calls FINISH and exits with 12. */
static pid_t disturber(int place, void (*finish)(void))
{
    pid_t target = getpid();
    pid_t child = FORK();

    if (child == 0) {
        place_go(place);
        for (int i = 0; i < MANY; i++) {
            int before = atomic_load(&waiting->handled);

            MUST(kill(target, SIGUSR1));
            UNTIL(atomic_load(&waiting->handled) > before, "a waiting parent to handle a signal");
            for (int k = 0; k < 20; k++)
                sched_yield();
        }
        if (finish != NULL)
            finish();
        _exit(12);
    }
    return child;
}

static int descriptors[2];

static void finish_write(void)
{
    MUST(write(descriptors[1], "b", 1));
}

void signal_test_restart_read(void)
{
    waiting_begin(SA_RESTART);
    MUST(pipe(descriptors));
    for (int i = 0; i < place_few(4); i++) {
        pid_t child;
        char byte = 0;

        place_go(i);
        child = disturber(i + 1, finish_write);
        tap_await("a read that signals do not end");
        CHECK(read(descriptors[0], &byte, 1) == 1 && byte == 'b', "%s", tap_error(errno));
        CHECK_EXITS(child, 12);
        CHECK(atomic_load(&waiting->handled) == MANY * (i + 1), "%d signals", atomic_load(&waiting->handled));
    }
}

void signal_test_interrupt_read(void)
{
    char bytes[4];

    waiting_begin(0);
    MUST(pipe(descriptors));
    for (int i = 0; i < place_few(4); i++) {
        pid_t child;

        place_go(i);
        atomic_store(&waiting->done, 0);
        child = interrupter(i + 1, MANY);
        for (int k = 0; k < MANY; k++) {
            tap_await("a read that a signal ends");
            CHECK_ERROR(read(descriptors[0], bytes, sizeof(bytes)), EINTR);
            atomic_fetch_add(&waiting->done, 1);
        }
        signal(SIGUSR1, SIG_IGN);
        CHECK_EXITS(child, 0);
        signal_handle(SIGUSR1, handler_shared, 0, NULL);
        /* Nothing was taken out by what was interrupted. */
        MUST(write(descriptors[1], "abc", 3));
        CHECK(read(descriptors[0], bytes, sizeof(bytes)) == 3 && memcmp(bytes, "abc", 3) == 0, "%s", tap_error(errno));
    }
}

void signal_test_restart_wait(void)
{
    waiting_begin(SA_RESTART);
    for (int i = 0; i < place_few(4); i++) {
        pid_t child;
        int status = -1;
        siginfo_t info;

        place_go(i);
        child = disturber(i + 1, NULL);
        tap_await("a child, through signals");
        if (i % 2 == 0) {
            CHECK(wait4(child, &status, 0, NULL) == child && status == 12 << 8, "status %#x: %s", (unsigned)status,
                  tap_error(errno));
        } else {
            MUST(waitid(P_PID, (id_t)child, &info, WEXITED));
            CHECK(info.si_status == 12, "status %d", info.si_status);
        }
        CHECK(atomic_load(&waiting->handled) == MANY * (i + 1), "%d signals", atomic_load(&waiting->handled));
    }
}

void signal_test_interrupt_wait(void)
{
    waiting_begin(0);
    for (int i = 0; i < place_few(4); i++) {
        pid_t child;

        place_go(i);
        atomic_store(&waiting->done, 0);
        child = interrupter(i + 1, MANY);
        for (int k = 0; k < MANY; k++) {
            tap_await("a wait for a child that a signal ends");
            if (k % 2 == 0)
                CHECK_ERROR(waitpid(-1, NULL, 0), EINTR);
            else
                CHECK_ERROR(waitid(P_PID, (id_t)child, NULL, WEXITED), EINTR);
            atomic_fetch_add(&waiting->done, 1);
        }
        signal(SIGUSR1, SIG_IGN);
        CHECK_EXITS(child, 0);
        signal_handle(SIGUSR1, handler_shared, 0, NULL);
    }
}

static int64_t time_of(const struct timespec *time)
{
    return time->tv_sec * INT64_C(1000000000) + time->tv_nsec;
}

void signal_test_interrupt_sleep(void)
{
    /* SA_RESTART makes no difference to sleeping. */
    waiting_begin(SA_RESTART);
    for (int i = 0; i < place_few(4); i++) {
        pid_t child;

        place_go(i);
        atomic_store(&waiting->done, 0);
        child = interrupter(i + 1, 6);
        for (int k = 0; k < 6; k++) {
            struct timespec asked = {1000, 5};
            struct timespec left = {-1, -1};
            int64_t begin = tap_time();
            int64_t rest;

            tap_await("a sleep that a signal ends");
            if (k % 3 == 0)
                CHECK_ERROR(nanosleep(&asked, &left), EINTR);
            else if (k % 3 == 1)
                CHECK_ERROR(syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &asked, &left), EINTR);
            else
                CHECK_ERROR(nanosleep(&asked, &asked), EINTR);
            rest = time_of(k % 3 == 2 ? &asked : &left);
            /* What was slept, and a little after it, is the rest at least; Linux may add the timer's slack, 50 us. */
            CHECK(rest < 1000000000005 + 50000 && rest + tap_time() - begin >= 1000000000005, "%ld ns are left",
                  (long)rest);
            atomic_fetch_add(&waiting->done, 1);
        }
        signal(SIGUSR1, SIG_IGN);
        CHECK_EXITS(child, 0);
        signal_handle(SIGUSR1, handler_shared, SA_RESTART, NULL);
    }
    /* Until a point in time: nothing is told, and the point is the same. */
    {
        struct timespec until;
        int64_t end;
        pid_t child;
        int result;

        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += 300 * MS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        end = time_of(&until);
        child = disturber(1, NULL);
        do {
            result = (int)syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 1, &until, NULL);
        } while (result == -1 && errno == EINTR);
        CHECK(result == 0 && tap_time() >= end, "%ld ns early: %s", (long)(end - tap_time()), tap_error(errno));
        CHECK_EXITS(child, 12);
    }
}

static void finish_wake(void)
{
    atomic_store(&waiting->go, 1);
    MUST(syscall(SYS_futex, &waiting->go, 1, 1, NULL, NULL, 0));
}

void signal_test_restart_futex(void)
{
    for (int i = 0; i < place_few(4); i++) {
        pid_t child;

        /* Continued without end. */
        waiting_begin(SA_RESTART);
        place_go(i);
        child = disturber(i + 1, finish_wake);
        while (atomic_load(&waiting->go) == 0) {
            tap_await("a futex");
            if (syscall(SYS_futex, &waiting->go, 0, 0, NULL, NULL, 0) != 0 &&
                !CHECK(errno == EAGAIN, "futex wait: %s", tap_error(errno)))
                tap_stop();
        }
        CHECK_EXITS(child, 12);
        /* Interrupted. */
        waiting_begin(0);
        child = interrupter(i + 1, 6);
        for (int k = 0; k < 6; k++) {
            tap_await("a futex wait that a signal ends");
            CHECK_ERROR(syscall(SYS_futex, &waiting->go, 0, 0, NULL, NULL, 0), EINTR);
            atomic_fetch_add(&waiting->done, 1);
        }
        signal(SIGUSR1, SIG_IGN);
        CHECK_EXITS(child, 0);
    }
}

void signal_test_interrupt_pause(void)
{
    waiting_begin(SA_RESTART);
    for (int i = 0; i < place_few(4); i++) {
        pid_t child;

        place_go(i);
        atomic_store(&waiting->done, 0);
        child = interrupter(i + 1, 6);
        for (int k = 0; k < 6; k++) {
            tap_await("a pause that a signal ends");
            CHECK_ERROR(pause(), EINTR);
            atomic_fetch_add(&waiting->done, 1);
        }
        signal(SIGUSR1, SIG_IGN);
        CHECK_EXITS(child, 0);
        signal_handle(SIGUSR1, handler_shared, SA_RESTART, NULL);
    }
}

/* With the signal masked outside, none can be lost before the wait. */
void signal_test_suspend(void)
{
    pid_t target = getpid();
    sigset_t blocked = signal_set(SIGUSR1);
    sigset_t none;
    sigset_t found;

    waiting_begin(0);
    sigaddset(&blocked, SIGHUP);
    MUST(sigprocmask(SIG_SETMASK, &blocked, NULL));
    sigemptyset(&none);
    for (int i = 0; i < place_few(8); i++) {
        pid_t child;

        place_go(i);
        child = FORK();
        if (child == 0) {
            place_go(i + 1);
            for (int k = 0; k < MANY; k++) {
                MUST(kill(target, SIGUSR1));
                UNTIL(atomic_load(&waiting->handled) == i * MANY + k + 1, "a suspended parent to handle a signal");
            }
            _exit(0);
        }
        for (int k = 0; k < MANY; k++) {
            CHECK(atomic_load(&waiting->handled) == i * MANY + k, "a masked signal is handled");
            tap_await("sigsuspend to end");
            CHECK_ERROR(sigsuspend(&none), EINTR);
            CHECK(atomic_load(&waiting->handled) == i * MANY + k + 1, "%d signals, not %d",
                  atomic_load(&waiting->handled), i * MANY + k + 1);
            MUST(sigprocmask(SIG_BLOCK, NULL, &found));
            CHECK(sigismember(&found, SIGUSR1) == 1 && sigismember(&found, SIGHUP) == 1, "the mask is not back");
        }
        CHECK_EXITS(child, 0);
    }
    CHECK_ERROR(syscall(SYS_rt_sigsuspend, TAP_UNMAPPED, 8), EFAULT);
    CHECK_ERROR(syscall(SYS_rt_sigsuspend, &none, 4), EINVAL);
}

void signal_test_timedwait(void)
{
    sigset_t set = signal_set(SIGUSR1);
    struct timespec none = {0, 0};
    struct timespec bad = {0, -1};
    siginfo_t info;

    signal_handle(SIGUSR1, signal_counts, 0, NULL);
    sigaddset(&set, SIGRTMIN + 2);
    sigaddset(&set, SIGRTMIN + 5);
    MUST(sigprocmask(SIG_BLOCK, &set, NULL));
    for (int i = 0; i < place_few(4); i++) {
        union sigval value = {.sival_int = 100 + i};

        place_go(i);
        CHECK_ERROR(sigtimedwait(&set, &info, &none), EAGAIN);
        MUST(sigqueue(getpid(), SIGRTMIN + 5, value));
        MUST(sigqueue(getpid(), SIGRTMIN + 2, value));
        MUST(kill(getpid(), SIGUSR1));
        place_go(i + 1);
        memset(&info, 0, sizeof(info));
        CHECK(sigtimedwait(&set, &info, &none) == SIGUSR1 && info.si_code == SI_USER && info.si_pid == getpid(),
              "code %d: %s", info.si_code, tap_error(errno));
        CHECK(sigwaitinfo(&set, &info) == SIGRTMIN + 2 && info.si_value.sival_int == 100 + i, "value %d",
              info.si_value.sival_int);
        CHECK(sigwaitinfo(&set, NULL) == SIGRTMIN + 5, "%s", tap_error(errno));
        CHECK_ERROR(sigtimedwait(&set, &info, &none), EAGAIN);
    }
    CHECK(atomic_load(&signal_count) == 0, "handlers ran");
    CHECK_ERROR(sigtimedwait(&set, &info, &bad), EINVAL);
    CHECK_ERROR(syscall(SYS_rt_sigtimedwait, TAP_UNMAPPED, &info, &none, 8), EFAULT);
    CHECK_ERROR(syscall(SYS_rt_sigtimedwait, &set, &info, &none, 3), EINVAL);
}

void signal_test_timedwait_waits(void)
{
    sigset_t set = signal_set(SIGUSR1);
    pid_t target = getpid();
    struct timespec short_time = {0, 30 * MS};
    struct timespec long_time = {1000, 0};
    siginfo_t info;

    MUST(sigprocmask(SIG_BLOCK, &set, NULL));
    for (int i = 0; i < place_few(8); i++) {
        int64_t begin = tap_time();
        pid_t child;

        place_go(i);
        CHECK_ERROR(sigtimedwait(&set, &info, &short_time), EAGAIN);
        CHECK(tap_time() - begin >= 30 * MS, "ends after %ld ns", (long)(tap_time() - begin));
        child = FORK();
        if (child == 0) {
            place_go(i + 1);
            for (int k = 0; k < 30; k++)
                sched_yield();
            MUST(kill(target, SIGUSR1));
            _exit(0);
        }
        tap_await("a signal by sigtimedwait");
        CHECK(sigtimedwait(&set, &info, &long_time) == SIGUSR1 && info.si_pid == child, "pid %d: %s", info.si_pid,
              tap_error(errno));
        CHECK_EXITS(child, 0);
    }
}

void signal_test_timedwait_interrupted(void)
{
    sigset_t set = signal_set(SIGUSR2);
    siginfo_t info;

    waiting_begin(SA_RESTART);
    MUST(sigprocmask(SIG_BLOCK, &set, NULL));
    for (int i = 0; i < place_few(4); i++) {
        pid_t child;

        place_go(i);
        atomic_store(&waiting->done, 0);
        child = interrupter(i + 1, 6);
        for (int k = 0; k < 6; k++) {
            tap_await("a sigwaitinfo that another signal ends");
            CHECK_ERROR(syscall(SYS_rt_sigtimedwait, &set, &info, NULL, 8), EINTR);
            atomic_fetch_add(&waiting->done, 1);
        }
        signal(SIGUSR1, SIG_IGN);
        CHECK_EXITS(child, 0);
        signal_handle(SIGUSR1, handler_shared, SA_RESTART, NULL);
    }
}
