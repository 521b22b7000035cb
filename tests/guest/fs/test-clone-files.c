/* test-clone-files: processes that share descriptors (CLONE_FILES) or the working directory (CLONE_FS), made on any
 * kernel. A Linux program but for where it runs. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"
#include "userland/x86.h"

#define CLOSE_RANGE_UNSHARE 2u
#define CLOSE_RANGE_CLOEXEC 4u
#define END_MS 60000 /* a failure */

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

static void test_files(void)
{
    for (int k = 0; k < 2 * kernels_count(); k++) {
        int kept = dup(0), closed = dup(0), made, ends[2];
        char text[4] = "";
        pid_t child;

        kernels_go(k);
        child = share(CLONE_FILES);
        if (child == 0) {
            kernels_go(k + 1);
            close(closed);
            made = dup(0);
            fcntl(kept, F_SETFD, FD_CLOEXEC);
            if (pipe(ends) != 0 || write(ends[1], "in", 2) != 2 || ends[0] != made + 1)
                _exit(99);
            _exit(made);
        }
        kernels_go(k + 2);
        made = status_of(child);
        CHECK(made == closed, "kernel %d: the child got %d, not %d", k, made, closed);
        CHECK(fcntl(made, F_GETFD) == 0 && fcntl(kept, F_GETFD) == FD_CLOEXEC, "kernel %d: flags %d %d", k,
              fcntl(made, F_GETFD), fcntl(kept, F_GETFD));
        CHECK(read(made + 1, text, sizeof(text)) == 2 && strcmp(text, "in") == 0,
              "kernel %d: the child's pipe has \"%s\"", k, text);
        for (int fd = made; fd < made + 3; fd++)
            close(fd);
        close(kept);
        CHECK(fcntl(made, F_GETFD) == -1, "nothing is left");
    }
    kernels_go(0);
}

/* Who is left has all, also what the other made. */
static void test_survivor(void)
{
    int channel[2];
    char byte;

    for (int k = 0; k < kernels_count(); k++) {
        int report[2], status;
        pid_t middle;

        if (!CHECK(pipe(report) == 0 && pipe(channel) == 0, "pipe: %s", strerror(errno)))
            return;
        middle = fork();
        if (middle == 0) {
            kernels_go(k);
            if (share(CLONE_FILES | CLONE_FS) == 0) {
                kernels_go(k + 1);
                close(channel[1]);                 /* the other's too: the pipe ends when our parent is no more */
                (void)!read(channel[0], &byte, 1); /* its parent has ended, or is about to */
                byte = fcntl(report[1], F_GETFD) == 0 ? 'y' : 'n';
                (void)!write(report[1], &byte, 1);
                _exit(0);
            }
            _exit(0);
        }
        CHECK(waitpid(middle, &status, 0) == middle && status == 0, "status %x", (unsigned)status);
        close(channel[1]);
        CHECK(read(report[0], &byte, 1) == 1 && byte == 'y', "kernel %d: the survivor's descriptors", k);
        close(channel[0]);
        close(report[1]);
        CHECK(read(report[0], &byte, 1) == 0, "kernel %d: they are closed at its end", k);
        close(report[0]);
    }
    kernels_go(0);
}

static const char *program;

/* Who has only the directory from another, or had its descriptors before it ran a program, does not keep them open. */
static void test_end(void)
{
    for (int k = 0; k < 2 * kernels_count(); k++) {
        bool runs = k % 2 != 0;
        int ends[2], go[2], ran[2], status;
        char number[16], byte;
        pid_t middle;

        if (!CHECK(pipe(ends) == 0 && pipe(go) == 0 && pipe(ran) == 0, "pipe: %s", strerror(errno)))
            return;
        snprintf(number, sizeof(number), "%d", ran[1]);
        middle = fork();
        if (middle == 0) {
            kernels_go(k / 2);
            if (share(runs ? CLONE_FS | CLONE_FILES : CLONE_FS) == 0) {
                kernels_go(k / 2 + 1);
                if (!runs) {
                    close(ends[1]);
                    close(go[1]);
                }
                (void)!read(go[0], &byte, 1);
                _exit(0);
            }
            if (!runs)
                _exit(0);
            fcntl(ends[1], F_SETFD, FD_CLOEXEC);
            execl(program, program, number, (char *)NULL);
            _exit(98);
        }
        close(ends[1]);
        if (runs)
            CHECK(read(ran[0], &byte, 1) == 1 && write(go[1], "g", 1) == 1, "the child ends: %s", strerror(errno));
        else
            CHECK(waitpid(middle, &status, 0) == middle && status == 0, "status %x", (unsigned)status);
        CHECK(poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, END_MS) == 1 && read(ends[0], &byte, 1) == 0,
              "kernel %d: the pipe ends%s", k / 2, runs ? " after exec" : "");
        if (runs)
            CHECK(kill(middle, SIGKILL) == 0 && waitpid(middle, &status, 0) == middle, "its end: %s", strerror(errno));
        for (int i = 0; i < 2; i++) {
            close(go[i]);
            close(ran[i]);
        }
        close(ends[0]);
    }
    kernels_go(0);
}

