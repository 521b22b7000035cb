/* test-fork: what parents learn of their children, by every way of waiting. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/tasks/fork.h"
#include "userland/x86.h"

#define PAGE 4096
#define MANY 40

/* A child that exits with STATUS once *GATE is at least GOAL; at PLACE. */
static pid_t gated(atomic_int *gate, int goal, int place, int status)
{
    pid_t child = FORK();

    if (child == 0) {
        place_go(place);
        UNTIL(atomic_load(gate) >= goal, "the gate of a child");
        _exit(status);
    }
    return child;
}

/* A child that sleeps until it is killed. */
static pid_t sleeper(int place)
{
    pid_t child = FORK();

    if (child == 0) {
        place_go(place);
        for (;;)
            pause();
    }
    return child;
}

void fork_test_statuses(void)
{
    static const int codes[] = {0, 1, 2, 127, 128, 255, 256, 0x1234, -1};
    static const int signals[] = {SIGHUP, SIGINT, SIGKILL, SIGTERM, SIGUSR1, SIGPIPE, SIGALRM, 34, 64};

    for (size_t i = 0; i < TAP_COUNT(codes); i++) {
        pid_t child = FORK();

        if (child == 0) {
            place_go((int)i);
            _exit(codes[i]);
        }
        CHECK_EXITS(child, codes[i] & 0xff);
    }
    for (size_t i = 0; i < TAP_COUNT(signals); i++) {
        pid_t child = FORK();
        int status;

        if (child == 0) {
            place_go((int)i);
            syscall(SYS_kill, getpid(), signals[i]);
            _exit(99);
        }
        status = tap_wait(child);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == signals[i] && !WCOREDUMP(status), "status %#x, signal %d",
              (unsigned)status, signals[i]);
    }
    for (int way = 0; way < 4; way++) {
        static const int deaths[] = {SIGSEGV, SIGILL, SIGFPE, SIGTRAP};
        pid_t child = FORK();

        if (child == 0) {
            place_go(way);
            if (way == 0)
                x86_null_write();
            if (way == 1)
                x86_invalid_opcode();
            if (way == 2)
                x86_divide_by_zero();
            x86_breakpoint();
            _exit(99);
        }
        CHECK_DIES(child, deaths[way]);
    }
}

void fork_test_nohang(void)
{
    atomic_int *gate = tap_share(PAGE);

    for (int i = 0; i < place_few(8); i++) {
        pid_t child = gated(gate, i + 1, i, 4);
        int status = 77;
        pid_t waited;

        CHECK(waitpid(child, &status, WNOHANG) == 0 && status == 77, "status %#x: %s", (unsigned)status,
              tap_error(errno));
        CHECK(waitpid(-1, NULL, WNOHANG) == 0, "%s", tap_error(errno));
        atomic_store(gate, i + 1);
        UNTIL((waited = waitpid(child, &status, WNOHANG)) != 0, "WNOHANG to find the child's end");
        CHECK(waited == child && status == 4 << 8, "%d, status %#x", (int)waited, (unsigned)status);
        CHECK_ERROR(waitpid(child, &status, WNOHANG), ECHILD);
    }
}

void fork_test_waitid(void)
{
    atomic_int *gate = tap_share(PAGE);
    pid_t child = gated(gate, 1, 1, 21);
    siginfo_t info;

    memset(&info, 0x5a, sizeof(info));
    MUST(waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG));
    CHECK(info.si_pid == 0 && info.si_signo == 0, "nothing yet: pid %d signo %d", info.si_pid, info.si_signo);
    atomic_store(gate, 1);
    for (int i = 0; i < 3; i++) {
        static const idtype_t kinds[] = {P_PID, P_PGID, P_ALL};
        id_t ids[] = {(id_t)child, (id_t)getpgrp(), 0};

        place_go(i);
        memset(&info, 0x5a, sizeof(info));
        MUST(waitid(kinds[i], ids[i], &info, WEXITED | WNOWAIT));
        CHECK(info.si_pid == child && info.si_status == 21 && info.si_code == CLD_EXITED, "way %d: pid %d status %d", i,
              info.si_pid, info.si_status);
    }
    MUST(waitid(P_PID, (id_t)child, &info, WEXITED));
    CHECK_ERROR(waitid(P_PID, (id_t)child, &info, WEXITED), ECHILD);
    child = gated(gate, 1, 2, 0);
    MUST(waitid(P_PGID, 0, NULL, WEXITED)); /* Linux: 0 is the caller's group, and INFO may be missing */
    CHECK_ERROR(waitid(P_ALL, 0, &info, WEXITED | WNOHANG), ECHILD);
}

