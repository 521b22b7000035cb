/* test-timers: timers, clocks of CPU time and sleeps of a process whose threads are on many kernels. The same tests run
 * on Linux, where the places are CPUs. No test says how soon something comes, only that it does not come early. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/harness/thread_place.h"
#include "tests/guest/tasks/timers.h"
#include "userland/proc_file.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define MS 1000000l
#define SECOND 1000000000l
#define PATIENCE TAP_PATIENCE
#define CHILD_STATUS 3
#define TIMER SIGRTMIN

/* --- the calls as the kernel has them --- */

struct event { /* struct sigevent */
    long value;
    int signal, notify, thread, pad[11];
};

struct setting { /* struct itimerspec */
    struct timespec interval, value;
};

static long ns(struct timespec time)
{
    return time.tv_sec * SECOND + time.tv_nsec;
}

static struct timespec of_ns(long ns)
{
    return (struct timespec){ns / SECOND, ns % SECOND};
}

static long clock_ns(clockid_t clock)
{
    struct timespec now = {0};

    return x86_syscall3(SYS_clock_gettime, clock, (long)&now, 0) == 0 ? ns(now) : -1;
}

static long create(clockid_t clock, int notify, int signal, long value, int thread, int *id)
{
    struct event event = {.value = value, .signal = signal, .notify = notify, .thread = thread};

    return x86_syscall3(SYS_timer_create, clock, (long)&event, (long)id);
}

static long set(int id, int flags, long value, long interval, struct setting *old)
{
    struct setting new = {of_ns(interval), of_ns(value)};

    return x86_syscall(SYS_timer_settime, id, flags, (long)&new, (long)old, 0, 0);
}

static struct setting get(int id)
{
    struct setting is = {{-1, 0}, {-1, 0}};

    x86_syscall3(SYS_timer_gettime, id, (long)&is, 0);
    return is;
}

static long overrun(int id)
{
    return x86_syscall1(SYS_timer_getoverrun, id);
}

static void delete (int id)
{
    CHECK(x86_syscall1(SYS_timer_delete, id) == 0, "timer_delete of %d", id);
}

/* Waits for a blocked signal for LIMIT ns at most; it, or -1. */
static int await(int signal, siginfo_t *info, long limit)
{
    struct timespec time = of_ns(limit);
    sigset_t signals;
    int got;

    sigemptyset(&signals);
    sigaddset(&signals, signal);
    do
        got = sigtimedwait(&signals, info, &time);
    while (got < 0 && errno == EINTR);
    return got;
}

static void block(int how, int signal)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, signal);
    sigprocmask(how, &signals, NULL);
}

/* Whether a blocked signal comes, which it leaves pending. */
static bool comes_to_wait(int signal)
{
    long until = clock_ns(CLOCK_MONOTONIC) + PATIENCE;
    sigset_t pending;

    do {
        if (sigpending(&pending) != 0 || sigismember(&pending, signal) == 1)
            return sigismember(&pending, signal) == 1;
        usleep(1000);
    } while (clock_ns(CLOCK_MONOTONIC) < until);
    return false;
}

/* --- one shot --- */

static void test_once(void)
{
    static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_TAI};
    siginfo_t info;

    for (int i = 0; i < (int)TAP_COUNT(clocks) * thread_places(); i++) {
        clockid_t clock = clocks[i % (int)TAP_COUNT(clocks)];
        long before;
        int id = -1;

        thread_place_go(i);
        if (!CHECK(create(clock, SIGEV_SIGNAL, TIMER, 4711 + i, 0, &id) == 0 && id >= 0, "timer of clock %d", clock))
            return;
        before = clock_ns(clock);
        CHECK(set(id, 0, 20 * MS, 0, NULL) == 0, "timer_settime");
        thread_place_go(i + 1);
        CHECK(await(TIMER, &info, PATIENCE) == TIMER, "its signal");
        CHECK(clock_ns(clock) - before >= 20 * MS, "%ld ns later", clock_ns(clock) - before);
        CHECK(info.si_code == SI_TIMER && info.si_value.sival_int == 4711 + i && info.si_timerid == id &&
                  info.si_overrun == 0,
              "code %d, value %d, timer %d, overrun %d", info.si_code, info.si_value.sival_int, info.si_timerid,
              info.si_overrun);
        CHECK(await(TIMER, &info, 0) == -1, "it comes once");
        CHECK(ns(get(id).value) == 0 && ns(get(id).interval) == 0 && overrun(id) == 0, "it is over");
        delete (id);
    }
}