static bool is_directory(const char *wanted)
{
    char directory[256] = "";

    return getcwd(directory, sizeof(directory)) != NULL && strcmp(directory, wanted) == 0;
}

static void test_directory(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        pid_t child;

        kernels_go(k);
        CHECK(chdir("/") == 0, "chdir: %s", strerror(errno));
        child = share(CLONE_FS);
        if (child == 0) {
            kernels_go(k + 1);
            close(0);
            _exit(chdir("/proc") == 0 ? 0 : 1);
        }
        CHECK(status_of(child) == 0 && is_directory("/proc"), "kernel %d: the directory is shared", k);
        CHECK(fcntl(0, F_GETFD) == 0, "descriptors are not");
        child = share(CLONE_FILES);
        if (child == 0)
            _exit(is_directory("/proc") && chdir("/") == 0 ? 0 : 1);
        CHECK(status_of(child) == 0 && is_directory("/proc"), "kernel %d: now it is not", k);
    }
    CHECK(chdir("/") == 0, "chdir: %s", strerror(errno));
    kernels_go(0);
}

/* What one sets both have; a child of fork has its own. */
static void test_umask(void)
{
    mode_t before = umask(022);

    for (int k = 0; k < kernels_count(); k++) {
        pid_t child;

        kernels_go(k);
        umask(022);
        child = share(CLONE_FS);
        if (child == 0) {
            kernels_go(k + 1);
            _exit(umask(027) == 022 ? 0 : 1);
        }
        CHECK(status_of(child) == 0 && umask(027) == 027, "kernel %d: the umask is shared", k);
        child = share(CLONE_FS);
        if (child == 0) {
            kernels_go(k + 1);
            child = fork();
            if (child == 0)
                _exit(umask(0) == 027 ? 0 : 1);
            _exit(status_of(child) == 0 && umask(031) == 027 ? 0 : 1);
        }
        CHECK(status_of(child) == 0 && umask(022) == 031, "kernel %d: that of a fork is its own", k);
        child = share(CLONE_FILES);
        if (child == 0)
            _exit(umask(077) == 022 ? 0 : 1);
        CHECK(status_of(child) == 0 && umask(022) == 022, "kernel %d: now it is not shared", k);
    }
    umask(before);
    kernels_go(0);
}

/* exec has descriptors of its own: what it closes stays open here. */
static void test_exec(const char *self)
{
    char number[16];

    for (int k = 0; k < kernels_count(); k++) {
        int marked = fcntl(0, F_DUPFD_CLOEXEC, 0);
        pid_t child;

        snprintf(number, sizeof(number), "%d", marked);
        kernels_go(k);
        child = share(CLONE_FILES);
        if (child == 0) {
            kernels_go(k + 1);
            execl(self, self, "closed", number, (char *)NULL);
            _exit(98);
        }
        CHECK(status_of(child) == 0, "kernel %d: the program ran", k);
        CHECK(fcntl(marked, F_GETFD) == FD_CLOEXEC, "kernel %d: %d", k, fcntl(marked, F_GETFD));
        close(marked);
    }
    kernels_go(0);
}

