/* test-signals: signals to threads and processes of several kernels. */
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/signal/signal.h"
#include "userland/x86.h"

#define PAGE 4096
#define THREADS_MAX 12
#define STORM 40
#define MANY 100 /* processes */

struct member {
    pthread_t thread;
    int index;
    atomic_int tid;
    atomic_int handled;
    atomic_int order_broken;
    int last[THREADS_MAX]; /* of each sender, the last number seen */
};

static struct member members[THREADS_MAX];
static int member_count;
static atomic_int members_done;

static struct member *member_self(void)
{
    pid_t tid = (pid_t)syscall(SYS_gettid);

    for (int i = 0; i < member_count; i++) {
        if (atomic_load(&members[i].tid) == tid)
            return &members[i];
    }
    return NULL;
}

static void members_start(int count, void *(*run)(void *))
{
    member_count = count;
    for (int i = 0; i < count; i++) {
        members[i].index = i;
        REQUIRE(pthread_create(&members[i].thread, NULL, run, &members[i]) == 0, "no thread %d", i);
    }
    for (int i = 0; i < count; i++)
        UNTIL(atomic_load(&members[i].tid) != 0, "threads on all places");
}

static void members_join(void)
{
    for (int i = 0; i < member_count; i++) {
        tap_await("a thread's end");
        pthread_join(members[i].thread, NULL);
        /* Another may have its id. */
        atomic_store(&members[i].tid, 0);
    }
}

static void member_begin(struct member *member)
{
    place_go(member->index);
    atomic_store(&member->tid, (int)syscall(SYS_gettid));
}

static void handler_member(int signal, siginfo_t *info, void *context)
{
    struct member *member = member_self();

    (void)signal;
    (void)info;
    (void)context;
    if (CHECK(member != NULL, "handled by no member"))
        atomic_fetch_add(&member->handled, 1);
}

static int members_handled(void)
{
    int sum = 0;

    for (int i = 0; i < member_count; i++)
        sum += atomic_load(&members[i].handled);
    return sum;
}

/* --- threads --- */

static void *thread_masks(void *argument)
{
    struct member *member = argument;
    sigset_t mask = signal_set(SIGRTMIN + 2 + member->index);

    MUST(pthread_sigmask(SIG_BLOCK, &mask, NULL) == 0 ? 0 : -1);
    member_begin(member);
    UNTIL(atomic_load(&members_done) == 1, "all threads to set their masks");
    for (int turn = 0; turn < 3; turn++) {
        place_go(member->index + turn);
        pthread_sigmask(SIG_BLOCK, NULL, &mask);
        for (int i = 0; i < member_count; i++)
            CHECK(sigismember(&mask, SIGRTMIN + 2 + i) == (i == member->index), "thread %d, mask of %d", member->index,
                  i);
        CHECK(sigismember(&mask, SIGHUP) == 1, "the creator's mask is not inherited");
    }
    return NULL;
}

void signal_test_thread_masks(void)
{
    sigset_t mask = signal_set(SIGHUP);

    MUST(sigprocmask(SIG_BLOCK, &mask, NULL));
    members_start(2 + place_few(8), thread_masks);
    atomic_store(&members_done, 1);
    members_join();
    MUST(sigprocmask(SIG_BLOCK, NULL, &mask));
    CHECK(sigismember(&mask, SIGRTMIN + 2) == 0, "a thread's mask is the main thread's");
}

/* Those with even numbers are sent two signals by each of the others. */
static int kills_expected(const struct member *member)
{
    return (member_count - 1) * (member->index % 2 == 0 ? 2 : 1);
}

/* Each signals all others; then all have as many as there are others. */
static void *thread_kills(void *argument)
{
    struct member *member = argument;

    member_begin(member);
    for (int i = 0; i < member_count; i++) {
        UNTIL(atomic_load(&members[i].tid) != 0, "all threads");
        if (i == member->index)
            continue;
        place_go(member->index + i);
        MUST(syscall(SYS_tgkill, getpid(), atomic_load(&members[i].tid), SIGRTMIN + 1));
        if (i % 2 == 0)
            MUST(syscall(SYS_tkill, atomic_load(&members[i].tid), SIGRTMIN + 1));
    }
    UNTIL(atomic_load(&member->handled) >= kills_expected(member), "signals of all other threads");
    atomic_fetch_add(&members_done, 1);
    UNTIL(atomic_load(&members_done) == member_count, "all threads to be done");
    return NULL;
}