void fork_test_waitid_info(void)
{
    for (int i = 0; i < 3; i++) {
        static const int codes[] = {CLD_EXITED, CLD_KILLED, CLD_KILLED};
        static const int statuses[] = {200, SIGKILL, SIGUSR2};
        siginfo_t info;
        pid_t child = FORK();

        if (child == 0) {
            place_go(i);
            if (i > 0)
                kill(getpid(), statuses[i]);
            _exit(200);
        }
        place_go(i + 1);
        memset(&info, 0x5a, sizeof(info));
        MUST(waitid(P_ALL, 0, &info, WEXITED));
        CHECK(info.si_signo == SIGCHLD && info.si_errno == 0, "signo %d errno %d", info.si_signo, info.si_errno);
        CHECK(info.si_code == codes[i] && info.si_status == statuses[i], "code %d status %d", info.si_code,
              info.si_status);
        CHECK(info.si_pid == child && info.si_uid == getuid(), "pid %d uid %d", info.si_pid, (int)info.si_uid);
    }
}

void fork_test_groups(void)
{
    atomic_int *gate = tap_share(PAGE);
    pid_t mine = gated(gate, 1, 0, 1);
    pid_t first = gated(gate, 2, 1, 2);
    pid_t second = gated(gate, 3, 2, 3);
    int status;

    MUST(setpgid(first, first));
    MUST(setpgid(second, first));
    CHECK(waitpid(0, NULL, WNOHANG) == 0 && waitpid(-first, NULL, WNOHANG) == 0, "%s", tap_error(errno));
    atomic_store(gate, 1);
    tap_await("a child of the own group");
    CHECK(waitpid(0, &status, 0) == mine && status == 1 << 8, "status %#x", (unsigned)status);
    CHECK_ERROR(waitpid(0, NULL, 0), ECHILD);
    atomic_store(gate, 2);
    tap_await("a child of the other group");
    CHECK(waitpid(-first, &status, 0) == first && status == 2 << 8, "status %#x", (unsigned)status);
    CHECK(waitpid(-first, &status, WNOHANG) == 0, "%s", tap_error(errno));
    atomic_store(gate, 3);
    CHECK(waitpid(-first, &status, 0) == second && status == 3 << 8, "status %#x", (unsigned)status);
    CHECK_ERROR(waitpid(-first, NULL, 0), ECHILD);
}

void fork_test_no_child(void)
{
    pid_t child;

    for (int i = 0; i < place_few(4); i++) {
        place_go(i);
        CHECK_ERROR(waitpid(-1, NULL, 0), ECHILD);
        CHECK_ERROR(waitpid(-1, NULL, WNOHANG), ECHILD);
        CHECK_ERROR(waitpid(0, NULL, 0), ECHILD);
        CHECK_ERROR(waitpid(getpid(), NULL, 0), ECHILD);
        CHECK_ERROR(waitpid(getppid(), NULL, 0), ECHILD);
        CHECK_ERROR(waitpid(0x3fffffff, NULL, 0), ECHILD);
        CHECK_ERROR(waitpid(-0x3fffffff, NULL, 0), ECHILD);
        CHECK_ERROR(waitid(P_ALL, 0, NULL, WEXITED), ECHILD);
        CHECK_ERROR(waitid(P_PID, 0x3fffffff, NULL, WEXITED), ECHILD);
    }
    child = FORK();
    if (child == 0)
        _exit(0);
    CHECK_ERROR(waitpid(child, NULL, 0x40), EINVAL);
    CHECK_ERROR(waitpid(child, NULL, WEXITED), EINVAL);
    CHECK_ERROR(waitid(P_PID, (id_t)child, NULL, 0), EINVAL);
    CHECK_ERROR(waitid(P_PID, (id_t)child, NULL, WNOHANG), EINVAL);
    CHECK_ERROR(waitid((idtype_t)7, (id_t)child, NULL, WEXITED), EINVAL);
    CHECK_ERROR(syscall(SYS_waitid, P_PID, 0, NULL, WEXITED, NULL), EINVAL);
    CHECK_EXITS(child, 0);
    /* A child is reaped even when its status cannot be stored. */
    child = FORK();
    if (child == 0)
        _exit(0);
    CHECK_ERROR(waitpid(child, TAP_UNMAPPED, 0), EFAULT);
    CHECK_ERROR(waitpid(child, NULL, 0), ECHILD);
}

