/* test-fork: other ways to make a process than fork. */
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/tasks/fork.h"
#include "userland/x86.h"

#define PAGE 4096
#define STACK (16 * PAGE)

/* What clone3 takes, in its first size; the C library has no header for it. */
struct clone_args {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
};

static volatile int written;

/* vfork may be called by name only in a function that changes no variable of its own afterwards. */
static pid_t vfork_exit(pid_t parent)
{
    pid_t child = vfork();

    if (child == 0) {
        for (int turn = 0; turn < 100; turn++)
            syscall(SYS_sched_yield);
        written = syscall(SYS_getppid) == parent ? 1 : 2;
        _exit(33);
    }
    return child;
}

void fork_test_vfork_exit(void)
{
    for (int i = 0; i < place_few(8); i++) {
        pid_t child;

        place_go(i);
        written = 0;
        child = (pid_t)MUST(vfork_exit(getpid()));
        CHECK(written == 1, "the child left %d", written);
        CHECK_EXITS(child, 33);
    }
}

struct vfork_killed {
    volatile pid_t child;
    volatile int go;
};

/* The child waits to be told, then ends in one of three ways. */
static void vfork_waits(struct vfork_killed *shared, int way)
{
    char *arguments[] = {(char *)tap_self(), "@seven", "argument", NULL};

    if (vfork() == 0) {
        shared->child = (pid_t)syscall(SYS_getpid);
        while (shared->go == 0)
            syscall(SYS_sched_yield);
        if (way == 0)
            syscall(SYS_execve, arguments[0], arguments, environ);
        if (way == 1)
            syscall(SYS_kill, shared->child, SIGKILL);
        _exit(0);
    }
}

void fork_test_vfork_killed(void)
{
    struct vfork_killed *shared = tap_share(PAGE);

    for (int i = 0; i < 3 * place_few(4); i++) {
        int way = i % 3;
        pid_t maker, child;

        shared->child = 0;
        shared->go = 0;
        maker = FORK();
        if (maker == 0) {
            place_go(i / 3);
            vfork_waits(shared, way);
            _exit(0);
        }
        UNTIL(shared->child != 0, "the child");
        child = shared->child;
        place_go(i);
        if (i % 2 == 0) {
            MUST(kill(maker, SIGKILL));
            shared->go = 1;
        } else {
            shared->go = 1;
            MUST(kill(maker, SIGKILL));
        }
        if (i % 2 == 0)
            CHECK_DIES(maker, SIGKILL);
        else
            tap_wait(maker); /* it may have been quicker */
        UNTIL(kill(child, 0) == -1 && errno == ESRCH, "the end of the orphan");
    }
}

static pid_t vfork_exec(char *const arguments[])
{
    pid_t child = vfork();

    if (child == 0) {
        written = 1;
        syscall(SYS_execve, arguments[0], arguments, environ);
        _exit(44);
    }
    return child;
}

void fork_test_vfork_exec(void)
{
    char *arguments[] = {(char *)tap_self(), "@seven", "argument", NULL};

    for (int i = 0; i < place_few(8); i++) {
        pid_t child;

        place_go(i);
        written = 0;
        child = (pid_t)MUST(vfork_exec(arguments));
        CHECK(written == 1, "the child left %d", written);
        CHECK_EXITS(child, 7);
    }
}

static char *stack_make(void)
{
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    REQUIRE(stack != MAP_FAILED, "no stack");
    return stack;
}

/* Runs on memory shared with the parent, which sleeps: system calls only. */
static int child_in_same_memory(void *argument)
{
    written = (int)(intptr_t)argument + 1;
    return 12;
}

static int child_in_same_memory_exec(void *argument)
{
    char *arguments[] = {argument, "@seven", "argument", NULL};

    written = 50;
    x86_syscall3(SYS_execve, (long)argument, (long)arguments, (long)environ);
    return 13;
}