static void test_absolute(void)
{
    static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC};
    siginfo_t info;
    int id;

    for (size_t i = 0; i < TAP_COUNT(clocks); i++) {
        long at = clock_ns(clocks[i]) + 30 * MS;

        create(clocks[i], SIGEV_SIGNAL, TIMER, 0, 0, &id);
        CHECK(set(id, TIMER_ABSTIME, at, 0, NULL) == 0 && await(TIMER, &info, PATIENCE) == TIMER, "at a time");
        CHECK(clock_ns(clocks[i]) >= at, "%ld ns early", at - clock_ns(clocks[i]));
        CHECK(set(id, TIMER_ABSTIME, 1, 0, NULL) == 0 && await(TIMER, &info, PATIENCE) == TIMER, "at a time long ago");
        delete (id);
    }
}

static void test_default(void)
{
    siginfo_t info;
    int id = -1;

    block(SIG_BLOCK, SIGALRM);
    CHECK(x86_syscall3(SYS_timer_create, CLOCK_MONOTONIC, 0, (long)&id) == 0, "without an event");
    CHECK(set(id, 0, 1, 0, NULL) == 0 && await(SIGALRM, &info, PATIENCE) == SIGALRM, "SIGALRM");
    CHECK(info.si_value.sival_int == id && info.si_code == SI_TIMER, "value %d of timer %d", info.si_value.sival_int,
          id);
    delete (id);
    block(SIG_UNBLOCK, SIGALRM);
}

/* --- intervals --- */

static void test_interval(void)
{
    long before, count = 0;
    siginfo_t info;
    int id;

    create(CLOCK_MONOTONIC, SIGEV_SIGNAL, TIMER, 0, 0, &id);
    before = clock_ns(CLOCK_MONOTONIC);
    CHECK(set(id, 0, 5 * MS, 5 * MS, NULL) == 0, "timer_settime");
    for (int i = 0; i < 20; i++) {
        thread_place_go(i);
        if (!CHECK(await(TIMER, &info, PATIENCE) == TIMER, "signal %d", i))
            break;
        CHECK(info.si_overrun == overrun(id), "overrun %d in the signal, %ld by the call", info.si_overrun,
              overrun(id));
        count += 1 + info.si_overrun;
        CHECK(clock_ns(CLOCK_MONOTONIC) - before >= count * 5 * MS, "%ld intervals after %ld ns", count,
              clock_ns(CLOCK_MONOTONIC) - before);
    }
    CHECK(ns(get(id).interval) == 5 * MS && ns(get(id).value) <= 5 * MS, "it goes on");
    CHECK(set(id, 0, 0, 0, NULL) == 0 && ns(get(id).value) == 0, "until it is stopped");
    while (await(TIMER, &info, 0) == TIMER)
        ;
    delete (id);
}

/* No expiration is lost that nobody could take in time. */
static void test_overrun(void)
{
    long before, after;
    siginfo_t info;
    int id;

    create(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGUSR1, 0, 0, &id);
    block(SIG_BLOCK, SIGUSR1);
    before = clock_ns(CLOCK_MONOTONIC);
    set(id, 0, MS, MS, NULL);
    after = clock_ns(CLOCK_MONOTONIC);
    usleep(60000);
    raise(SIGUSR1); /* pending or not, it stays two */
    CHECK(await(SIGUSR1, &info, PATIENCE) == SIGUSR1, "its signal");
    if (info.si_code != SI_TIMER)
        CHECK(await(SIGUSR1, &info, PATIENCE) == SIGUSR1, "the other signal");
    CHECK(info.si_code == SI_TIMER && info.si_overrun >= (60 * MS - (after - before)) / MS - 2 &&
              info.si_overrun < (clock_ns(CLOCK_MONOTONIC) - before) / MS,
          "overrun %d in %ld ns", info.si_overrun, clock_ns(CLOCK_MONOTONIC) - before);
    delete (id);
    while (await(SIGUSR1, &info, 0) == SIGUSR1)
        ;
    block(SIG_UNBLOCK, SIGUSR1);
}

