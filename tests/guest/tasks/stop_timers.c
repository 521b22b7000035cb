/* The part of test-stop about timers: of a process whose home stops, and for a thread whose kernel of birth stops.
 *
 * A child makes timers of every sort and brings each into a state that a stop could lose. Then its parent stops and
 * starts all kernels but 0, the highest first, so that the child's home moves more than once when there are more than
 * two; and then the child checks its timers. Expirations are counted from both sides: as many as intervals have passed,
 * and none that came early. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/tasks/stop.h"

#define MS INT64_C(1000000)
#define SECOND INT64_C(1000000000)
#define LATER (1000 * SECOND)
#define SIGNAL(which) (SIGRTMIN + 2 + (int)(which))

enum which { PERIODIC, OVERRUN, ONCE, UNSET, SILENT, PROCESS_TIME, THREAD_TIME, TO_THREAD, TIMERS };

static const int64_t intervals[TIMERS] = {
    [PERIODIC] = 5 * MS, [OVERRUN] = MS, [PROCESS_TIME] = 5 * MS, [THREAD_TIME] = 5 * MS, [TO_THREAD] = 5 * MS};

static struct {
    atomic_bool ready, over;
} * shared;

static timer_t timers[TIMERS];
static int64_t begins_after[TIMERS], begins_before[TIMERS]; /* ns of the timer's clock, around its setting */
static int64_t counts[TIMERS];                              /* expirations that were reported */

/* --- timers --- */

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    MUST(clock_gettime(clock, &now));
    return now.tv_sec * SECOND + now.tv_nsec;
}

static int64_t ns(struct timespec time)
{
    return time.tv_sec * SECOND + time.tv_nsec;
}

static struct timespec of_ns(int64_t ns)
{
    return (struct timespec){ns / SECOND, ns % SECOND};
}

static int value_of(enum which which)
{
    return 4711 + (int)which;
}

static void create(enum which which, clockid_t clock, int notify, pid_t thread)
{
    struct sigevent event = {
        .sigev_notify = notify, .sigev_signo = SIGNAL(which), .sigev_value.sival_int = value_of(which)};

    event.sigev_notify_thread_id = thread;
    MUST(timer_create(clock, &event, &timers[which]));
}

static void set(enum which which, int flags, int64_t value, int64_t interval)
{
    struct itimerspec new = {of_ns(interval), of_ns(value)};

    MUST(timer_settime(timers[which], flags, &new, NULL));
}

/* Sets a timer by CLOCK to its interval. */
static void begin(enum which which, clockid_t clock)
{
    begins_after[which] = clock_ns(clock);
    set(which, 0, intervals[which], intervals[which]);
    begins_before[which] = clock_ns(clock);
}

static struct itimerspec get(enum which which)
{
    struct itimerspec is;

    MUST(timer_gettime(timers[which], &is));
    return is;
}

static void block_all(void)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGPROF);
    sigaddset(&signals, SIGVTALRM);
    sigaddset(&signals, SIGXCPU);
    for (int which = 0; which < TIMERS; which++)
        sigaddset(&signals, SIGNAL(which));
    MUST(sigprocmask(SIG_BLOCK, &signals, NULL));
}

static bool is_pending(int signal)
{
    sigset_t pending;

    MUST(sigpending(&pending));
    return sigismember(&pending, signal) == 1;
}

/* Takes a blocked signal if one is there. */
static bool take_now(int signal, siginfo_t *info)
{
    sigset_t signals;
    int got;

    sigemptyset(&signals);
    sigaddset(&signals, signal);
    do
        got = sigtimedwait(&signals, info, &(struct timespec){0, 0});
    while (got == -1 && errno == EINTR);
    return got == signal;
}

/* Uses CPU time until a blocked signal comes, and takes it. */
static void take(int signal, siginfo_t *info)
{
    char what[32];

    snprintf(what, sizeof(what), "signal %d", signal);
    UNTIL(take_now(signal, info), what);
}