void signal_test_thread_kill(void)
{
    signal_handle(SIGRTMIN + 1, handler_member, SA_RESTART, NULL);
    members_start(2 + place_few(8), thread_kills);
    members_join();
    for (int i = 0; i < member_count; i++) {
        int expected = kills_expected(&members[i]);

        CHECK(atomic_load(&members[i].handled) == expected, "thread %d handled %d, not %d", i,
              atomic_load(&members[i].handled), expected);
    }
}

static atomic_int chosen;

static void *thread_open(void *argument)
{
    struct member *member = argument;
    sigset_t mask = signal_set(SIGUSR1);

    if (member->index == atomic_load(&chosen))
        pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
    member_begin(member);
    UNTIL(atomic_load(&members_done) == 1, "the end of the case");
    return NULL;
}

void signal_test_group_any(void)
{
    sigset_t mask = signal_set(SIGUSR1);
    int count = 1 + place_few(7);

    signal_handle(SIGUSR1, handler_member, SA_RESTART, NULL);
    MUST(sigprocmask(SIG_BLOCK, &mask, NULL));
    for (int i = 0; i < count; i++) {
        atomic_store(&chosen, i);
        atomic_store(&members_done, 0);
        memset(members, 0, sizeof(members));
        members_start(count, thread_open);
        for (int k = 0; k < 5; k++) {
            place_go(k);
            MUST(kill(getpid(), SIGUSR1));
            UNTIL(members_handled() == k + 1, "a process's signal to be handled");
        }
        CHECK(atomic_load(&members[i].handled) == 5, "thread %d handled %d", i, atomic_load(&members[i].handled));
        atomic_store(&members_done, 1);
        members_join();
    }
}

static void *thread_opens_later(void *argument)
{
    struct member *member = argument;
    sigset_t mask = signal_set(SIGRTMIN + 1);
    sigset_t pending;

    member_begin(member);
    UNTIL(atomic_load(&chosen) == member->index, "this thread's turn");
    MUST(sigpending(&pending));
    CHECK(sigismember(&pending, SIGRTMIN + 1) == 1, "thread %d sees no pending signal of the process", member->index);
    CHECK(members_handled() == member->index, "%d handled before", members_handled());
    /* Each takes one of the signals. */
    if (member->index % 2 == 0) {
        CHECK(sigwaitinfo(&mask, NULL) == SIGRTMIN + 1, "%s", tap_error(errno));
        atomic_fetch_add(&member->handled, 1);
    } else {
        signal_handle(SIGRTMIN + 1, handler_member, (int)SA_RESETHAND, NULL);
        sigemptyset(&pending);
        CHECK_ERROR(sigsuspend(&pending), EINTR);
    }
    CHECK(atomic_load(&member->handled) >= 1, "thread %d handled %d", member->index, atomic_load(&member->handled));
    atomic_fetch_add(&chosen, 1);
    return NULL;
}

void signal_test_group_later(void)
{
    sigset_t mask = signal_set(SIGRTMIN + 1);
    int count = 2 + place_few(6);

    signal_handle(SIGRTMIN + 1, handler_member, 0, NULL);
    MUST(sigprocmask(SIG_BLOCK, &mask, NULL));
    atomic_store(&chosen, -1);
    for (int i = 0; i < count; i++) {
        place_go(i);
        MUST(kill(getpid(), SIGRTMIN + 1));
    }
    members_start(count, thread_opens_later);
    CHECK(members_handled() == 0, "handled though all mask it");
    atomic_store(&chosen, 0);
    members_join();
    CHECK(members_handled() == count, "%d handled, %d sent", members_handled(), count);
}

static void handler_storm(int signal, siginfo_t *info, void *context)
{
    struct member *member = member_self();
    int sender = info->si_value.sival_int >> 16;
    int number = info->si_value.sival_int & 0xffff;

    (void)signal;
    (void)context;
    if (member == NULL || sender >= member_count || number != member->last[sender] + 1)
        atomic_fetch_add(&members[0].order_broken, 1);
    else
        member->last[sender] = number;
    if (member != NULL)
        atomic_fetch_add(&member->handled, 1);
}