/* A signal that is ignored keeps the timer going. */
static void test_ignored(void)
{
    siginfo_t info;
    int id;

    signal(SIGUSR2, SIG_IGN);
    create(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGUSR2, 0, 0, &id);
    set(id, 0, 2 * MS, 2 * MS, NULL);
    usleep(30000);
    CHECK(ns(get(id).value) > 0, "it is still set");
    block(SIG_BLOCK, SIGUSR2);
    signal(SIGUSR2, SIG_DFL);
    CHECK(await(SIGUSR2, &info, PATIENCE) == SIGUSR2, "and comes when it is not ignored any more");
    delete (id);
    while (await(SIGUSR2, &info, 0) == SIGUSR2)
        ;
    block(SIG_UNBLOCK, SIGUSR2);
}

static void test_setting(void)
{
    struct setting old;
    siginfo_t info;
    int id;

    create(CLOCK_MONOTONIC, SIGEV_SIGNAL, TIMER, 0, 0, &id);
    CHECK(set(id, 0, 1000 * SECOND, 7 * SECOND, &old) == 0 && ns(old.value) == 0 && ns(old.interval) == 0,
          "a new timer is not set");
    CHECK(ns(get(id).value) <= 1000 * SECOND && ns(get(id).value) > 900 * SECOND && ns(get(id).interval) == 7 * SECOND,
          "%ld ns left", ns(get(id).value));
    CHECK(set(id, 0, 10 * MS, 0, &old) == 0 && ns(old.value) > 900 * SECOND && ns(old.interval) == 7 * SECOND,
          "what was before");
    CHECK(comes_to_wait(TIMER), "its signal");
    CHECK(set(id, 0, 1000 * SECOND, 0, &old) == 0 && ns(old.value) == 0, "it has expired");
    CHECK(await(TIMER, &info, PATIENCE) == TIMER, "and its signal stays");
    CHECK(await(TIMER, &info, 30 * MS) == -1 && ns(get(id).value) > 900 * SECOND, "the new setting holds");
    delete (id);
}

/* Of a timer without a signal one can only ask what is left. */
static void test_none(void)
{
    int id;

    create(CLOCK_MONOTONIC, SIGEV_NONE, 0, 0, 0, &id);
    set(id, 0, 10 * MS, 0, NULL);
    CHECK(ns(get(id).value) <= 10 * MS, "%ld ns left", ns(get(id).value));
    usleep(20000);
    CHECK(ns(get(id).value) == 0, "%ld ns left when it is over", ns(get(id).value));
    set(id, 0, 10 * MS, 50 * SECOND, NULL);
    usleep(20000);
    CHECK(ns(get(id).value) > SECOND && ns(get(id).value) <= 50 * SECOND, "%ld ns left to the next", ns(get(id).value));
    delete (id);
}

/* --- threads --- */

struct waiter {
    atomic_int tid, stop;
    long got, strange, overruns;
    int value;
};

static struct waiter waiters[8];

static void take_signals(struct thread *self)
{
    struct waiter *waiter = &waiters[self->index];
    uint64_t set_of = 1ull << (TIMER - 1);
    struct timespec limit = {0, 20 * MS};

    atomic_store(&waiter->tid, (int)x86_syscall0(SYS_gettid));
    for (int i = 0; !atomic_load(&waiter->stop); i++) {
        siginfo_t info;

        thread_place_go(self->index + i);
        if (x86_syscall(SYS_rt_sigtimedwait, (long)&set_of, (long)&info, (long)&limit, 8, 0, 0) != TIMER)
            continue;
        waiter->got++;
        waiter->overruns += info.si_overrun;
        waiter->strange += info.si_code != SI_TIMER || info.si_value.sival_int != waiter->value;
    }
}

/* Whether a timer may not signal thread TID, or soon may not: one that is joined may still be on its way out. */
static bool is_refused(int tid)
{
    long until = clock_ns(CLOCK_MONOTONIC) + PATIENCE, result;
    int id;

    while ((result = create(CLOCK_MONOTONIC, SIGEV_THREAD_ID, TIMER, 0, tid, &id)) == 0 &&
           clock_ns(CLOCK_MONOTONIC) < until) {
        delete (id);
        usleep(1000);
    }
    return result == -EINVAL;
}