/* Takes a signal of a periodic timer of CLOCK, and checks it. */
static void take_of(enum which which, clockid_t clock)
{
    siginfo_t info;
    int64_t now;

    take(SIGNAL(which), &info);
    CHECK(info.si_code == SI_TIMER && info.si_value.sival_int == value_of(which) &&
              info.si_timerid == (int)(intptr_t)timers[which],
          "timer %d: code %d, value %d, timer %d", which, info.si_code, info.si_value.sival_int, info.si_timerid);
    CHECK(info.si_overrun == timer_getoverrun(timers[which]), "timer %d: overrun %d in the signal, %d by the call",
          which, info.si_overrun, timer_getoverrun(timers[which]));
    counts[which] += 1 + info.si_overrun;
    now = clock_ns(clock);
    CHECK(counts[which] <= (now - begins_after[which]) / intervals[which], "timer %d: %ld expirations in %ld ns", which,
          (long)counts[which], (long)(now - begins_after[which]));
}

/* Checks that no expiration is missing of those until AT, in ns of the timer's clock. */
static void check_complete(enum which which, int64_t at)
{
    CHECK(counts[which] >= (at - begins_before[which]) / intervals[which], "timer %d: %ld expirations, %ld ns", which,
          (long)counts[which], (long)(at - begins_before[which]));
}

static void take_some_of_wall(enum which which)
{
    for (int i = 0; i < 4; i++) {
        int64_t at = clock_ns(CLOCK_MONOTONIC);

        take_of(which, CLOCK_MONOTONIC);
        check_complete(which, at); /* the home counts up to now when a signal is taken */
    }
}

/* The home counts expirations of CPU time only when it reads the clock. A signal that comes after two others were taken
 * was sent after such a reading, which came after the first of these was taken. */
static void take_some_of_cpu(enum which which, clockid_t clock)
{
    int64_t before[4];

    for (int i = 0; i < 4; i++) {
        before[i] = clock_ns(clock);
        take_of(which, clock);
        if (i >= 2)
            check_complete(which, before[i - 2]);
    }
}

/* --- a thread that gets signals, and whose time is measured --- */

static struct {
    pthread_t thread;
    clockid_t clock;
    atomic_int tid, over;
    atomic_long got;
    atomic_int strange;
    int kernel;
} other;

static void *take_signals(void *unused)
{
    siginfo_t info;

    while (kettle_migrate(other.kernel) != 0)
        MUST(errno == EAGAIN ? 0 : -1);
    atomic_store(&other.tid, gettid());
    while (!atomic_load(&other.over)) {
        if (!take_now(SIGNAL(TO_THREAD), &info))
            continue; /* it uses CPU time */
        if (info.si_code != SI_TIMER || info.si_value.sival_int != value_of(TO_THREAD))
            atomic_fetch_add(&other.strange, 1);
        atomic_fetch_add(&other.got, 1);
    }
    return unused;
}

/* The thread begins here and goes to KERNEL. */
static void begin_thread(int kernel)
{
    other.kernel = kernel;
    MUST(-pthread_create(&other.thread, NULL, take_signals, NULL));
    UNTIL(atomic_load(&other.tid) != 0, "a thread");
    MUST(-pthread_getcpuclockid(other.thread, &other.clock));
    create(TO_THREAD, CLOCK_MONOTONIC, SIGEV_THREAD_ID, other.tid);
    create(THREAD_TIME, other.clock, SIGEV_SIGNAL, 0);
    begin(TO_THREAD, CLOCK_MONOTONIC);
    begin(THREAD_TIME, other.clock);
    UNTIL(atomic_load(&other.got) >= 2, "signals of a thread");
    take_of(THREAD_TIME, other.clock);
}

static void check_thread(void)
{
    long got = atomic_load(&other.got);
    siginfo_t info;

    UNTIL(atomic_load(&other.got) >= got + 4, "signals of a thread after a stop");
    CHECK(other.strange == 0, "the thread got %d other signals", (int)other.strange);
    CHECK(!take_now(SIGNAL(TO_THREAD), &info), "a signal of the thread comes to another one");
    take_some_of_cpu(THREAD_TIME, other.clock);
    MUST(timer_delete(timers[TO_THREAD]));
    MUST(timer_delete(timers[THREAD_TIME]));
    atomic_store(&other.over, 1);
    pthread_join(other.thread, NULL);
}

