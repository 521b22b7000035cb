/* test-fork: processes made, what they inherit, and what their parents learn of them, on all kernels. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userland/tests/case.h"
#include "userland/tests/fork.h"
#include "userland/tests/place.h"
#include "userland/tests/tap.h"

#define PAGE 4096
#define LOOP 200

/* --- where --- */

static void case_everywhere(void)
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
        EXITS(child, i + 1);
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
    EXITS(child, 10 + place % 10);
    return NULL;
}

static void case_thread(void)
{
    for (int i = 0; i < place_few(16); i++) {
        pthread_t thread;

        MUST(pthread_create(&thread, NULL, thread_forks, (void *)(intptr_t)i) == 0, "no thread");
        pthread_join(thread, NULL);
    }
}

static void case_threads_at_once(void)
{
    pthread_t threads[8];
    int count = 2 + place_few(6);

    for (int i = 0; i < count; i++)
        MUST(pthread_create(&threads[i], NULL, thread_forks, (void *)(intptr_t)i) == 0, "no thread");
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
static void case_alone(void)
{
    pthread_t threads[4];
    atomic_int *beats = case_share(PAGE);
    int count = place_few(4);

    for (int i = 0; i < count; i++)
        MUST(pthread_create(&threads[i], NULL, thread_spins, (void *)(intptr_t)i) == 0, "no thread");
    UNTIL(atomic_load(&others_run) == count, "threads on all places");
    for (int i = 0; i < 4; i++) {
        pid_t child = FORK();

        if (child == 0) {
            /* A thread that came along would leave its loop and, the last of the process, keep it alive. */
            atomic_store(&others_stop, 1);
            atomic_fetch_add(beats, 1);
            syscall(SYS_exit, 3); /* ends this thread only */
        }
        EXITS(child, 3);
    }
    CHECK(atomic_load(beats) == 4, "%d", atomic_load(beats));
    atomic_store(&others_stop, 1);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

/* --- memory --- */

static uint64_t global_word = 5;

static void case_memory(void)
{
    enum { PAGES = 64 };
    uint64_t *area = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t *heap = malloc(100000);
    atomic_int *turn = case_share(PAGE);
    uint64_t local = 7;
    pid_t child;

    MUST(area != MAP_FAILED && heap != NULL, "no memory");
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
    EXITS(child, 0);
}

static void case_protection(void)
{
    char *area = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    MUST(area != MAP_FAILED, "no memory");
    area[0] = area[PAGE] = area[2 * PAGE] = 1;
    CALL(mprotect(area + PAGE, PAGE, PROT_READ));
    CALL(munmap(area + 2 * PAGE, PAGE));
    for (int way = 0; way < 3; way++) {
        pid_t child = FORK();

        if (child == 0) {
            place_go(way);
            ((volatile char *)area)[way * PAGE] = 2;
            _exit(area[PAGE]);
        }
        if (way == 0)
            EXITS(child, 1);
        else
            DIES(child, SIGSEGV);
    }
    CALL(munmap(area, 2 * PAGE));
}

/* --- family --- */

static void case_orphan(void)
{
    int message[2];
    int gate[2];
    pid_t child;
    pid_t seen[2] = {0, 0};
    pid_t before;

    CALL(pipe(message));
    CALL(pipe(gate));
    child = FORK();
    if (child == 0) {
        pid_t parent = getpid();

        if (FORK() == 0) {
            char byte;
            pid_t found = getppid();

            CALL(write(message[1], &found, sizeof(found)));
            CALL(close(gate[1]));
            CHECK(read(gate[0], &byte, 1) == 0, "the pipe is open");
            UNTIL(getppid() != parent, "a new parent");
            found = getppid();
            CALL(write(message[1], &found, sizeof(found)));
            _exit(0);
        }
        CHECK(read(message[0], &seen[0], sizeof(pid_t)) == sizeof(pid_t), "%s", case_error(errno));
        CHECK(seen[0] == getpid(), "the grandchild's parent is %d, not %d", (int)seen[0], (int)getpid());
        _exit(0);
    }
    before = child;
    EXITS(child, 0);
    CALL(close(gate[1]));
    CALL(close(message[1]));
    CHECK(read(message[0], &seen[1], sizeof(pid_t)) == sizeof(pid_t), "%s", case_error(errno));
    CHECK(seen[1] != before, "still %d", (int)before);
    CHECK(seen[1] == 1 || !tap_on_kettle(), "the orphan's parent is %d, not 1", (int)seen[1]);
    /* It is init's now. */
    FAILS(waitpid(-1, NULL, 0), ECHILD);
    case_await("the orphan's end, which closes a pipe");
    CHECK(read(message[0], &seen[0], 1) == 0, "more than expected comes");
}

static void case_generations(void)
{
    enum { DEPTH = 12 };
    int *chain = case_share(PAGE);
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
        _exit(WEXITSTATUS(case_wait(child)) + 1);
    EXITS(child, DEPTH);
    CHECK(chain[0] == getpid(), "%d", chain[0]);
    for (int i = 1; i < DEPTH; i++)
        CHECK(chain[i] == chain[i - 1 + 32], "generation %d has parent %d, not %d", i, chain[i], chain[i - 1 + 32]);
}

static void case_loop(void)
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
        EXITS(child, i & 0xff);
    }
}