static void test_thread_id(void)
{
    static struct thread threads[8];
    int ids[8], id;
    siginfo_t info;

    for (int i = 0; i < 8; i++) {
        waiters[i] = (struct waiter){.value = 100 + i};
        threads[i] = (struct thread){.index = i};
        if (!CHECK(thread_start(&threads[i], take_signals), "thread %d: %s", i, strerror(errno)))
            exit(1);
    }
    for (int i = 0; i < 8; i++) {
        thread_wait(&waiters[i].tid, 1);
        CHECK(create(CLOCK_MONOTONIC, SIGEV_THREAD_ID, TIMER, 100 + i, atomic_load(&waiters[i].tid), &ids[i]) == 0,
              "timer for thread %d", i);
        set(ids[i], 0, MS, 3 * MS, NULL);
    }
    for (int i = 0; i < 8; i++) {
        for (long until = clock_ns(CLOCK_MONOTONIC) + PATIENCE;
             *(volatile long *)&waiters[i].got < 10 && clock_ns(CLOCK_MONOTONIC) < until;)
            usleep(1000);
        delete (ids[i]);
        atomic_store(&waiters[i].stop, 1);
        CHECK(thread_join(&threads[i]), "thread %d ends", i);
        CHECK(waiters[i].got >= 10 && waiters[i].strange == 0, "thread %d got %ld signals, %ld of others", i,
              waiters[i].got, waiters[i].strange);
    }
    CHECK(await(TIMER, &info, 0) == -1, "none came to this thread");
    CHECK(is_refused(threads[0].tid_first), "a thread that is over");
    CHECK(create(CLOCK_MONOTONIC, SIGEV_THREAD_ID, TIMER, 0, getppid(), &id) == -EINVAL, "a thread of others");
}

/* --- clocks of CPU time --- */

static void burn(clockid_t clock, long amount)
{
    for (long until = clock_ns(clock) + amount; clock_ns(clock) < until;)
        x86_pause();
}

static atomic_long burnt;

static void burn_here(struct thread *self)
{
    long before;

    thread_place_go(self->index);
    before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    burn(CLOCK_THREAD_CPUTIME_ID, 30 * MS);
    atomic_fetch_add(&burnt, clock_ns(CLOCK_THREAD_CPUTIME_ID) - before);
}

static void test_process_clock(void)
{
    static struct thread threads[8];
    long before = clock_ns(CLOCK_PROCESS_CPUTIME_ID), after = 0;
    clockid_t own;

    atomic_store(&burnt, 0);
    for (int i = 0; i < 8; i++) {
        threads[i] = (struct thread){.index = i};
        if (!CHECK(thread_start(&threads[i], burn_here), "thread %d: %s", i, strerror(errno)))
            exit(1);
    }
    for (int i = 0; i < 8; i++)
        CHECK(thread_join(&threads[i]), "thread %d ends", i);
    for (int i = 0; i < thread_places(); i++) {
        thread_place_go(i);
        after = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        CHECK(after - before >= atomic_load(&burnt), "at place %d %ld ns, the threads used %ld", i, after - before,
              atomic_load(&burnt));
    }
    CHECK(clock_getcpuclockid(0, &own) == 0 && clock_ns(own) >= after, "by the process's id");
}

static void test_cpu_timer(void)
{
    long begin, left, used;
    siginfo_t info;
    bool came;
    int id;

    CHECK(create(CLOCK_PROCESS_CPUTIME_ID, SIGEV_SIGNAL, TIMER, 1, 0, &id) == 0, "timer of the process's time");
    begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    set(id, 0, 50 * MS, 0, NULL);
    usleep(80000);
    came = await(TIMER, &info, 0) == TIMER;
    left = ns(get(id).value);
    /* While a host does not run a CPU, whoever is there is charged: what counts is the CPU time, and not what slept. */
    used = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
    CHECK(left <= 50 * MS && (left > 0 || used >= 50 * MS), "%ld ns left when %ld are used", left, used);
    CHECK(!came || used >= 50 * MS, "it expires when %ld ns are used", used);
    thread_place_go(1);
    burn(CLOCK_PROCESS_CPUTIME_ID, 60 * MS);
    CHECK(await(TIMER, &info, PATIENCE) == TIMER && info.si_code == SI_TIMER, "it expires when the time is used");
    delete (id);
    CHECK(create(CLOCK_THREAD_CPUTIME_ID, SIGEV_SIGNAL, TIMER, 2, 0, &id) == 0, "timer of the thread's time");
    set(id, 0, 20 * MS, 20 * MS, NULL);
    for (int i = 0; i < 3; i++) {
        thread_place_go(i);
        burn(CLOCK_THREAD_CPUTIME_ID, 25 * MS);
        CHECK(await(TIMER, &info, PATIENCE) == TIMER && info.si_value.sival_int == 2, "signal %d", i);
    }
    delete (id);
    while (await(TIMER, &info, 0) == TIMER)
        ;
}