void fork_test_usage(void)
{
    struct rusage usage;
    pid_t child;

    for (int way = 0; way < 2; way++) {
        int64_t spent;

        child = FORK();
        if (child == 0) {
            int64_t begin = tap_time();

            place_go(1);
            while (tap_time() - begin < 100000000)
                x86_pause();
            _exit(0);
        }
        memset(&usage, 0x5a, sizeof(usage));
        if (way == 0)
            MUST(wait4(child, NULL, 0, &usage));
        else
            MUST(syscall(SYS_waitid, P_PID, child, NULL, WEXITED, &usage));
        spent = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * INT64_C(1000000) + usage.ru_utime.tv_usec +
                usage.ru_stime.tv_usec;
        CHECK(spent > 0 && spent < 60000000, "%ld us", (long)spent);
        CHECK(usage.ru_utime.tv_usec >= 0 && usage.ru_utime.tv_usec < 1000000, "%ld", (long)usage.ru_utime.tv_usec);
    }
    MUST(getrusage(RUSAGE_CHILDREN, &usage));
    CHECK(usage.ru_utime.tv_sec * 1000000l + usage.ru_utime.tv_usec + usage.ru_stime.tv_sec * 1000000l +
                  usage.ru_stime.tv_usec >
              0,
          "no time of ended children");
}

static atomic_int *stop_round; /* shared */

/* Runs on until the next round: a stop that misses it never comes to an end. */
static void *thread_spins(void *argument)
{
    int round = (int)(intptr_t)argument;

    while (atomic_load(stop_round) == round)
        sched_yield();
    return NULL;
}

static void *thread_makes(void *argument)
{
    pthread_t threads[12];

    place_go((int)(intptr_t)argument);
    for (;;) {
        int round = atomic_load(stop_round);

        for (size_t i = 0; i < TAP_COUNT(threads); i++)
            REQUIRE(pthread_create(&threads[i], NULL, thread_spins, (void *)(intptr_t)round) == 0, "no thread");
        for (size_t i = 0; i < TAP_COUNT(threads); i++)
            pthread_join(threads[i], NULL);
    }
    return NULL;
}

void fork_test_stopped_makers(void)
{
    pid_t child;
    int status;

    stop_round = tap_share(PAGE);
    child = FORK();
    if (child == 0) {
        for (int i = 0; i < place_few(4); i++) {
            pthread_t thread;

            REQUIRE(pthread_create(&thread, NULL, thread_makes, (void *)(intptr_t)i) == 0, "no thread %d", i);
        }
        thread_makes(NULL);
    }
    for (int round = 0; round < 40; round++) {
        for (int turn = 0; turn < 1 + round % 7; turn++)
            sched_yield();
        MUST(kill(child, SIGSTOP));
        tap_await("a stopped child");
        CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status), "status %#x", (unsigned)status);
        MUST(kill(child, SIGCONT));
        CHECK(waitpid(child, &status, WCONTINUED) == child && WIFCONTINUED(status), "status %#x", (unsigned)status);
        atomic_fetch_add(stop_round, 1);
    }
    MUST(kill(child, SIGKILL));
    CHECK_DIES(child, SIGKILL);
}

