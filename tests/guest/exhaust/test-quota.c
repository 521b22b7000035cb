/* test-quota: what a user without privileges has of timers, watches of epoll sets and message queues is limited, with
 * Linux's errors; another user and root go on, and what is given back may be taken again. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"

#define USER 1000
#define OTHER 1001
#define TIMERS 20
#define DESCRIPTORS 800

/* Each takes one, and returns 0, or an errno. Afterwards drop_all gives back all that this process has taken. */
static int (*take)(void);
static void (*drop_all)(void);
static int refusal;

static timer_t timers[TIMERS + 1];
static int timer_count;

static int take_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_NONE};

    if (timer_count > TIMERS)
        return ERANGE;
    return timer_create(CLOCK_MONOTONIC, &event, &timers[timer_count]) == 0 ? (timer_count++, 0) : errno;
}

static void drop_timers(void)
{
    while (timer_count > 0)
        MUST(timer_delete(timers[--timer_count]));
}

static int queue_count, queues[64];

static int take_queue(void)
{
    struct mq_attr attr = {.mq_maxmsg = 10, .mq_msgsize = 8192};
    char name[32];

    if (queue_count == 64)
        return ERANGE;
    snprintf(name, sizeof(name), "/quota-%d", (int)getpid() * 64 + queue_count);
    queues[queue_count] = mq_open(name, O_RDWR | O_CREAT, 0600, &attr);
    if (queues[queue_count] < 0)
        return errno;
    MUST(mq_unlink(name)); /* it counts as long as it is open */
    queue_count++;
    return 0;
}

static void drop_queues(void)
{
    while (queue_count > 0)
        MUST(close(queues[--queue_count]));
}

static int watched[DESCRIPTORS], sets[220], set_count, watch_count;

static int take_watch(void)
{
    struct epoll_event event = {.events = EPOLLIN};

    if (watch_count % DESCRIPTORS == 0) {
        if (set_count == 220)
            return ERANGE;
        sets[set_count++] = (int)MUST(epoll_create1(0));
    }
    if (watched[0] == 0) {
        int ends[2];

        MUST(pipe(ends));
        for (int i = 0; i < DESCRIPTORS; i++)
            watched[i] = (int)MUST(dup(ends[0]));
    }
    if (epoll_ctl(sets[set_count - 1], EPOLL_CTL_ADD, watched[watch_count % DESCRIPTORS], &event) != 0)
        return errno;
    watch_count++;
    return 0;
}

static void drop_watches(void)
{
    while (set_count > 0)
        MUST(close(sets[--set_count]));
    watch_count = 0;
}

/* Takes all there is. */
static long take_all(void)
{
    long made = 0;
    int error;

    while ((error = take()) == 0)
        made++;
    CHECK(error == refusal, "refused with %s after %ld", tap_error(error), made);
    return made;
}

/* A process of UID takes one: 0, or the refusal. */
static int take_as(uid_t uid)
{
    pid_t child = FORK();
    int status = 0;

    if (child == 0) {
        timer_count = queue_count = set_count = watch_count = 0; /* not inherited, or the parent's */
        MUST(setresuid(uid, uid, uid));
        _exit(take());
    }
    MUST(waitpid(child, &status, 0));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static int be_user(void *number)
{
    struct rlimit limit = {TIMERS, TIMERS}, files = {DESCRIPTORS + 224, DESCRIPTORS + 224};
    long made, again;

    MUST(setrlimit(RLIMIT_NOFILE, &files));
    MUST(setrlimit(RLIMIT_SIGPENDING, &limit));
    MUST(setresuid(USER, USER, 0));
    made = take_all();
    CHECK(made > 0, "nothing was given");
    CHECK(take_as(USER) == refusal, "another process of this user is not refused");
    CHECK(seteuid(0) == 0 && take_as(OTHER) == 0 && take_as(0) == 0, "others are refused: %s", tap_error(errno));
    MUST(setresuid(USER, USER, 0));
    drop_all();
    again = take_all();
    CHECK(again == made, "first %ld, then %ld", made, again);
    tap_note("%ld from kernel %ld, then %s", made, (long)number, tap_error(refusal)); /* what it has goes with it */
    return 0;
}

/* A process that stays where it is: there its children have their homes, and theirs. */
static int stay(void *number)
{
    cpu_set_t here;

    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    MUST(sched_setaffinity(0, sizeof(here), &here));
    return tap_fork(be_user, number);
}

static void test(int (*takes)(void), void (*drops)(void), int refused)
{
    take = takes;
    drop_all = drops;
    refusal = refused;
    for (long k = 0; k < kernels_count(); k++) {
        for (int again = 0; again < 2; again++) { /* the first has given everything back, as it has ended */
            kernels_go(k);                        /* what a user has is counted on each kernel: the child's home */
            CHECK(tap_fork(stay, (void *)k) == 0, "on kernel %ld", k);
        }
        if (takes == take_watch && k == 1)
            break; /* these are many */
    }
    kernels_go(0);
}

static void test_timers(void)
{
    test(take_timer, drop_timers, EAGAIN);
}

static void test_queues(void)
{
    test(take_queue, drop_queues, EMFILE);
}

static void test_watches(void)
{
    test(take_watch, drop_watches, ENOSPC);
}

static const struct tap_test tests[] = {
    {"timers", "a user's timers count in RLIMIT_SIGPENDING: EAGAIN", test_timers},
    {"queues", "a user's message queues have as many bytes as RLIMIT_MSGQUEUE says: EMFILE", test_queues},
    {"watches", "a user's epoll sets have max_user_watches descriptors: ENOSPC", test_watches},
};

int main(int argc, char **argv)
{
    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