static void *thread_storms(void *argument)
{
    struct member *member = argument;
    siginfo_t info = {.si_code = SI_QUEUE};

    member_begin(member);
    for (int i = 0; i < member_count; i++)
        UNTIL(atomic_load(&members[i].tid) != 0, "all threads");
    for (int number = 1; number <= STORM; number++) {
        if (number % 8 == 0)
            place_go(member->index + number);
        for (int i = 0; i < member_count; i++) {
            info.si_value.sival_int = member->index << 16 | number;
            MUST(syscall(SYS_rt_tgsigqueueinfo, getpid(), atomic_load(&members[i].tid), SIGRTMIN + 1, &info));
        }
    }
    UNTIL(atomic_load(&member->handled) == member_count * STORM, "all signals of the storm");
    atomic_fetch_add(&members_done, 1);
    UNTIL(atomic_load(&members_done) == member_count, "all threads to be done");
    return NULL;
}

void signal_test_storm(void)
{
    signal_handle(SIGRTMIN + 1, handler_storm, SA_RESTART, NULL);
    members_start(2 + place_few(6), thread_storms);
    members_join();
    CHECK(atomic_load(&members[0].order_broken) == 0, "%d signals out of order", atomic_load(&members[0].order_broken));
    for (int i = 0; i < member_count; i++)
        CHECK(atomic_load(&members[i].handled) == member_count * STORM, "thread %d handled %d of %d", i,
              atomic_load(&members[i].handled), member_count * STORM);
}

/* --- stopping --- */

static _Atomic(uint64_t) *beats;

static void *thread_beats(void *argument)
{
    struct member *member = argument;

    member_begin(member);
    for (;;) {
        atomic_fetch_add(&beats[member->index], 1);
        if (member->index % 2 == 0)
            sched_yield();
        else
            x86_pause();
    }
    return NULL;
}

/* A child with threads on all places. */
static pid_t beating(int count)
{
    pid_t child;

    beats = tap_share(PAGE);
    child = FORK();
    if (child == 0) {
        members_start(count, thread_beats);
        atomic_fetch_add(&beats[THREADS_MAX], 1);
        for (;;)
            pause();
    }
    UNTIL(atomic_load(&beats[THREADS_MAX]) == 1, "a child's threads");
    return child;
}

static uint64_t beats_sum(void)
{
    uint64_t sum = 0;

    for (int i = 0; i < THREADS_MAX; i++)
        sum += atomic_load(&beats[i]);
    return sum;
}

void signal_test_stop_group(void)
{
    static const int stops[] = {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
    int count = 1 + place_few(7);
    pid_t child = beating(count);
    int status;

    for (int i = 0; i < 8; i++) {
        uint64_t sum;

        place_go(i);
        MUST(kill(child, stops[i % 4]));
        tap_await("a stopped child");
        CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status) && WSTOPSIG(status) == stops[i % 4],
              "status %#x", (unsigned)status);
        sum = beats_sum();
        for (int k = 0; k < 100; k++)
            sched_yield();
        CHECK(beats_sum() == sum, "a stopped child goes on: %ld beats", (long)(beats_sum() - sum));
        MUST(kill(child, SIGCONT));
        tap_await("a continued child");
        CHECK(waitpid(child, &status, WCONTINUED) == child && WIFCONTINUED(status), "status %#x", (unsigned)status);
        for (int k = 0; k < count; k++) {
            uint64_t before = atomic_load(&beats[k]);

            UNTIL(atomic_load(&beats[k]) > before, "every thread of a continued child");
        }
    }
    MUST(kill(child, SIGSTOP));
    CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status), "status %#x", (unsigned)status);
    MUST(kill(child, SIGKILL));
    CHECK_DIES(child, SIGKILL);
}

static atomic_int *shared_count;

static void handler_shared(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    (void)context;
    atomic_fetch_add(shared_count, 1);
}