void fork_test_stopped(void)
{
    for (int i = 0; i < place_few(4); i++) {
        pid_t child = sleeper(i);
        siginfo_t info;
        int status;

        place_go(i + 1);
        MUST(kill(child, SIGSTOP));
        tap_await("a stopped child");
        CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP,
              "status %#x", (unsigned)status);
        CHECK(waitpid(child, &status, WUNTRACED | WNOHANG) == 0, "a stop is told twice");
        MUST(kill(child, SIGCONT));
        tap_await("a continued child");
        CHECK(waitpid(child, &status, WCONTINUED) == child && WIFCONTINUED(status), "status %#x", (unsigned)status);
        CHECK(waitpid(child, &status, WCONTINUED | WNOHANG) == 0, "a continue is told twice");
        MUST(kill(child, SIGTSTP));
        memset(&info, 0, sizeof(info));
        MUST(waitid(P_PID, (id_t)child, &info, WSTOPPED | WNOWAIT));
        CHECK(info.si_code == CLD_STOPPED && info.si_status == SIGTSTP && info.si_pid == child, "code %d status %d",
              info.si_code, info.si_status);
        MUST(waitid(P_PID, (id_t)child, &info, WSTOPPED));
        /* Without WUNTRACED a stopped child is a running one. */
        CHECK(waitpid(child, &status, WNOHANG) == 0, "status %#x", (unsigned)status);
        MUST(kill(child, SIGCONT));
        memset(&info, 0, sizeof(info));
        MUST(waitid(P_PID, (id_t)child, &info, WCONTINUED));
        CHECK(info.si_code == CLD_CONTINUED && info.si_status == SIGCONT, "code %d status %d", info.si_code,
              info.si_status);
        /* SIGKILL ends even what is stopped. */
        MUST(kill(child, SIGSTOP));
        CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status), "status %#x", (unsigned)status);
        MUST(kill(child, SIGKILL));
        CHECK_DIES(child, SIGKILL);
    }
}

void fork_test_zombie(void)
{
    pid_t child = FORK();

    if (child == 0)
        _exit(9);
    MUST(waitid(P_PID, (id_t)child, NULL, WEXITED | WNOWAIT));
    for (int i = 0; i < place_few(4); i++) {
        place_go(i);
        CHECK(kill(child, 0) == 0, "%s", tap_error(errno));
        CHECK(kill(child, SIGKILL) == 0, "%s", tap_error(errno));
        CHECK(getpgid(child) == getpgrp(), "%s", tap_error(errno));
    }
    CHECK_EXITS(child, 9);
    CHECK_ERROR(kill(child, 0), ESRCH);
    CHECK_ERROR(getpgid(child), ESRCH);
}

void fork_test_many(void)
{
    atomic_int *gate = tap_share(PAGE);
    pid_t children[MANY];
    uint64_t random = 7;

    for (int i = 0; i < MANY; i++) {
        if (i % 8 == 0)
            place_go(i / 8);
        children[i] = gated(gate, 1, i, i + 1);
        for (int k = 0; k < i; k++)
            CHECK(children[k] != children[i], "two children are %d", (int)children[i]);
    }
    atomic_store(gate, 1);
    /* Half by name, in an order of their own; half as they come. */
    for (int left = MANY; left > MANY / 2; left--) {
        int chosen = (int)(tap_random(&random) % (uint64_t)left);
        pid_t child = children[chosen];
        int status = tap_wait(child);

        CHECK(WIFEXITED(status), "status %#x", (unsigned)status);
        children[chosen] = children[left - 1];
    }
    for (int left = MANY / 2; left > 0; left--) {
        int status;
        pid_t child;
        int found = -1;

        tap_await("any child");
        child = waitpid(-1, &status, 0);
        for (int i = 0; i < left; i++) {
            if (children[i] == child)
                found = i;
        }
        REQUIRE(found >= 0 && WIFEXITED(status), "waitpid returns %d: %s", (int)child, tap_error(errno));
        children[found] = children[left - 1];
    }
    CHECK_ERROR(waitpid(-1, NULL, 0), ECHILD);
}

