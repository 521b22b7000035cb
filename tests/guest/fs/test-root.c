/* test-root: chroot(2) in processes that share their root: threads on all kernels, and processes made with CLONE_FS
 * (kernel/file/root.md). A Linux program but for where it runs.
 *
 * Directories named `a` lie in each other. The file `level` of each has as many bytes as there are directories around
 * it, so its length says which directory the root is. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define LEVELS 40

static char top[] = "/tmp/rootXXXXXX"; /* level 0 */

/* Which level NAME tells, or a negative errno. */
static long level_at(const char *name)
{
    struct stat facts = {.st_size = 0};
    long error = x86_syscall3(SYS_stat, (long)name, (long)&facts, 0);

    return error != 0 ? error : facts.st_size;
}

static long level(void)
{
    return level_at("/level");
}

static int make_levels(void)
{
    for (int i = 0; i < LEVELS; i++) {
        int fd = open("level", O_WRONLY | O_CREAT, 0644);

        if (fd < 0 || ftruncate(fd, i) != 0 || close(fd) != 0 || mkdir("a", 0755) != 0 || chdir("a") != 0)
            return -1;
    }
    return chdir(top);
}

static void remove_levels(void)
{
    if (chdir(top) != 0)
        return;
    for (int i = 0; i < LEVELS; i++) {
        unlink("level");
        if (chdir("a") != 0)
            return;
    }
    for (int i = 0; i < LEVELS; i++) {
        if (chdir("..") != 0 || rmdir("a") != 0)
            return;
    }
    rmdir(top);
}

/* A child with its own copy of memory that shares what FLAGS say; 0 in it. */
static pid_t share(int flags)
{
    return (pid_t)x86_syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0, 0);
}