void signal_test_stop_handled(void)
{
    int status;

    shared_count = tap_share(PAGE);
    for (int i = 0; i < place_few(4); i++) {
        pid_t child = FORK();

        if (child == 0) {
            signal_handle(SIGCONT, handler_shared, 0, NULL);
            signal_handle(SIGUSR1, handler_shared, 0, NULL);
            place_go(i);
            atomic_fetch_add(shared_count, 100);
            for (;;)
                pause();
        }
        UNTIL(atomic_load(shared_count) == 100, "a child with handlers");
        MUST(kill(child, SIGSTOP));
        CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status), "status %#x", (unsigned)status);
        /* Waits until it is continued. */
        MUST(kill(child, SIGUSR1));
        for (int k = 0; k < 50; k++)
            sched_yield();
        CHECK(atomic_load(shared_count) == 100, "a stopped child handles signals");
        MUST(kill(child, SIGCONT));
        UNTIL(atomic_load(shared_count) == 102, "a continued child to handle two signals");
        MUST(kill(child, SIGKILL));
        CHECK_DIES(child, SIGKILL);
        atomic_store(shared_count, 0);
    }
}

void signal_test_stop_cancels(void)
{
    sigset_t mask = signal_set(SIGTSTP);
    sigset_t pending;

    sigaddset(&mask, SIGCONT);
    MUST(sigprocmask(SIG_BLOCK, &mask, NULL));
    for (int i = 0; i < place_few(4); i++) {
        place_go(i);
        MUST(kill(getpid(), SIGTSTP));
        MUST(sigpending(&pending));
        CHECK(sigismember(&pending, SIGTSTP) == 1, "SIGTSTP is not pending");
        MUST(kill(getpid(), SIGCONT));
        MUST(sigpending(&pending));
        CHECK(sigismember(&pending, SIGTSTP) == 0 && sigismember(&pending, SIGCONT) == 1, "SIGCONT cancels SIGTSTP");
        place_go(i + 1);
        MUST(kill(getpid(), SIGTSTP));
        MUST(sigpending(&pending));
        CHECK(sigismember(&pending, SIGTSTP) == 1 && sigismember(&pending, SIGCONT) == 0, "SIGTSTP cancels SIGCONT");
    }
    MUST(kill(getpid(), SIGCONT));
}

/* --- SIGCHLD --- */

static pid_t pausing(int place)
{
    pid_t child = FORK();

    if (child == 0) {
        place_go(place);
        for (;;)
            pause();
    }
    return child;
}

static void expect_child(int code, int status, pid_t child)
{
    UNTIL(atomic_load(&signal_count) == 1, "SIGCHLD");
    CHECK(signal_last.si_code == code && signal_last.si_status == status && signal_last.si_pid == child,
          "code %d status %d pid %d", signal_last.si_code, signal_last.si_status, signal_last.si_pid);
    atomic_store(&signal_count, 0);
}

void signal_test_child_stops(void)
{
    for (int i = 0; i < place_few(4); i++) {
        pid_t child;
        int status;

        place_go(i);
        atomic_store(&signal_count, 0);
        signal_handle(SIGCHLD, signal_counts, SA_RESTART, NULL);
        child = pausing(i + 1);
        MUST(kill(child, SIGSTOP));
        expect_child(CLD_STOPPED, SIGSTOP, child);
        MUST(kill(child, SIGCONT));
        expect_child(CLD_CONTINUED, SIGCONT, child);
        signal_handle(SIGCHLD, signal_counts, SA_RESTART | SA_NOCLDSTOP, NULL);
        MUST(kill(child, SIGSTOP));
        CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status), "status %#x", (unsigned)status);
        MUST(kill(child, SIGCONT));
        CHECK(waitpid(child, &status, WCONTINUED) == child && WIFCONTINUED(status), "status %#x", (unsigned)status);
        CHECK(atomic_load(&signal_count) == 0, "SIGCHLD in spite of SA_NOCLDSTOP");
        MUST(kill(child, SIGKILL));
        expect_child(CLD_KILLED, SIGKILL, child);
        CHECK_DIES(child, SIGKILL);
    }
}