static atomic_int reaped[MANY + 1];

static void *thread_waits(void *argument)
{
    int status;
    pid_t child;

    place_go((int)(intptr_t)argument);
    while ((child = waitpid(-1, &status, 0)) > 0) {
        if (CHECK(WIFEXITED(status) && WEXITSTATUS(status) <= MANY, "status %#x", (unsigned)status))
            atomic_fetch_add(&reaped[WEXITSTATUS(status)], 1);
    }
    CHECK(child == -1 && errno == ECHILD, "%s", tap_error(errno));
    return NULL;
}

void fork_test_waiters(void)
{
    atomic_int *gate = tap_share(PAGE);
    pthread_t threads[6];

    for (int i = 0; i < MANY; i++)
        gated(gate, i % 4 + 1, i, i + 1);
    for (int i = 0; i < 6; i++)
        REQUIRE(pthread_create(&threads[i], NULL, thread_waits, (void *)(intptr_t)i) == 0, "no thread");
    for (int i = 1; i <= 4; i++)
        atomic_store(gate, i);
    tap_await("threads that wait for children");
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    for (int i = 1; i <= MANY; i++)
        CHECK(atomic_load(&reaped[i]) == 1, "child %d was reaped %d times", i, atomic_load(&reaped[i]));
}

struct foreign {
    pid_t child;
    int place;
};

static void *thread_waits_for(void *argument)
{
    struct foreign *foreign = argument;

    place_go(foreign->place);
    CHECK_EXITS(foreign->child, 6);
    return NULL;
}

void fork_test_foreign_wait(void)
{
    atomic_int *gate = tap_share(PAGE);

    for (int i = 0; i < place_few(8); i++) {
        struct foreign foreign = {gated(gate, i + 1, i + 2, 6), i + 1};
        pthread_t thread;

        REQUIRE(pthread_create(&thread, NULL, thread_waits_for, &foreign) == 0, "no thread");
        atomic_store(gate, i + 1);
        pthread_join(thread, NULL);
    }
}

#define FAMILY 8

struct family {
    atomic_int go;
    atomic_int born;
    pid_t children[FAMILY];
};

static struct family *family; /* shared */

static void *thread_forks(void *argument)
{
    int index = (int)(intptr_t)argument;
    pid_t child;

    place_go(index);
    child = FORK();
    if (child == 0) {
        while (atomic_load(&family->go) == 0)
            sched_yield();
        for (int turn = 0; turn < index * 3; turn++)
            sched_yield();
        _exit(index);
    }
    family->children[index] = child;
    atomic_fetch_add(&family->born, 1);
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        continue;
    return NULL;
}

void fork_test_end_together(void)
{
    family = tap_share(PAGE);
    for (int round = 0; round < 6; round++) {
        pid_t parent;
        int status;

        atomic_store(&family->go, 0);
        atomic_store(&family->born, 0);
        parent = FORK();
        if (parent == 0) {
            pthread_t thread;

            for (int i = 0; i < FAMILY; i++)
                REQUIRE(pthread_create(&thread, NULL, thread_forks, (void *)(intptr_t)i) == 0, "no thread %d", i);
            UNTIL(atomic_load(&family->born) == FAMILY, "the children");
            atomic_store(&family->go, 1);
            for (int turn = 0; turn < round; turn++)
                sched_yield();
            if (round % 2 == 0)
                tap_exec("seven", "argument", NULL);
            kill(getpid(), SIGKILL);
        }
        status = tap_wait(parent);
        CHECK(round % 2 == 0 ? WIFEXITED(status) && WEXITSTATUS(status) == 7 : WIFSIGNALED(status), "status %#x",
              (unsigned)status);
        for (int i = 0; i < FAMILY; i++)
            UNTIL(kill(family->children[i], 0) == -1 && errno == ESRCH, "the end of an orphan");
    }
}