static void test_itimers(void)
{
    static const struct {
        int which, signal;
    } timers[] = {{ITIMER_VIRTUAL, SIGVTALRM}, {ITIMER_PROF, SIGPROF}};

    for (size_t i = 0; i < TAP_COUNT(timers); i++) {
        struct itimerval new = {{0, 20000}, {0, 20000}}, old;
        siginfo_t info;
        long begin, used;
        int got = 0, came;

        block(SIG_BLOCK, timers[i].signal);
        CHECK(getitimer(timers[i].which, &old) == 0 && old.it_value.tv_sec == 0 && old.it_value.tv_usec == 0,
              "it is not set");
        begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        CHECK(setitimer(timers[i].which, &new, &old) == 0, "setitimer: %s", strerror(errno));
        CHECK(getitimer(timers[i].which, &old) == 0 && old.it_interval.tv_usec == 20000 &&
                  old.it_value.tv_sec * 1000000 + old.it_value.tv_usec > 0 && old.it_value.tv_usec <= 24000,
              "%ld us left of %ld", (long)old.it_value.tv_usec, (long)old.it_interval.tv_usec);
        came = await(timers[i].signal, &info, 60 * MS);
        used = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
        CHECK(came == -1 || used >= 20 * MS, "it expires when %ld ns are used", used);
        for (long until = clock_ns(CLOCK_MONOTONIC) + PATIENCE; got < 3 && clock_ns(CLOCK_MONOTONIC) < until;) {
            thread_place_go(got);
            for (volatile int spin = 0; spin < 100000; spin++)
                ;
            got += await(timers[i].signal, &info, 0) == timers[i].signal;
        }
        CHECK(got == 3, "%d signals of timer %d", got, timers[i].which);
        new = (struct itimerval){{0, 0}, {0, 0}};
        CHECK(setitimer(timers[i].which, &new, &old) == 0 && old.it_interval.tv_usec == 20000, "off");
        CHECK(getitimer(timers[i].which, &old) == 0 && old.it_value.tv_usec == 0, "it is off");
        while (await(timers[i].signal, &info, 0) > 0)
            ;
        block(SIG_UNBLOCK, timers[i].signal);
    }
    CHECK_ERROR(getitimer(3, &(struct itimerval){{0, 0}, {0, 0}}), EINVAL);
    CHECK_ERROR(setitimer(3, &(struct itimerval){{0, 0}, {0, 0}}, NULL), EINVAL);
}

/* --- refusals --- */

