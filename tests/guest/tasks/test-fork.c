/* test-fork: processes made, what they inherit, and what their parents learn of them, on all kernels. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/tasks/fork.h"

#define PAGE 4096
#define LOOP 200

/* --- where --- */

static void test_everywhere(void)
{
    pid_t parent = getpid();

    for (int i = 0; i < place_count(); i++) {
        pid_t child;

        place_go(i);
        child = FORK();
        if (child == 0) {
            CHECK(getppid() == parent, "getppid is %d, forked by %d", (int)getppid(), (int)parent);
            CHECK(getpid() != parent && getpid() == syscall(SYS_gettid), "pid %d tid %ld", (int)getpid(),
                  syscall(SYS_gettid));
            _exit(i + 1);
        }
        CHECK(child > 0 && child != parent, "fork returns %d", (int)child);
        CHECK_EXITS(child, i + 1);
    }
}

static void *thread_forks(void *argument)
{
    int place = (int)(intptr_t)argument;
    pid_t child;

    place_go(place);
    child = FORK();
    if (child == 0) {
        /* The child has this thread only, and its id is the process's. */
        CHECK(getpid() == syscall(SYS_gettid), "pid %d tid %ld", (int)getpid(), syscall(SYS_gettid));
        place_go(place + 1);
        _exit(10 + place % 10);
    }
    CHECK_EXITS(child, 10 + place % 10);
    return NULL;
}

static void test_thread(void)
{
    for (int i = 0; i < place_few(16); i++) {
        pthread_t thread;

        REQUIRE(pthread_create(&thread, NULL, thread_forks, (void *)(intptr_t)i) == 0, "no thread");
        pthread_join(thread, NULL);
    }
}