/* --- what is inherited --- */

static void handler_nothing(int signal)
{
    (void)signal;
}

static void case_signal_state(void)
{
    struct sigaction action = {.sa_handler = handler_nothing, .sa_flags = SA_RESTART};
    sigset_t mask;
    sigset_t found;
    pid_t child;

    CALL(sigaction(SIGUSR1, &action, NULL));
    action.sa_handler = SIG_IGN;
    CALL(sigaction(SIGUSR2, &action, NULL));
    sigemptyset(&mask);
    sigaddset(&mask, SIGHUP);
    sigaddset(&mask, SIGRTMIN + 3);
    CALL(sigprocmask(SIG_SETMASK, &mask, NULL));
    CALL(raise(SIGHUP));
    CALL(kill(getpid(), SIGRTMIN + 3));
    child = FORK();
    if (child == 0) {
        CALL(sigaction(SIGUSR1, NULL, &action));
        CHECK(action.sa_handler == handler_nothing && (action.sa_flags & SA_RESTART) != 0, "the handler of SIGUSR1");
        CALL(sigaction(SIGUSR2, NULL, &action));
        CHECK(action.sa_handler == SIG_IGN, "SIGUSR2 is ignored");
        CALL(sigprocmask(SIG_SETMASK, NULL, &found));
        CHECK(sigismember(&found, SIGHUP) == 1 && sigismember(&found, SIGRTMIN + 3) == 1 &&
                  sigismember(&found, SIGTERM) == 0,
              "the mask differs");
        CALL(sigpending(&found));
        CHECK(sigismember(&found, SIGHUP) == 0 && sigismember(&found, SIGRTMIN + 3) == 0, "signals came along");
        _exit(0);
    }
    EXITS(child, 0);
    CALL(sigpending(&found));
    CHECK(sigismember(&found, SIGHUP) == 1 && sigismember(&found, SIGRTMIN + 3) == 1, "the parent's are gone");
}

static void case_group_state(void)
{
    pid_t group = (pid_t)CALL(getpgid(0));
    pid_t session = (pid_t)CALL(getsid(0));

    for (int i = 0; i < place_few(4); i++) {
        pid_t child = FORK();

        if (child == 0) {
            place_go(i);
            CHECK(getpgid(0) == group, "group %d, not %d", (int)getpgid(0), (int)group);
            CHECK(getpgrp() == group, "group %d, not %d", (int)getpgrp(), (int)group);
            CHECK(getsid(0) == session, "session %d, not %d", (int)getsid(0), (int)session);
            _exit(0);
        }
        CHECK(getpgid(child) == group, "%s", case_error(errno));
        EXITS(child, 0);
    }
}