static void test_errors(void)
{
    struct setting wrong[] = {{{0, 0}, {-1, 0}}, {{0, 0}, {0, SECOND}}, {{0, -1}, {1, 0}}, {{-1, 0}, {0, 0}}};
    int id, unset = -1;

    CHECK(create(99, SIGEV_SIGNAL, TIMER, 0, 0, &id) == -EINVAL, "a clock that is none");
    CHECK(create(CLOCK_MONOTONIC_RAW, SIGEV_SIGNAL, TIMER, 0, 0, &id) == -EOPNOTSUPP, "a clock without timers");
    CHECK(create(CLOCK_MONOTONIC_COARSE, SIGEV_SIGNAL, TIMER, 0, 0, &id) == -EOPNOTSUPP, "another");
    CHECK(create(CLOCK_MONOTONIC, SIGEV_SIGNAL, 0, 0, 0, &id) == -EINVAL, "signal 0");
    CHECK(create(CLOCK_MONOTONIC, SIGEV_SIGNAL, 65, 0, 0, &id) == -EINVAL, "signal 65");
    CHECK(create(CLOCK_MONOTONIC, 77, TIMER, 0, 0, &id) == -EINVAL, "a way to notify that is none");
    CHECK(create(CLOCK_MONOTONIC, SIGEV_THREAD_ID, TIMER, 0, 0, &id) == -EINVAL, "no thread");
    CHECK(create(CLOCK_MONOTONIC, SIGEV_SIGNAL, TIMER, 0, 0, (int *)8) == -EFAULT, "nowhere for the id");
    CHECK(x86_syscall3(SYS_timer_create, CLOCK_MONOTONIC, 8, (long)&id) == -EFAULT, "an event nowhere");
    CHECK(x86_syscall3(SYS_timer_create, 99, 8, (long)&id) == -EFAULT, "that before the clock");
    CHECK(set(1000000, 0, 1, 0, NULL) == -EINVAL && overrun(1000000) == -EINVAL &&
              x86_syscall3(SYS_timer_gettime, 1000000, (long)&wrong[0], 0) == -EINVAL &&
              x86_syscall1(SYS_timer_delete, 1000000) == -EINVAL,
          "a timer that is not there");
    CHECK(set(unset, 0, 1, 0, NULL) == -EINVAL && x86_syscall1(SYS_timer_delete, -2) == -EINVAL, "negative ids");
    create(CLOCK_MONOTONIC, SIGEV_SIGNAL, TIMER, 0, 0, &id);
    for (size_t i = 0; i < TAP_COUNT(wrong); i++)
        CHECK(x86_syscall(SYS_timer_settime, id, 0, (long)&wrong[i], 0, 0, 0) == -EINVAL, "time %zu", i);
    CHECK(x86_syscall(SYS_timer_settime, id, 0, 0, 0, 0, 0) == -EINVAL, "no setting");
    CHECK(x86_syscall(SYS_timer_settime, id, 0, 8, 0, 0, 0) == -EFAULT, "a setting nowhere");
    CHECK(x86_syscall3(SYS_timer_gettime, id, 8, 0) == -EFAULT, "an answer nowhere");
    delete (id);
    CHECK(x86_syscall1(SYS_timer_delete, id) == -EINVAL, "a timer twice");
}

/* --- processes --- */

static void test_inherited(void)
{
    struct setting is;
    pid_t child;
    int id, status = -1;

    create(CLOCK_MONOTONIC, SIGEV_SIGNAL, TIMER, 0, 0, &id);
    set(id, 0, 1000 * SECOND, 0, NULL);
    child = fork();
    if (child == 0)
        _exit(x86_syscall3(SYS_timer_gettime, id, (long)&is, 0) == -EINVAL ? CHILD_STATUS : 1);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == CHILD_STATUS,
          "a child has no timers: %d", status);
    CHECK_CHILD_EXITS("exec", NULL, CHILD_STATUS);
    CHECK(ns(get(id).value) > 900 * SECOND, "the parent keeps its own");
    delete (id);
}

/* Runs in a child: timers go with the program, alarms stay. */
static int exec_self(const char *name)
{
    struct itimerval later = {{0, 0}, {1000, 0}};
    char first[20];
    int id;

    create(CLOCK_MONOTONIC, SIGEV_SIGNAL, TIMER, 0, 0, &id);
    set(id, 0, 1000 * SECOND, 0, NULL);
    setitimer(ITIMER_REAL, &later, NULL);
    setitimer(ITIMER_PROF, &later, NULL);
    snprintf(first, sizeof(first), "%d", id);
    execl(name, name, "@executed", first, (char *)NULL);
    return 1;
}

static int executed(const char *id)
{
    struct itimerval real, prof;
    struct setting is;

    getitimer(ITIMER_REAL, &real);
    getitimer(ITIMER_PROF, &prof);
    return x86_syscall3(SYS_timer_gettime, atoi(id), (long)&is, 0) == -EINVAL && real.it_value.tv_sec > 900 &&
                   prof.it_value.tv_sec > 900
               ? CHILD_STATUS
               : 1;
}

/* --- many --- */