/* close_range takes the descriptors of who calls it only, when it says so. */
static void test_unshare(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        int closed = dup(0), marked = dup(0), kept, ends[2];
        char byte = 0;
        pid_t child;

        kernels_go(k);
        if (!CHECK(pipe(ends) == 0, "pipe: %s", strerror(errno)))
            return;
        child = share(CLONE_FILES | CLONE_FS);
        if (child == 0) {
            kernels_go(k + 1);
            if (x86_syscall3(SYS_close_range, 1, 0, CLOSE_RANGE_UNSHARE) != -EINVAL || fcntl(closed, F_GETFD) != 0 ||
                x86_syscall3(SYS_close_range, (unsigned)closed, (unsigned)closed, CLOSE_RANGE_UNSHARE) != 0 ||
                fcntl(closed, F_GETFD) != -1 ||
                x86_syscall3(SYS_close_range, (unsigned)marked, (unsigned)marked,
                             CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC) != 0 ||
                fcntl(marked, F_GETFD) != FD_CLOEXEC || dup(0) != closed || chdir("/proc") != 0)
                _exit(1);
            _exit(write(ends[1], "w", 1) == 1 ? 0 : 2); /* what was not closed is still here */
        }
        CHECK(status_of(child) == 0, "kernel %d: the child", k);
        CHECK(fcntl(closed, F_GETFD) == 0 && fcntl(marked, F_GETFD) == 0, "kernel %d: %d %d", k, fcntl(closed, F_GETFD),
              fcntl(marked, F_GETFD));
        kept = dup(0);
        CHECK(kept > ends[1] && read(ends[0], &byte, 1) == 1 && byte == 'w', "kernel %d: %d", k, kept);
        CHECK(is_directory("/proc") && chdir("/") == 0, "kernel %d: the directory is still shared", k);
        close(closed);
        close(marked);
        close(kept);
        close(ends[1]);
        CHECK(read(ends[0], &byte, 1) == 0, "kernel %d: nobody else has the pipe", k);
        close(ends[0]);
    }
    kernels_go(0);
}

/* The same by who has them from nobody: the other keeps them. */
static void test_unshare_owner(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        int closed = dup(0), go[2], status = -1;
        pid_t middle;

        kernels_go(k);
        if (!CHECK(pipe(go) == 0, "pipe: %s", strerror(errno)))
            return;
        middle = fork();
        if (middle == 0) {
            pid_t child = share(CLONE_FILES);
            char byte;

            if (child == 0)
                _exit(read(go[0], &byte, 1) == 1 && fcntl(closed, F_GETFD) == 0 ? 0 : 1);
            if (x86_syscall3(SYS_close_range, (unsigned)closed, ~0u, CLOSE_RANGE_UNSHARE) != 0 ||
                fcntl(closed, F_GETFD) != -1)
                _exit(1);
            _exit(status_of(child));
        }
        CHECK(write(go[1], "g", 1) == 1 && waitpid(middle, &status, 0) == middle && status == 0, "kernel %d: %x", k,
              (unsigned)status);
        close(closed);
        close(go[0]);
        close(go[1]);
    }
    kernels_go(0);
}

static void test_program(void)
{
    test_exec(program);
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"files", "CLONE_FILES shares descriptors on every kernel", test_files},
        {"survivor", "shared descriptors stay open until the last process that has them has ended", test_survivor},
        {"end", "shared descriptors are closed with the last process that has them", test_end},
        {"directory", "CLONE_FS shares the working directory, and fork copies it", test_directory},
        {"umask", "CLONE_FS shares the umask with the working directory", test_umask},
        {"program", "exec gives a program descriptors and a working directory of its own", test_program},
        {"unshare", "close_range with CLOSE_RANGE_UNSHARE gives its caller descriptors of its own", test_unshare},
        {"unshare-owner", "close_range leaves descriptors to the other process when they were its caller's",
         test_unshare_owner},
    };
    int fd = 0;

    if (argc == 2 && sscanf(argv[1], "%d", &fd) == 1) {
        if (write(fd, "r", 1) == 1)
            pause();
        return 1;
    }
    if (argc == 3 && strcmp(argv[1], "closed") == 0)
        return sscanf(argv[2], "%d", &fd) == 1 && fcntl(fd, F_GETFD) == -1 ? 0 : 1;
    program = "/proc/self/exe";
    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