static void case_descriptors(void)
{
    int down[2];
    int up[2];
    char text[16] = "";
    pid_t child;

    CALL(pipe2(down, O_CLOEXEC));
    CALL(pipe(up));
    child = FORK();
    if (child == 0) {
        place_go(1);
        CALL(close(down[1]));
        CALL(close(up[0]));
        CHECK(read(down[0], text, sizeof(text)) == 5 && strcmp(text, "down") == 0, "read '%s'", text);
        CALL(write(up[1], "up", 3));
        _exit(0);
    }
    CALL(close(up[1]));
    CALL(write(down[1], "down", 5));
    CHECK(read(up[0], text, sizeof(text)) == 3 && strcmp(text, "up") == 0, "read '%s'", text);
    case_await("the end of a pipe whose writers are closed or dead");
    CHECK(read(up[0], text, sizeof(text)) == 0, "no end of the pipe");
    EXITS(child, 0);
    /* Closed by the child only. */
    CALL(write(down[1], "x", 1));
    CHECK(read(down[0], text, sizeof(text)) == 1, "%s", case_error(errno));
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

static void case_close_on_exec(void)
{
    int kept[2];
    int lost[2];

    CALL(pipe(kept));
    CALL(pipe2(lost, O_CLOEXEC));
    for (int i = 0; i < place_few(4); i++) {
        pid_t child = FORK();

        if (child == 0) {
            char first[16];
            char second[16];

            place_go(i);
            snprintf(first, sizeof(first), "%d", kept[1]);
            snprintf(second, sizeof(second), "%d", lost[1]);
            case_exec("descriptors", first, second);
        }
        EXITS(child, 0);
    }
}

/* @seven ARG: exits with 7 when ARG is "argument". */
static int child_seven(int argc, char **argv)
{
    return argc == 3 && strcmp(argv[2], "argument") == 0 ? 7 : 1;
}

static const struct case_entry cases[] = {
    {"everywhere", "fork from the main thread on every place", case_everywhere},
    {"thread", "fork from a second thread on every place", case_thread},
    {"threads", "fork from threads on all places at once", case_threads_at_once},
    {"alone", "the child has the forking thread only", case_alone},
    {"memory", "parent and child write memory of their own", case_memory},
    {"protection", "the child's mappings are as the parent's were", case_protection},
    {"statuses", "every way to end reaches the parent", case_statuses},
    {"nohang", "WNOHANG tells running from ended", case_nohang},
    {"waitid", "waitid by id, group and all; WNOWAIT leaves the child to be waited for", case_waitid},
    {"waitid-info", "waitid tells who ended how", case_waitid_info},
    {"groups", "waitpid 0 and -PGID wait for children of that group only", case_groups},
    {"no-child", "waiting for what is no child is ECHILD, wrong options are EINVAL", case_no_child},
    {"usage", "wait4 and waitid tell the child's use of the machine", case_usage},
    {"stopped", "WUNTRACED and WCONTINUED tell of stops and continues, once", case_stopped},
    {"stopped-makers", "threads that are made while their process stops stand still, too", case_stopped_makers},
    {"zombie", "a child that has ended exists until it is waited for", case_zombie},
    {"end-together", "children that end when their parent does, or execs, are gone", case_end_together},
    {"many", "many children on all places are reaped in any order", case_many},
    {"waiters", "many threads wait on all places; each child is reaped once", case_waiters},
    {"foreign-wait", "a thread on another place waits for what main forked", case_foreign_wait},
    {"orphan", "an orphan has init for its parent", case_orphan},
    {"generations", "a chain of descendants over all places", case_generations},
    {"loop", "fork 200 times", case_loop},
    {"vfork-exit", "vfork lends the parent's memory until the child exits", case_vfork_exit},
    {"vfork-exec", "vfork and execve", case_vfork_exec},
    {"vfork-killed", "whoever waits in vfork is killed; its child goes on", case_vfork_killed},
    {"clone-vfork", "clone with CLONE_VM and CLONE_VFORK on a stack of its own", case_clone_vfork},
    {"clone-ids", "clone stores the child's id where it is told to", case_clone_ids},
    {"clone-parent", "CLONE_PARENT makes a sibling", case_clone_parent},
    {"clone-signal", "a child with another exit signal is waited for with __WALL or __WCLONE", case_clone_signal},
    {"clone-errors", "clone refuses flags that make no sense", case_clone_errors},
    {"clone3-process", "clone3 makes a process", case_clone3_process},
    {"clone3-thread", "clone3 makes a thread", case_clone3_thread},
    {"posix-spawn", "posix_spawn runs this program with arguments on every place", case_posix_spawn},
    {"signal-state", "a child inherits mask and actions, not pending signals", case_signal_state},
    {"group-state", "a child inherits process group and session", case_group_state},
    {"descriptors", "pipes are inherited and closed one by one", case_descriptors},
    {"close-on-exec", "O_CLOEXEC closes at exec what else is kept", case_close_on_exec},
};

static const struct case_child children[] = {{"seven", child_seven}, {"descriptors", child_descriptors}};

static const struct case_set set = {"test-fork", cases, CASE_COUNT(cases), children, CASE_COUNT(children)};

int main(int argc, char **argv)
{
    return case_main(argc, argv, &set);
}