static void test_many(void)
{
    static int ids[200];
    static bool came[200];
    siginfo_t info;
    int left = 200;

    for (int i = 0; i < 200; i++) {
        if (!CHECK(create(CLOCK_MONOTONIC, SIGEV_SIGNAL, TIMER, i, 0, &ids[i]) == 0, "timer %d", i))
            return;
        thread_place_go(i / 10);
        set(ids[i], 0, (1 + i * 37 % 50) * MS, 0, NULL);
    }
    while (left > 0 && CHECK(await(TIMER, &info, PATIENCE) == TIMER, "%d are missing", left)) {
        int i = info.si_value.sival_int;

        if (CHECK(i >= 0 && i < 200 && !came[i] && info.si_timerid == ids[i], "signal of %d", i))
            came[i] = true;
        left--;
    }
    for (int i = 0; i < 200; i++)
        delete (ids[i]);
}

/* --- sleeps --- */

static volatile sig_atomic_t handled;

static void note(int signal)
{
    (void)signal;
    handled++;
}

static void test_interrupted(void)
{
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    struct timespec long_time = {1000, 0}, rest = {0, 0}, until = of_ns(clock_ns(CLOCK_MONOTONIC) + 1000 * SECOND);
    int id;

    sigaction(SIGUSR1, &action, NULL);
    create(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGUSR1, 0, 0, &id);
    for (int i = 0; i < thread_places(); i++) {
        thread_place_go(i);
        handled = 0;
        set(id, 0, 20 * MS, 20 * MS, NULL); /* the first may come before the sleep */
        CHECK_ERROR(nanosleep(&long_time, &rest), EINTR);
        CHECK(handled >= 1 && rest.tv_sec >= 900 && ns(rest) < 1000 * SECOND, "%d signals, %ld.%09ld left",
              (int)handled, (long)rest.tv_sec, rest.tv_nsec);
        CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR, "an absolute sleep too");
        set(id, 0, 0, 0, NULL);
    }
    delete (id);
    signal(SIGUSR1, SIG_DFL);
}

static void test_sleeps(void)
{
    static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_TAI};
    struct timespec time = {0, 10 * MS}, wrong = {0, SECOND};

    for (size_t i = 0; i < TAP_COUNT(clocks); i++) {
        long before = clock_ns(clocks[i]);

        CHECK(x86_syscall(SYS_clock_nanosleep, clocks[i], 0, (long)&time, 0, 0, 0) == 0 &&
                  clock_ns(clocks[i]) - before >= 10 * MS,
              "clock %d: %ld ns", clocks[i], clock_ns(clocks[i]) - before);
        time = of_ns(before + 15 * MS);
        CHECK(x86_syscall(SYS_clock_nanosleep, clocks[i], TIMER_ABSTIME, (long)&time, 0, 0, 0) == 0 &&
                  clock_ns(clocks[i]) >= before + 15 * MS,
              "clock %d at a time", clocks[i]);
        time = of_ns(10 * MS);
    }
    CHECK(x86_syscall(SYS_clock_nanosleep, CLOCK_THREAD_CPUTIME_ID, 0, (long)&time, 0, 0, 0) == -EOPNOTSUPP,
          "the thread's own CPU time");
    CHECK(x86_syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC_RAW, 0, (long)&time, 0, 0, 0) == -EOPNOTSUPP, "RAW");
    CHECK(x86_syscall(SYS_clock_nanosleep, 99, 0, (long)&time, 0, 0, 0) == -EINVAL, "no clock");
    CHECK(x86_syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, (long)&wrong, 0, 0, 0) == -EINVAL, "no time");
    CHECK(x86_syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, 8, 0, 0, 0) == -EFAULT, "nowhere");
}

static void burn_process(struct thread *self)
{
    while (!atomic_load(&self->result))
        x86_pause();
}

static void test_cpu_sleep(void)
{
    static struct thread thread;
    struct timespec time = {0, 30 * MS};
    long before;

    thread = (struct thread){.index = 0};
    if (!CHECK(thread_start(&thread, burn_process), "a thread: %s", strerror(errno)))
        return;
    before = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    CHECK(x86_syscall(SYS_clock_nanosleep, CLOCK_PROCESS_CPUTIME_ID, 0, (long)&time, 0, 0, 0) == 0,
          "a sleep while another thread runs");
    CHECK(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before >= 30 * MS, "%ld ns used",
          clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before);
    atomic_store(&thread.result, 1);
    CHECK(thread_join(&thread), "it ends");
}