static int status_of(pid_t child)
{
    int status = -1;

    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The root has been level ENDED, and perhaps BEGUN. */
static struct {
    atomic_long begun, ended;
    atomic_long looks[KERNELS_MAX];
    atomic_int ready, over;
} board;

/* Looks which level the root is, on the kernel of its number, until all is over. The result: 0, or what was wrong. */
static void look(struct thread *thread)
{
    long error = thread_move(thread->index);

    atomic_fetch_add(&board.ready, 1);
    while (error == 0 && atomic_load(&board.over) == 0) {
        long ended = atomic_load(&board.ended), is = level(), begun = atomic_load(&board.begun);

        if (is < ended || is > begun)
            error = 100000 + ended * 1000 + is;
        atomic_fetch_add(&board.looks[thread->index], 1);
        x86_pause(); /* lets another CPU of an emulator run */
    }
    atomic_store(&thread->result, error);
}

static long go_down(void)
{
    long error;

    atomic_fetch_add(&board.begun, 1);
    error = x86_syscall1(SYS_chroot, (long)"/a");
    atomic_fetch_add(&board.ended, 1);
    return error;
}

/* Every thread that still looks has begun and ended a look. */
static void all_look(struct thread *threads, int count)
{
    for (int i = 0; i < count; i++) {
        long least = atomic_load(&board.looks[i]) + 2;

        while (atomic_load(&board.looks[i]) < least && atomic_load(&threads[i].result) == 0)
            x86_syscall0(SYS_sched_yield);
    }
}

/* In a child. */
static int change(void *context)
{
    static struct thread threads[KERNELS_MAX];
    int count = kernels_count(), wrong = 0;
    long home = (long)context;

    kernels_go(home);
    if (chroot(top) != 0)
        return 1;
    for (int i = 0; i < count; i++) {
        threads[i].index = i;
        if (!thread_start(&threads[i], look))
            return 2;
    }
    if (!thread_wait(&board.ready, count))
        return 3;
    for (int i = 1; i < LEVELS && wrong == 0; i++) {
        if (i % 4 == 0)
            kernels_go(home + i / 4); /* the change comes from elsewhere than the home, too */
        wrong = go_down() == 0 && level() == i ? 0 : 4;
        if (i % 3 == 0)
            all_look(threads, count);
    }
    atomic_store(&board.over, 1);
    for (int i = 0; i < count; i++) {
        if (!thread_join(&threads[i]) || atomic_load(&threads[i].result) != 0) {
            fprintf(stderr, "# thread %d: %ld\n", i, atomic_load(&threads[i].result));
            wrong = 5;
        }
    }
    return wrong;
}

/* RUN in a child of each home, which it gets. */
static void on_each_home(int (*run)(void *home))
{
    for (long home = 0; home < kernels_count(); home++) {
        int end;

        kernels_go(home);
        end = tap_fork(run, (void *)home);
        CHECK(end == 0, "home %ld: %d", home, end);
    }
    kernels_go(0);
}

static void test_threads(void)
{
    on_each_home(change);
}

static void go_top(struct thread *thread)
{
    long error = thread_move(thread->index);

    if (error == 0)
        error = x86_syscall1(SYS_chroot, (long)top);
    atomic_store(&thread->result, error);
}

/* A thread that has not looked since another changed the root forks, on another kernel than the home. */
static int forks_blindly(void *context)
{
    static struct thread thread;
    long home = (long)context;
    pid_t child;

    kernels_go(home + 1);
    thread.index = (int)home;
    if (!thread_start(&thread, go_top) || !thread_join(&thread) || atomic_load(&thread.result) != 0)
        return 1;
    child = fork();
    if (child == 0)
        _exit(level() == 0 ? 0 : 1);
    return status_of(child) == 0 && level() == 0 ? 0 : 2;
}

/* First: on homes where no process has had another root yet. */
static void test_blind(void)
{
    on_each_home(forks_blindly);
}

/* The other goes down until all is over. */
static void descend(struct thread *thread)
{
    long error = thread_move(thread->index);

    for (int i = 1; i < LEVELS && error == 0; i++) {
        error = go_down();
        for (int turn = 0; turn < 20; turn++)
            x86_syscall0(SYS_sched_yield);
    }
    atomic_store(&board.over, 1);
    atomic_store(&thread->result, error);
}

/* A child of fork has the root of one moment, on every kernel, and keeps it. */
static int forks(void *context)
{
    static struct thread thread;
    long home = (long)context;

    kernels_go(home);
    if (chroot(top) != 0)
        return 1;
    thread.index = (int)((home + 1) % kernels_count());
    if (!thread_start(&thread, descend))
        return 2;
    do {
        long least = atomic_load(&board.ended), first;
        pid_t child = fork();

        if (child == 0) {
            first = level();
            if (first < least)
                _exit(1);
            for (int k = 0; k < kernels_count(); k++) {
                kernels_go(home + k);
                if (level() != first)
                    _exit(2);
            }
            _exit(level() == first ? 0 : 3);
        }
        if (status_of(child) != 0)
            return 3;
    } while (atomic_load(&board.over) == 0);
    return thread_join(&thread) && atomic_load(&thread.result) == 0 && level() == LEVELS - 1 ? 0 : 4;
}

static void test_fork(void)
{
    for (long home = 0; home < kernels_count(); home++) {
        int end;

        kernels_go(home);
        end = tap_fork(forks, (void *)home);
        CHECK(end == 0, "home %ld: %d", home, end);
    }
    kernels_go(0);
}

/* What one that shares the root sets both have; a child of fork has its own. */
static int shares(void *context)
{
    long k = (long)context;
    pid_t child;

    kernels_go(k);
    if (chroot(top) != 0)
        return 1;
    child = share(CLONE_FS);
    if (child == 0) {
        kernels_go(k + 1);
        _exit(level() == 0 && chroot("/a") == 0 && level() == 1 ? 0 : 1);
    }
    if (status_of(child) != 0 || level() != 1)
        return 2;
    child = share(CLONE_FS);
    if (child == 0) {
        kernels_go(k + 1);
        child = fork();
        if (child == 0) {
            kernels_go(k + 2);
            _exit(level() == 1 && chroot("/a/a") == 0 && level() == 3 ? 0 : 1);
        }
        _exit(status_of(child) == 0 && level() == 1 && chroot("/a") == 0 ? 0 : 2);
    }
    kernels_go(k + 3);
    if (status_of(child) != 0 || level() != 2)
        return 3;
    child = share(CLONE_FILES);
    if (child == 0)
        _exit(chroot("/a") == 0 && level() == 3 ? 0 : 1);
    return status_of(child) == 0 && level() == 2 ? 0 : 4;
}

static const char *program;

/* A program that one runs still shares it. */
static int runs(void *context)
{
    long k = (long)context;
    pid_t child;

    kernels_go(k);
    child = share(CLONE_FS | CLONE_FILES);
    if (child == 0) {
        kernels_go(k + 1);
        execl(program, program, top, (char *)NULL);
        _exit(98);
    }
    return status_of(child) == 0 && level() == 1 ? 0 : 1;
}

static void test_shared(void)
{
    for (long k = 0; k < kernels_count(); k++) {
        int end = tap_fork(shares, (void *)k), ran = tap_fork(runs, (void *)k);

        CHECK(end == 0 && ran == 0, "kernel %ld: %d %d", k, end, ran);
    }
    kernels_go(0);
}

/* Another thread's root changes; the working directory, which is outside then, stays. */
static void leave_behind(struct thread *thread)
{
    long error = thread_move(thread->index);

    if (error == 0)
        error = x86_syscall1(SYS_chroot, (long)"a/a");
    atomic_store(&thread->result, error);
}

static int outside(void *context)
{
    static struct thread thread;
    struct stat above, here;
    long k = (long)context;
    char text[PATH_MAX];

    kernels_go(k);
    thread.index = (int)((k + 1) % kernels_count());
    if (stat("..", &above) != 0 || !thread_start(&thread, leave_behind) || !thread_join(&thread) ||
        atomic_load(&thread.result) != 0)
        return 1;
    kernels_go(k + 2);
    if (level() != 2 || level_at("/../level") != 2 || level_at("/a/../../../level") != 2)
        return 2;
    if (level_at("level") != 0 || level_at("a/level") != 1 || level_at("a/../level") != 0)
        return 3; /* from without */
    if (level_at("a/a/a/../../../level") != 2)
        return 4; /* a walk that comes to the root stays in it */
    if (chdir("..") != 0 || stat(".", &here) != 0 || here.st_ino != above.st_ino || level_at("level") != -ENOENT)
        return 5;
    if (chdir("/") != 0 || getcwd(text, sizeof(text)) == NULL || strcmp(text, "/") != 0)
        return 6;
    if (chdir("a") != 0 || getcwd(text, sizeof(text)) == NULL || strcmp(text, "/a") != 0)
        return 7;
    return chroot(".") == 0 && level() == 3 && chdir("../..") == 0 && level_at("level") == 3 ? 0 : 8;
}

static void test_outside(void)
{
    for (long k = 0; k < kernels_count(); k++) {
        int end = tap_fork(outside, (void *)k);

        CHECK(end == 0, "kernel %ld: %d", k, end);
    }
    kernels_go(0);
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"blind",
         "a child has the root that its parent has when it is forked, on kernels that have not seen the change",
         test_blind},
        {"threads", "threads on all kernels have a new root as soon as chroot returns", test_threads},
        {"fork", "a child has the root of the moment of its fork, whatever other threads do", test_fork},
        {"shared", "processes that share the working directory share the root", test_shared},
        {"outside", "the working directory may stay outside the new root, and leads on from there", test_outside},
    };
    int status;

    if (argc == 2) /* the program of runs() */
        return chroot(argv[1]) == 0 && level() == 0 && chroot("/a") == 0 ? 0 : 1;
    program = "/proc/self/exe";
    kernels_find();
    if (mkdtemp(top) == NULL || chmod(top, 0755) != 0 || chdir(top) != 0 || make_levels() != 0) {
        perror(top);
        return 1;
    }
    status = tap_run(argc, argv, tests, TAP_COUNT(tests));
    remove_levels();
    return status;
}