/* --- the process --- */

static const struct {
    int which, signal;
} interval_timers[] = {{ITIMER_PROF, SIGPROF}, {ITIMER_VIRTUAL, SIGVTALRM}};

static int last_overrun; /* of timer OVERRUN */
static timer_t deleted;  /* made last and deleted */
static int64_t once_at;

/* Runs the process to the soft limit of its CPU time, so that the next signal is due a second later. */
static void use_up_limit(void)
{
    struct rlimit limit = {1, 100};
    siginfo_t info;

    MUST(setrlimit(RLIMIT_CPU, &limit));
    take(SIGXCPU, &info);
    CHECK(clock_ns(CLOCK_PROCESS_CPUTIME_ID) >= SECOND, "the limit comes early");
}

static void begin_timers(void)
{
    struct itimerval often = {{0, 10000}, {0, 10000}};
    int64_t begin_of_wait;
    siginfo_t info;

    for (int which = 0; which < PROCESS_TIME; which++)
        create(which, CLOCK_MONOTONIC, which == SILENT ? SIGEV_NONE : SIGEV_SIGNAL, 0);
    create(PROCESS_TIME, CLOCK_PROCESS_CPUTIME_ID, SIGEV_SIGNAL, 0);
    MUST(timer_create(CLOCK_MONOTONIC, NULL, &deleted));
    MUST(timer_delete(deleted));
    for (size_t i = 0; i < TAP_COUNT(interval_timers); i++)
        MUST(setitimer(interval_timers[i].which, &often, NULL));
    begin(PROCESS_TIME, CLOCK_PROCESS_CPUTIME_ID); /* it has overruns when the limit is used up */
    use_up_limit();
    set(SILENT, 0, LATER, 7 * SECOND);
    begin(PERIODIC, CLOCK_MONOTONIC);
    take_of(PERIODIC, CLOCK_MONOTONIC);

    begin(OVERRUN, CLOCK_MONOTONIC);
    UNTIL(is_pending(SIGNAL(OVERRUN)), "a signal that is not taken");
    begin_of_wait = clock_ns(CLOCK_MONOTONIC);
    UNTIL(clock_ns(CLOCK_MONOTONIC) > begin_of_wait + 5 * MS, "overruns");
    take(SIGNAL(OVERRUN), &info);
    last_overrun = info.si_overrun;
    counts[OVERRUN] = 1 + info.si_overrun;
    CHECK(last_overrun >= 5, "overrun %d", last_overrun);
    UNTIL(is_pending(SIGNAL(OVERRUN)), "another signal that is not taken");

    once_at = clock_ns(CLOCK_MONOTONIC) + SECOND;
    set(ONCE, TIMER_ABSTIME, once_at, 0);
}

static void check_limit(void)
{
    siginfo_t info;

    take(SIGXCPU, &info);
    CHECK(clock_ns(CLOCK_PROCESS_CPUTIME_ID) >= 2 * SECOND, "SIGXCPU comes again after %ld ns",
          (long)clock_ns(CLOCK_PROCESS_CPUTIME_ID));
}

static void check_interval_timer(int which, int signal)
{
    struct itimerval is, off = {{0, 0}, {0, 0}};
    siginfo_t info;

    for (int i = 0; i < 3; i++) /* one may have been pending */
        take(signal, &info);
    MUST(setitimer(which, &off, &is));
    CHECK(is.it_interval.tv_sec == 0 && is.it_interval.tv_usec == 10000, "interval %ld us",
          (long)is.it_interval.tv_usec);
}

static void check_overrun(void)
{
    CHECK(timer_getoverrun(timers[OVERRUN]) == last_overrun, "overrun of the last signal: %d, not %d",
          timer_getoverrun(timers[OVERRUN]), last_overrun);
    take_some_of_wall(OVERRUN);
}