static void test_adjust(void)
{
    struct timex is = {.modes = 0};

    CHECK(adjtimex(&is) == TIME_ERROR && is.tick == 10000 && (is.status & STA_UNSYNC) != 0, "tick %ld, status %x",
          is.tick, (unsigned)is.status);
    CHECK(labs(is.time.tv_sec - clock_ns(CLOCK_REALTIME) / SECOND) < 600, "its time");
    CHECK(x86_syscall3(SYS_clock_adjtime, CLOCK_REALTIME, (long)&is, 0) == TIME_ERROR, "clock_adjtime");
    CHECK(x86_syscall3(SYS_clock_adjtime, CLOCK_MONOTONIC, (long)&is, 0) == -EOPNOTSUPP, "of another clock");
    CHECK(x86_syscall3(SYS_clock_adjtime, 99, (long)&is, 0) == -EINVAL, "of none");
    CHECK(x86_syscall1(SYS_adjtimex, 8) == -EFAULT, "nowhere");
}

/* Armed timers of programs, on all kernels; -1: unknown. */
static long armed_timers(void)
{
    char *text = proc_file_read("/proc/kettle/objects");
    long sum = text != NULL ? 0 : -1, count;

    for (const char *at = text; at != NULL && (at = strstr(at, " timers ")) != NULL; at++) {
        if (sscanf(at, " timers %ld", &count) != 1)
            sum = -1;
        else if (sum >= 0)
            sum += count;
    }
    free(text);
    return sum;
}

/* Whoever compares the count before and after does not take the kernel's own timer for one that a program has left. */
static void test_standing(void)
{
    long before, after, mine;
    int id;

    if (!tap_on_kettle()) {
        tap_skip("no Kettle");
        return;
    }
    before = armed_timers();
    MUST(kettle_control("numaperiod=10000")); /* each kernel is to look at its tables in a while */
    after = armed_timers();
    MUST(kettle_control("numaperiod=100"));
    CHECK(before >= 0 && after == before, "%ld timers, before %ld", after, before);
    CHECK(create(CLOCK_MONOTONIC, SIGEV_SIGNAL, TIMER, 0, 0, &id) == 0 && set(id, 0, 1000 * SECOND, 0, NULL) == 0,
          "no timer");
    mine = armed_timers();
    CHECK(mine == after + 1, "%ld timers with one of a program, without it %ld", mine, after);
    CHECK(x86_syscall3(SYS_timer_delete, id, 0, 0) == 0, "the timer stays");
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"once", "a timer sends its signal once, and not early", test_once},
        {"absolute", "a timer expires at an absolute time", test_absolute},
        {"default", "without a sigevent a timer sends SIGALRM", test_default},
        {"interval", "a timer repeats, and reports its overruns", test_interval},
        {"overrun", "expirations while a signal is pending are counted as overruns", test_overrun},
        {"ignored", "a timer continues while its signal is ignored", test_ignored},
        {"setting", "timer_gettime returns the time left, and a timer can be set again", test_setting},
        {"none", "a timer with SIGEV_NONE counts without a signal", test_none},
        {"thread-id", "SIGEV_THREAD_ID signals one thread, wherever it moves", test_thread_id},
        {"process-clock", "the process's clock has the CPU time of its threads on all kernels", test_process_clock},
        {"cpu-timer", "timers of CPU time expire when it is used", test_cpu_timer},
        {"set-anew", "an alarm that is set anew when it expires is as it was set", timers_test_set_anew},
        {"itimers", "ITIMER_VIRTUAL and ITIMER_PROF expire with CPU time", test_itimers},
        {"errors", "invalid calls are refused", test_errors},
        {"inherited", "timers are not inherited and do not outlive exec", test_inherited},
        {"many", "two hundred timers all expire", test_many},
        {"interrupted", "a signal interrupts a sleep, which returns the time left", test_interrupted},
        {"sleeps", "clock_nanosleep sleeps by every clock that has sleeps", test_sleeps},
        {"cpu-sleep", "a sleep by the process's clock ends when the process has used the time", test_cpu_sleep},
        {"adjust", "adjtimex reads the clock's state", test_adjust},
        {"standing", "the count of armed timers is of those of programs", test_standing},
    };

    if (argc > 1 && strcmp(argv[1], "@exec") == 0)
        return exec_self(argv[0]);
    if (argc > 2 && strcmp(argv[1], "@executed") == 0)
        return executed(argv[2]);
    thread_places_find();
    block(SIG_BLOCK, TIMER);
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