void fork_test_clone_vfork(void)
{
    char *stack = stack_make();

    for (int i = 0; i < place_few(8); i++) {
        pid_t child;

        place_go(i);
        child = (pid_t)MUST(
            clone(child_in_same_memory, stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, (void *)(intptr_t)i));
        CHECK(written == i + 1, "the child left %d", written);
        CHECK_EXITS(child, 12);
        child = (pid_t)MUST(
            clone(child_in_same_memory_exec, stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, (void *)tap_self()));
        CHECK(written == 50, "the child left %d", written);
        CHECK_EXITS(child, 7);
    }
    MUST(munmap(stack, STACK));
}

static long clone_raw(unsigned long flags, int *parent_tid, int *child_tid)
{
    long result = x86_syscall(SYS_clone, (long)flags, 0, (long)parent_tid, (long)child_tid, 0, 0);

    if (result >= 0)
        return result;
    errno = (int)-result;
    return -1;
}

void fork_test_clone_ids(void)
{
    volatile int *shared = tap_share(PAGE);
    volatile int parent_tid = -1;
    volatile int child_tid = -1;

    for (int i = 0; i < place_few(4); i++) {
        long child;

        place_go(i);
        parent_tid = child_tid = -1;
        child = MUST(
            clone_raw(CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | SIGCHLD, (int *)&parent_tid, (int *)&child_tid));
        if (child == 0) {
            CHECK(child_tid == getpid(), "in the child: %d", child_tid);
            _exit(0);
        }
        CHECK(parent_tid == child, "in the parent: %d", parent_tid);
        CHECK(child_tid == -1, "the child's word in the parent: %d", child_tid);
        CHECK_EXITS((pid_t)child, 0);
        /* The word is cleared when the child ends, and memory is shared still. */
        child = MUST(clone_raw(CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD, NULL, (int *)shared));
        if (child == 0) {
            CHECK(*shared == getpid(), "in the child: %d", *shared);
            _exit(0);
        }
        CHECK_EXITS((pid_t)child, 0);
        CHECK(*shared == 0 || *shared == child, "the shared word is %d", *shared);
    }
}

void fork_test_clone_parent(void)
{
    volatile pid_t *sibling = tap_share(PAGE);
    pid_t parent = getpid();
    pid_t child = FORK();

    if (child == 0) {
        struct sigaction action;
        pid_t maker = getpid();
        long made;

        MUST(setpgid(0, 0));
        signal(SIGUSR2, SIG_IGN);
        made = MUST(clone_raw(CLONE_PARENT | SIGCHLD, NULL, NULL));
        if (made == 0) {
            CHECK(getppid() == parent, "%d", (int)getppid());
            /* What it inherits is its maker's. */
            CHECK(getpgid(0) == maker, "process group %d, not %d", (int)getpgid(0), (int)maker);
            MUST(sigaction(SIGUSR2, NULL, &action));
            CHECK(action.sa_handler == SIG_IGN, "SIGUSR2 is not ignored");
            _exit(15);
        }
        *sibling = (pid_t)made;
        CHECK_ERROR(waitpid((pid_t)made, NULL, 0), ECHILD);
        _exit(14);
    }
    CHECK_EXITS(child, 14);
    CHECK_EXITS(*sibling, 15);
}

void fork_test_clone_signal(void)
{
    static const int signals[] = {0, SIGUSR1};

    signal(SIGUSR1, SIG_IGN);
    for (size_t i = 0; i < TAP_COUNT(signals); i++) {
        int status = -1;
        long child = MUST(clone_raw((unsigned long)signals[i], NULL, NULL));

        if (child == 0)
            _exit(16);
        CHECK_ERROR(waitpid((pid_t)child, NULL, 0), ECHILD);
        CHECK_ERROR(waitpid(-1, NULL, 0), ECHILD);
        CHECK(waitpid((pid_t)child, &status, i == 0 ? __WALL : __WCLONE) == child && status == 16 << 8, "status %#x",
              (unsigned)status);
    }
    {
        long child = FORK();

        if (child == 0)
            _exit(0);
        CHECK_ERROR(waitpid((pid_t)child, NULL, __WCLONE), ECHILD);
        CHECK_EXITS((pid_t)child, 0);
    }
}