static void check_once(void)
{
    siginfo_t info;

    take(SIGNAL(ONCE), &info);
    CHECK(clock_ns(CLOCK_MONOTONIC) >= once_at && info.si_value.sival_int == value_of(ONCE) && info.si_overrun == 0,
          "%ld ns early, value %d, overrun %d", (long)(once_at - clock_ns(CLOCK_MONOTONIC)), info.si_value.sival_int,
          info.si_overrun);
    CHECK(ns(get(ONCE).it_value) == 0 && !take_now(SIGNAL(ONCE), &info), "it is set, or came twice");
}

static void check_unset(void)
{
    siginfo_t info;

    CHECK(ns(get(UNSET).it_value) == 0 && !take_now(SIGNAL(UNSET), &info), "a timer that was never set");
    set(UNSET, 0, MS, 0);
    take(SIGNAL(UNSET), &info);
    CHECK(info.si_value.sival_int == value_of(UNSET), "value %d", info.si_value.sival_int);
}

static void check_silent(void)
{
    struct itimerspec is = get(SILENT);

    CHECK(ns(is.it_value) > LATER * 9 / 10 && ns(is.it_value) <= LATER && ns(is.it_interval) == 7 * SECOND,
          "%ld ns left, interval %ld", (long)ns(is.it_value), (long)ns(is.it_interval));
}

static void check_ids(void)
{
    timer_t new;

    MUST(timer_create(CLOCK_MONOTONIC, NULL, &new));
    CHECK((intptr_t) new > (intptr_t)deleted, "id %ld, and %ld was given out before", (long)(intptr_t) new,
          (long)(intptr_t)deleted);
    MUST(timer_delete(new));
    for (int which = 0; which <= PROCESS_TIME; which++) {
        struct itimerspec is;

        MUST(timer_delete(timers[which]));
        CHECK_ERROR(timer_gettime(timers[which], &is), EINVAL);
    }
}

static void say_ready_and_wait(void)
{
    shared->ready = true;
    UNTIL(shared->over, "the kernels to stop");
}

/* No thread is at the home, so none moves when that stops, and the process's CPU time is exact. */
static _Noreturn void be_timed(void)
{
    block_all();
    begin_thread(0);
    MUST(kettle_migrate(0));
    begin_timers();
    say_ready_and_wait();
    check_overrun();
    take_some_of_wall(PERIODIC);
    check_thread();
    take_some_of_cpu(PROCESS_TIME, CLOCK_PROCESS_CPUTIME_ID);
    for (size_t i = 0; i < TAP_COUNT(interval_timers); i++)
        check_interval_timer(interval_timers[i].which, interval_timers[i].signal);
    check_unset();
    check_silent();
    check_once();
    check_limit();
    check_ids();
    _exit(0);
}

/* At home on kernel 0: its thread was born on the highest kernel, and is on kernel 1. */
static _Noreturn void be_elsewhere(void)
{
    block_all();
    MUST(kettle_migrate(kettle_kernels() - 1));
    begin_thread(1);
    MUST(kettle_migrate(0));
    say_ready_and_wait();
    check_thread();
    _exit(0);
}

static void run(int home, void (*be)(void))
{
    pid_t child;

    shared = tap_share(sizeof(*shared));
    MUST(kettle_migrate(home));
    child = FORK();
    if (child == 0)
        be();
    MUST(kettle_migrate(0));
    UNTIL(shared->ready, "timers");
    for (int kernel = kettle_kernels() - 1; kernel > 0; kernel--) {
        CHECK(kettle_stop(kernel) == 0, "stop of kernel %d: %s", kernel, strerror(errno));
        CHECK(kettle_start(kernel) == 0, "start of kernel %d: %s", kernel, strerror(errno));
    }
    shared->over = true;
    CHECK_EXITS(child, 0);
}

void test_timers(void)
{
    run(kettle_kernels() - 1, be_timed);
}

void test_timed_thread(void)
{
    run(0, be_elsewhere);
}