static void test_threads_at_once(void)
{
    pthread_t threads[8];
    int count = 2 + place_few(6);

    for (int i = 0; i < count; i++)
        REQUIRE(pthread_create(&threads[i], NULL, thread_forks, (void *)(intptr_t)i) == 0, "no thread");
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static atomic_int others_run;
static atomic_int others_stop;

static void *thread_spins(void *argument)
{
    place_go((int)(intptr_t)argument);
    atomic_fetch_add(&others_run, 1);
    while (atomic_load(&others_stop) == 0)
        sched_yield();
    return NULL;
}

/* Threads of the parent that run meanwhile are not in the child. */
static void test_alone(void)
{
    pthread_t threads[4];
    atomic_int *beats = tap_share(PAGE);
    int count = place_few(4);

    for (int i = 0; i < count; i++)
        REQUIRE(pthread_create(&threads[i], NULL, thread_spins, (void *)(intptr_t)i) == 0, "no thread");
    UNTIL(atomic_load(&others_run) == count, "threads on all places");
    for (int i = 0; i < 4; i++) {
        pid_t child = FORK();

        if (child == 0) {
            /* A thread that came along would leave its loop and, the last of the process, keep it alive. */
            atomic_store(&others_stop, 1);
            atomic_fetch_add(beats, 1);
            syscall(SYS_exit, 3); /* ends this thread only */
        }
        CHECK_EXITS(child, 3);
    }
    CHECK(atomic_load(beats) == 4, "%d", atomic_load(beats));
    atomic_store(&others_stop, 1);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

/* --- memory --- */

static uint64_t global_word = 5;

static void test_memory(void)
{
    enum { PAGES = 64 };
    uint64_t *area = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t *heap = malloc(100000);
    atomic_int *turn = tap_share(PAGE);
    uint64_t local = 7;
    pid_t child;

    REQUIRE(area != MAP_FAILED && heap != NULL, "no memory");
    for (int i = 0; i < PAGES; i++) {
        if (i % 4 == 0)
            place_go(i / 4);
        area[i * (PAGE / 8) + i] = (uint64_t)i * 3 + 1;
    }
    heap[777] = 9;
    place_go(1);
    child = FORK();
    if (child == 0) {
        UNTIL(atomic_load(turn) == 1, "the parent to change its memory");
        for (int i = 0; i < PAGES; i++) {
            CHECK(area[i * (PAGE / 8) + i] == (uint64_t)i * 3 + 1, "page %d has %lu", i, area[i * (PAGE / 8) + i]);
            if (i % 8 == 0)
                place_go(i / 8);
            area[i * (PAGE / 8) + i] = 1000;
        }
        CHECK(heap[777] == 9 && global_word == 5 && local == 7, "heap %lu global %lu stack %lu", heap[777], global_word,
              local);
        heap[777] = global_word = local = 1;
        atomic_store(turn, 2);
        _exit(0);
    }
    for (int i = 0; i < PAGES; i++)
        area[i * (PAGE / 8) + i] += 100;
    heap[777] = global_word = local = 2;
    atomic_store(turn, 1);
    UNTIL(atomic_load(turn) == 2, "the child to change its memory");
    for (int i = 0; i < PAGES; i++)
        CHECK(area[i * (PAGE / 8) + i] == (uint64_t)i * 3 + 101, "page %d has %lu", i, area[i * (PAGE / 8) + i]);
    CHECK(heap[777] == 2 && global_word == 2 && local == 2, "heap %lu global %lu stack %lu", heap[777], global_word,
          local);
    CHECK_EXITS(child, 0);
}

static void test_protection(void)
{
    char *area = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    REQUIRE(area != MAP_FAILED, "no memory");
    area[0] = area[PAGE] = area[2 * PAGE] = 1;
    MUST(mprotect(area + PAGE, PAGE, PROT_READ));
    MUST(munmap(area + 2 * PAGE, PAGE));
    for (int way = 0; way < 3; way++) {
        pid_t child = FORK();

        if (child == 0) {
            place_go(way);
            ((volatile char *)area)[way * PAGE] = 2;
            _exit(area[PAGE]);
        }
        if (way == 0)
            CHECK_EXITS(child, 1);
        else
            CHECK_DIES(child, SIGSEGV);
    }
    MUST(munmap(area, 2 * PAGE));
}

/* --- family --- */

static void test_orphan(void)
{
    int message[2];
    int gate[2];
    pid_t child;
    pid_t seen[2] = {0, 0};
    pid_t before;

    MUST(pipe(message));
    MUST(pipe(gate));
    child = FORK();
    if (child == 0) {
        pid_t parent = getpid();

        if (FORK() == 0) {
            char byte;
            pid_t found = getppid();

            MUST(write(message[1], &found, sizeof(found)));
            MUST(close(gate[1]));
            CHECK(read(gate[0], &byte, 1) == 0, "the pipe is open");
            UNTIL(getppid() != parent, "a new parent");
            found = getppid();
            MUST(write(message[1], &found, sizeof(found)));
            _exit(0);
        }
        CHECK(read(message[0], &seen[0], sizeof(pid_t)) == sizeof(pid_t), "%s", tap_error(errno));
        CHECK(seen[0] == getpid(), "the grandchild's parent is %d, not %d", (int)seen[0], (int)getpid());
        _exit(0);
    }
    before = child;
    CHECK_EXITS(child, 0);
    MUST(close(gate[1]));
    MUST(close(message[1]));
    CHECK(read(message[0], &seen[1], sizeof(pid_t)) == sizeof(pid_t), "%s", tap_error(errno));
    CHECK(seen[1] != before, "still %d", (int)before);
    CHECK(seen[1] == 1 || !tap_on_kettle(), "the orphan's parent is %d, not 1", (int)seen[1]);
    /* It is init's now. */
    CHECK_ERROR(waitpid(-1, NULL, 0), ECHILD);
    tap_await("the orphan's end, which closes a pipe");
    CHECK(read(message[0], &seen[0], 1) == 0, "more than expected comes");
}

static void test_generations(void)
{
    enum { DEPTH = 12 };
    int *chain = tap_share(PAGE);
    int depth = 0;
    pid_t child;

    while ((child = FORK()) == 0) {
        chain[depth] = getppid();
        chain[depth + 32] = getpid();
        place_go(depth);
        if (++depth == DEPTH)
            _exit(1);
    }
    /* Each adds one to what its child says. */
    if (depth > 0)
        _exit(WEXITSTATUS(tap_wait(child)) + 1);
    CHECK_EXITS(child, DEPTH);
    CHECK(chain[0] == getpid(), "%d", chain[0]);
    for (int i = 1; i < DEPTH; i++)
        CHECK(chain[i] == chain[i - 1 + 32], "generation %d has parent %d, not %d", i, chain[i], chain[i - 1 + 32]);
}

static void test_loop(void)
{
    pid_t last = 0;

    for (int i = 0; i < LOOP; i++) {
        pid_t child;

        if (i % 20 == 0)
            place_go(i / 20);
        child = FORK();
        if (child == 0)
            _exit(i & 0xff);
        CHECK(child != last, "twice %d", (int)child);
        last = child;
        CHECK_EXITS(child, i & 0xff);
    }
}

/* --- what is inherited --- */

static void handler_nothing(int signal)
{
    (void)signal;
}

static void test_signal_state(void)
{
    struct sigaction action = {.sa_handler = handler_nothing, .sa_flags = SA_RESTART};
    sigset_t mask;
    sigset_t found;
    pid_t child;

    MUST(sigaction(SIGUSR1, &action, NULL));
    action.sa_handler = SIG_IGN;
    MUST(sigaction(SIGUSR2, &action, NULL));
    sigemptyset(&mask);
    sigaddset(&mask, SIGHUP);
    sigaddset(&mask, SIGRTMIN + 3);
    MUST(sigprocmask(SIG_SETMASK, &mask, NULL));
    MUST(raise(SIGHUP));
    MUST(kill(getpid(), SIGRTMIN + 3));
    child = FORK();
    if (child == 0) {
        MUST(sigaction(SIGUSR1, NULL, &action));
        CHECK(action.sa_handler == handler_nothing && (action.sa_flags & SA_RESTART) != 0, "the handler of SIGUSR1");
        MUST(sigaction(SIGUSR2, NULL, &action));
        CHECK(action.sa_handler == SIG_IGN, "SIGUSR2 is ignored");
        MUST(sigprocmask(SIG_SETMASK, NULL, &found));
        CHECK(sigismember(&found, SIGHUP) == 1 && sigismember(&found, SIGRTMIN + 3) == 1 &&
                  sigismember(&found, SIGTERM) == 0,
              "the mask differs");
        MUST(sigpending(&found));
        CHECK(sigismember(&found, SIGHUP) == 0 && sigismember(&found, SIGRTMIN + 3) == 0, "signals came along");
        _exit(0);
    }
    CHECK_EXITS(child, 0);
    MUST(sigpending(&found));
    CHECK(sigismember(&found, SIGHUP) == 1 && sigismember(&found, SIGRTMIN + 3) == 1, "the parent's are gone");
}

static void test_group_state(void)
{
    pid_t group = (pid_t)MUST(getpgid(0));
    pid_t session = (pid_t)MUST(getsid(0));

    for (int i = 0; i < place_few(4); i++) {
        pid_t child = FORK();

        if (child == 0) {
            place_go(i);
            CHECK(getpgid(0) == group, "group %d, not %d", (int)getpgid(0), (int)group);
            CHECK(getpgrp() == group, "group %d, not %d", (int)getpgrp(), (int)group);
            CHECK(getsid(0) == session, "session %d, not %d", (int)getsid(0), (int)session);
            _exit(0);
        }
        CHECK(getpgid(child) == group, "%s", tap_error(errno));
        CHECK_EXITS(child, 0);
    }
}

static void test_descriptors(void)
{
    int down[2];
    int up[2];
    char text[16] = "";
    pid_t child;

    MUST(pipe2(down, O_CLOEXEC));
    MUST(pipe(up));
    child = FORK();
    if (child == 0) {
        place_go(1);
        MUST(close(down[1]));
        MUST(close(up[0]));
        CHECK(read(down[0], text, sizeof(text)) == 5 && strcmp(text, "down") == 0, "read '%s'", text);
        MUST(write(up[1], "up", 3));
        _exit(0);
    }
    MUST(close(up[1]));
    MUST(write(down[1], "down", 5));
    CHECK(read(up[0], text, sizeof(text)) == 3 && strcmp(text, "up") == 0, "read '%s'", text);
    tap_await("the end of a pipe whose writers are closed or dead");
    CHECK(read(up[0], text, sizeof(text)) == 0, "no end of the pipe");
    CHECK_EXITS(child, 0);
    /* Closed by the child only. */
    MUST(write(down[1], "x", 1));
    CHECK(read(down[0], text, sizeof(text)) == 1, "%s", tap_error(errno));
}

/* @descriptors KEPT CLOSED: exits with 0 when just the first of two descriptors is open. */
static int child_descriptors(int argc, char **argv)
{
    bool open = argc > 3 && fcntl(atoi(argv[2]), F_GETFD) == 0;
    bool closed = argc > 3 && fcntl(atoi(argv[3]), F_GETFD) == -1 && errno == EBADF;

    for (int i = 0; i < 3; i++) {
        if (fcntl(i, F_GETFD) == -1)
            return 4;
    }
    return (open ? 0 : 1) + (closed ? 0 : 2);
}

static void test_close_on_exec(void)
{
    int kept[2];
    int lost[2];

    MUST(pipe(kept));
    MUST(pipe2(lost, O_CLOEXEC));
    for (int i = 0; i < place_few(4); i++) {
        pid_t child = FORK();

        if (child == 0) {
            char first[16];
            char second[16];

            place_go(i);
            snprintf(first, sizeof(first), "%d", kept[1]);
            snprintf(second, sizeof(second), "%d", lost[1]);
            tap_exec("descriptors", first, second);
        }
        CHECK_EXITS(child, 0);
    }
}

/* @seven ARG: exits with 7 when ARG is "argument". */
static int child_seven(int argc, char **argv)
{
    return argc == 3 && strcmp(argv[2], "argument") == 0 ? 7 : 1;
}

static const struct tap_test tests[] = {
    {"everywhere", "fork from the main thread on every place", test_everywhere},
    {"thread", "fork from a second thread on every place", test_thread},
    {"threads", "fork from threads on all places at once", test_threads_at_once},
    {"alone", "the child has only the thread that forked", test_alone},
    {"memory", "parent and child write memory of their own", test_memory},
    {"protection", "the child's mappings are as the parent's were", test_protection},
    {"statuses", "a parent gets every kind of exit status", fork_test_statuses},
    {"nohang", "WNOHANG distinguishes running children from ended ones", fork_test_nohang},
    {"waitid", "waitid selects by id, group and all, and WNOWAIT leaves the child to be waited for", fork_test_waitid},
    {"waitid-info", "waitid reports which child ended and how", fork_test_waitid_info},
    {"groups", "waitpid with 0 and -PGID waits for children of that group only", fork_test_groups},
    {"no-child", "waiting for a process that is no child is ECHILD, and invalid options are EINVAL",
     fork_test_no_child},
    {"usage", "wait4 and waitid report the child's resource usage", fork_test_usage},
    {"stopped", "WUNTRACED and WCONTINUED report stops and continues, once", fork_test_stopped},
    {"stopped-makers", "threads that are made while their process stops stand still, too", fork_test_stopped_makers},
    {"zombie", "a zombie exists until it is waited for", fork_test_zombie},
    {"end-together", "children that end when their parent ends, or execs, are reaped", fork_test_end_together},
    {"many", "many children on all places are reaped in any order", fork_test_many},
    {"waiters", "many threads wait on all places; each child is reaped once", fork_test_waiters},
    {"foreign-wait", "a thread on another place waits for what main forked", fork_test_foreign_wait},
    {"orphan", "an orphan has init for its parent", test_orphan},
    {"generations", "a chain of descendants over all places", test_generations},
    {"loop", "200 forks in a row succeed", test_loop},
    {"vfork-exit", "vfork suspends its caller, whose memory the child uses, until the child exits",
     fork_test_vfork_exit},
    {"vfork-exec", "vfork resumes its caller when the child executes a program", fork_test_vfork_exec},
    {"vfork-killed", "a process that waits in vfork can be killed, and its child goes on", fork_test_vfork_killed},
    {"clone-vfork", "clone with CLONE_VM and CLONE_VFORK on a stack of its own", fork_test_clone_vfork},
    {"clone-ids", "clone stores the child's id where its arguments say", fork_test_clone_ids},
    {"clone-parent", "CLONE_PARENT makes a sibling", fork_test_clone_parent},
    {"clone-signal", "a child with another exit signal is waited for with __WALL or __WCLONE", fork_test_clone_signal},
    {"clone-errors", "clone refuses flags that make no sense", fork_test_clone_errors},
    {"clone3-process", "clone3 makes a process", fork_test_clone3_process},
    {"clone3-thread", "clone3 makes a thread", fork_test_clone3_thread},
    {"posix-spawn", "posix_spawn runs this program with arguments on every place", fork_test_posix_spawn},
    {"signal-state", "a child inherits mask and actions, not pending signals", test_signal_state},
    {"group-state", "a child inherits process group and session", test_group_state},
    {"descriptors", "pipes are inherited and closed one by one", test_descriptors},
    {"close-on-exec", "exec closes descriptors with O_CLOEXEC and keeps the others", test_close_on_exec},
};

static const struct tap_child children[] = {{"seven", child_seven}, {"descriptors", child_descriptors}};

static const struct tap_program program = {
    .tests = tests, .count = TAP_COUNT(tests), .apart = true, .children = children, .child_count = TAP_COUNT(children)};

int main(int argc, char **argv)
{
    return tap_main(argc, argv, &program);
}