void fork_test_clone_errors(void)
{
    CHECK_ERROR(clone_raw(CLONE_THREAD, NULL, NULL), EINVAL);
    CHECK_ERROR(clone_raw(CLONE_THREAD | CLONE_VM, NULL, NULL), EINVAL);
    CHECK_ERROR(clone_raw(CLONE_SIGHAND | SIGCHLD, NULL, NULL), EINVAL);
    CHECK_ERROR(clone_raw(CLONE_FS | CLONE_NEWNS | SIGCHLD, NULL, NULL), EINVAL);
    CHECK_ERROR(waitpid(-1, NULL, 0), ECHILD);
}

static long clone3_raw(const struct clone_args *args, size_t size)
{
    long result = x86_syscall3(SYS_clone3, (long)args, (long)size, 0);

    if (result >= 0)
        return result;
    errno = (int)-result;
    return -1;
}

void fork_test_clone3_process(void)
{
    volatile int child_tid = 0;
    volatile int parent_tid = 0;
    struct clone_args args = {
        .flags = CLONE_CHILD_SETTID | CLONE_PARENT_SETTID,
        .child_tid = (uintptr_t)&child_tid,
        .parent_tid = (uintptr_t)&parent_tid,
        .exit_signal = SIGCHLD,
    };

    for (int i = 0; i < place_few(4); i++) {
        long child;

        place_go(i);
        child = MUST(clone3_raw(&args, sizeof(args)));
        if (child == 0) {
            CHECK(child_tid == getpid(), "%d", child_tid);
            _exit(17);
        }
        CHECK(parent_tid == child, "%d", parent_tid);
        CHECK_EXITS((pid_t)child, 17);
    }
    CHECK_ERROR(clone3_raw(&args, 8), EINVAL);
    CHECK_ERROR(clone3_raw(TAP_UNMAPPED, sizeof(args)), EFAULT);
    args.flags |= SIGCHLD;
    CHECK_ERROR(clone3_raw(&args, sizeof(args)), EINVAL);
    args.flags = CLONE_THREAD;
    CHECK_ERROR(clone3_raw(&args, sizeof(args)), EINVAL);
}

/* A thread made by clone3 starts where the call returns, on a stack of its own; so it makes system calls from
 * assembly and ends there. */
static long clone3_thread(const struct clone_args *args, volatile int *ran)
{
    return x86_clone3_exit(args, sizeof(*args), ran, SYS_clone3, SYS_exit);
}

void fork_test_clone3_thread(void)
{
    char *stack = stack_make();
    volatile int ran = 0;
    volatile int tid = -1;
    struct clone_args args = {
        .flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                 CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
        .child_tid = (uintptr_t)&tid,
        .parent_tid = (uintptr_t)&tid,
        .stack = (uintptr_t)stack,
        .stack_size = STACK,
    };

    for (int i = 0; i < place_few(4); i++) {
        long made;

        place_go(i);
        ran = 0;
        tid = -1;
        made = clone3_thread(&args, &ran);
        if (made < 0) {
            errno = (int)-made;
            made = -1;
        }
        MUST(made);
        CHECK(made > 0 && made != getpid(), "clone3 returns %ld", made);
        UNTIL(tid == 0, "the id of the ended thread to be cleared");
        CHECK(ran == 1, "the thread left %d", ran);
    }
    CHECK_ERROR(waitpid(-1, NULL, __WALL), ECHILD);
    MUST(munmap(stack, STACK));
}

void fork_test_posix_spawn(void)
{
    for (int i = 0; i < place_few(8); i++) {
        char *good[] = {(char *)tap_self(), "@seven", "argument", NULL};
        char *bad[] = {(char *)tap_self(), "@seven", "other", NULL};
        pid_t child;
        int error;

        place_go(i);
        error = posix_spawn(&child, tap_self(), NULL, NULL, good, environ);
        REQUIRE(error == 0, "posix_spawn: %s", tap_error(error));
        CHECK_EXITS(child, 7);
        error = posix_spawn(&child, tap_self(), NULL, NULL, bad, environ);
        REQUIRE(error == 0, "posix_spawn: %s", tap_error(error));
        CHECK_EXITS(child, 1);
        error = posix_spawn(&child, "/nowhere/at/all", NULL, NULL, good, environ);
        CHECK(error == ENOENT, "posix_spawn: %s", tap_error(error));
    }
}