void signal_test_child_ignored(void)
{
    for (int way = 0; way < 2 * place_few(4); way++) {
        int descriptors[2];
        char byte;
        pid_t child;

        place_go(way / 2);
        atomic_store(&signal_count, 0);
        if (way % 2 == 0)
            signal(SIGCHLD, SIG_IGN);
        else
            signal_handle(SIGCHLD, signal_counts, SA_NOCLDWAIT | SA_RESTART, NULL);
        MUST(pipe(descriptors));
        for (int k = 0; k < 3; k++) {
            child = FORK();
            if (child == 0) {
                place_go(k);
                MUST(close(descriptors[1]));
                MUST(read(descriptors[0], &byte, 1));
                _exit(0);
            }
        }
        CHECK(waitpid(-1, NULL, WNOHANG) == 0, "%s", tap_error(errno));
        MUST(close(descriptors[1]));
        /* Waits for all, and has none to tell of. */
        tap_await("children that leave no zombies");
        CHECK_ERROR(waitpid(-1, NULL, 0), ECHILD);
        /* Linux takes the number away a moment after the child stops to count. */
        UNTIL(kill(child, 0) == -1 && errno == ESRCH, "the end of the last child's number");
        MUST(close(descriptors[0]));
        if (way % 2 == 1)
            CHECK(atomic_load(&signal_count) >= 1, "no SIGCHLD with SA_NOCLDWAIT");
    }
}

/* --- groups and sessions --- */

void signal_test_kill_groups(void)
{
    pid_t children[6];
    pid_t leader;
    int count = 6;

    shared_count = tap_share(PAGE);
    signal_handle(SIGUSR1, signal_counts, SA_RESTART, NULL);
    for (int way = 0; way < 3; way++) {
        leader = 0;
        for (int i = 0; i < count; i++) {
            children[i] = FORK();
            if (children[i] == 0) {
                signal(SIGUSR1, SIG_DFL);
                place_go(i);
                atomic_fetch_add(shared_count, 1);
                for (;;)
                    pause();
            }
            if (i % 2 == 1) {
                MUST(setpgid(children[i], leader));
                leader = leader == 0 ? children[i] : leader;
            }
        }
        place_go(way);
        UNTIL(atomic_load(shared_count) == count * (way + 1), "children to reset their action");
        /* The odd ones are a group of their own; the even ones in that of the caller, who gets the signal too. */
        MUST(kill(-leader, 0));
        MUST(kill(-leader, SIGTERM));
        for (int i = 1; i < count; i += 2)
            CHECK_DIES(children[i], SIGTERM);
        CHECK_ERROR(kill(-leader, 0), ESRCH);
        for (int i = 0; i < count; i += 2)
            CHECK(waitpid(children[i], NULL, WNOHANG) == 0, "a signal to another group ends %d", i);
        if (way == 0)
            MUST(kill(0, SIGUSR1));
        else if (way == 1)
            MUST(kill(-getpgrp(), SIGUSR1));
        else
            MUST(killpg(getpgrp(), SIGUSR1));
        CHECK(atomic_load(&signal_count) == way + 1, "the caller handled %d", atomic_load(&signal_count));
        for (int i = 0; i < count; i += 2)
            CHECK_DIES(children[i], SIGUSR1);
    }
}

/* More than a kernel looks at in the handler of another one's message. */
void signal_test_kill_many(void)
{
    pid_t children[MANY];
    pid_t leader = 0;

    place_go(1);
    for (int i = 0; i < MANY; i++) {
        children[i] = FORK();
        if (children[i] == 0) {
            for (;;)
                pause();
        }
        if (i > 0) { /* the first one is in the group of the caller */
            MUST(setpgid(children[i], leader));
            leader = leader == 0 ? children[i] : leader;
        }
    }
    place_go(0);
    MUST(kill(-leader, 0));
    MUST(kill(-leader, SIGTERM));
    for (int i = 1; i < MANY; i++)
        CHECK_DIES(children[i], SIGTERM);
    CHECK_ERROR(kill(-leader, 0), ESRCH);
    CHECK(waitpid(children[0], NULL, WNOHANG) == 0, "a signal to another group ends the first child");
    MUST(kill(children[0], SIGKILL));
    CHECK_DIES(children[0], SIGKILL);
}

void signal_test_kill_errors(void)
{
    pid_t child = pausing(1);
    pid_t self = getpid();

    for (int i = 0; i < place_few(4); i++) {
        place_go(i);
        CHECK_ERROR(kill(0x3fffffff, SIGTERM), ESRCH);
        CHECK_ERROR(kill(-0x3fffffff, SIGTERM), ESRCH);
        CHECK_ERROR(kill(child, 65), EINVAL);
        CHECK_ERROR(kill(child, -1), EINVAL);
        CHECK_ERROR(kill(self, 65), EINVAL);
        CHECK_ERROR(syscall(SYS_tgkill, child, self, 0), ESRCH);
        CHECK_ERROR(syscall(SYS_tgkill, self, child, 0), ESRCH);
        CHECK_ERROR(syscall(SYS_tgkill, self, 0, 0), EINVAL);
        CHECK_ERROR(syscall(SYS_tgkill, -1, self, 0), EINVAL);
        CHECK_ERROR(syscall(SYS_tkill, 0, 0), EINVAL);
        CHECK_ERROR(syscall(SYS_tkill, 0x3fffffff, 0), ESRCH);
        CHECK_ERROR(syscall(SYS_tgkill, self, self, 65), EINVAL);
        MUST(syscall(SYS_tkill, child, 0));
        MUST(kill(child, 0));
    }
    MUST(kill(child, SIGKILL));
    CHECK_DIES(child, SIGKILL);
}

void signal_test_sessions(void)
{
    for (int i = 0; i < place_few(4); i++) {
        pid_t child;

        place_go(i);
        child = FORK();
        if (child == 0) {
            pid_t self = getpid();
            pid_t grandchild;

            place_go(i + 1);
            CHECK(setsid() == self, "setsid: %s", tap_error(errno));
            CHECK(getsid(0) == self && getpgid(0) == self && getpgrp() == self, "session %d group %d", (int)getsid(0),
                  (int)getpgid(0));
            CHECK_ERROR(setsid(), EPERM);
            CHECK_ERROR(setpgid(0, getppid()), EPERM);
            grandchild = FORK();
            if (grandchild == 0) {
                place_go(i + 2);
                CHECK(getsid(0) == self && getsid(getppid()) == self, "session %d", (int)getsid(0));
                MUST(setpgid(0, 0));
                CHECK_ERROR(setsid(), EPERM);
                _exit(3);
            }
            CHECK_EXITS(grandchild, 3);
            _exit(4);
        }
        CHECK_EXITS(child, 4);
    }
    CHECK_ERROR(getsid(0x3fffffff), ESRCH);
    CHECK_ERROR(getpgid(0x3fffffff), ESRCH);
}

void signal_test_group_errors(void)
{
    pid_t child = pausing(1);
    pid_t other = pausing(2);
    pid_t before = getpgrp();
    int descriptors[2];
    char byte;
    pid_t alone;

    for (int i = 0; i < place_few(4); i++) {
        place_go(i);
        CHECK_ERROR(setpgid(0, -1), EINVAL);
        CHECK_ERROR(setpgid(0x3fffffff, 0), ESRCH);
        CHECK_ERROR(setpgid(getppid(), 0), ESRCH);
        CHECK_ERROR(setpgid(child, 0x3fffffff), EPERM);
        CHECK_ERROR(setpgid(child, other), EPERM);
    }
    MUST(setpgid(child, child));
    MUST(setpgid(other, child));
    CHECK(getpgid(other) == child && getpgid(child) == child, "%d %d", (int)getpgid(other), (int)getpgid(child));
    MUST(setpgid(other, other));
    MUST(setpgid(child, other));
    MUST(setpgid(other, before));
    CHECK(getpgid(child) == other && getpgid(other) == before, "%d %d", (int)getpgid(child), (int)getpgid(other));
    MUST(kill(child, SIGKILL));
    MUST(kill(other, SIGKILL));
    CHECK_DIES(child, SIGKILL);
    CHECK_DIES(other, SIGKILL);
    /* A session of its own: not the parent's business any more. */
    MUST(pipe(descriptors));
    alone = FORK();
    if (alone == 0) {
        MUST(setsid());
        MUST(write(descriptors[1], "s", 1));
        for (;;)
            pause();
    }
    REQUIRE(read(descriptors[0], &byte, 1) == 1, "%s", tap_error(errno));
    CHECK_ERROR(setpgid(alone, 0), EPERM);
    CHECK_ERROR(setpgid(alone, getpgrp()), EPERM);
    MUST(kill(-alone, SIGKILL));
    CHECK_DIES(alone, SIGKILL);
}

/* --- timers --- */

void signal_test_alarm(void)
{
    struct itimerval timer;
    struct itimerval left;

    signal_handle(SIGALRM, signal_counts, 0, NULL);
    for (int i = 0; i < place_few(4); i++) {
        sigset_t mask = signal_set(SIGALRM);
        sigset_t none;
        int64_t begin;
        pid_t child;

        sigemptyset(&none);
        place_go(i);
        atomic_store(&signal_count, 0);
        CHECK(alarm(1000) == 0, "an alarm was set");
        CHECK(alarm(500) >= 990, "less time is left than there must be");
        /* A child has no alarm. */
        child = FORK();
        if (child == 0)
            _exit(alarm(0) == 0 ? 0 : 1);
        CHECK_EXITS(child, 0);
        MUST(sigprocmask(SIG_BLOCK, &mask, NULL));
        timer = (struct itimerval){.it_value = {0, 50000}};
        begin = tap_time();
        MUST(setitimer(ITIMER_REAL, &timer, &left));
        CHECK(left.it_value.tv_sec >= 490 && left.it_value.tv_sec <= 500, "%ld s left", (long)left.it_value.tv_sec);
        place_go(i + 1);
        tap_await("SIGALRM");
        CHECK_ERROR(sigsuspend(&none), EINTR);
        CHECK(tap_time() - begin >= 50000000, "%ld ns", (long)(tap_time() - begin));
        CHECK(atomic_load(&signal_count) == 1 && signal_last.si_code == SI_KERNEL, "%d, code %d",
              atomic_load(&signal_count), signal_last.si_code);
        MUST(sigprocmask(SIG_UNBLOCK, &mask, NULL));
        CHECK(alarm(0) == 0, "the alarm is still set");
    }
    /* One whole second, as programs have it. */
    {
        sigset_t mask = signal_set(SIGALRM);
        int64_t begin = tap_time();

        MUST(sigprocmask(SIG_BLOCK, &mask, NULL)); /* else it may come before the wait */
        alarm(1);
        tap_await("alarm(1)");
        sigemptyset(&mask);
        CHECK_ERROR(sigsuspend(&mask), EINTR);
        CHECK(tap_time() - begin >= 1000000000, "%ld ns", (long)(tap_time() - begin));
    }
}

void signal_test_timer(void)
{
    struct itimerval timer = {.it_interval = {0, 20000}, .it_value = {0, 30000}};
    struct itimerval found;
    int64_t begin = tap_time();

    signal_handle(SIGALRM, signal_counts, SA_RESTART, NULL);
    place_go(1);
    MUST(setitimer(ITIMER_REAL, &timer, NULL));
    MUST(getitimer(ITIMER_REAL, &found));
    CHECK(found.it_interval.tv_usec == 20000 && found.it_interval.tv_sec == 0 && found.it_value.tv_sec == 0 &&
              found.it_value.tv_usec <= 30000,
          "interval %ld value %ld", (long)found.it_interval.tv_usec, (long)found.it_value.tv_usec);
    for (int i = 0; i < 6; i++) {
        place_go(i);
        UNTIL(atomic_load(&signal_count) > i, "a timer's next signal");
    }
    CHECK(tap_time() - begin >= 130000000, "6 signals after %ld ns", (long)(tap_time() - begin));
    memset(&timer, 0, sizeof(timer));
    MUST(setitimer(ITIMER_REAL, &timer, &found));
    CHECK(found.it_interval.tv_usec == 20000, "interval %ld", (long)found.it_interval.tv_usec);
    MUST(getitimer(ITIMER_REAL, &found));
    CHECK(found.it_value.tv_sec == 0 && found.it_value.tv_usec == 0, "still set");
    timer.it_value.tv_usec = 1000000;
    CHECK_ERROR(setitimer(ITIMER_REAL, &timer, NULL), EINVAL);
    CHECK_ERROR(syscall(SYS_setitimer, 9, &found, NULL), EINVAL);
    CHECK_ERROR(syscall(SYS_setitimer, ITIMER_REAL, TAP_UNMAPPED, NULL), EFAULT);
    CHECK_ERROR(syscall(SYS_getitimer, ITIMER_REAL, TAP_UNMAPPED), EFAULT);
}
