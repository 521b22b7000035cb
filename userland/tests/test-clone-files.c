/* test-clone-files: processes that share descriptors (CLONE_FILES) or the working directory (CLONE_FS), made on any
 * kernel. A Linux program but for where it runs. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userland/tests/machine.h"
#include "userland/tests/spread.h"
#include "userland/tests/tap.h"

#define END_MS 5000 /* a failure */

/* A child with its own copy of memory that shares what FLAGS say; 0 in it. */
static pid_t share(int flags)
{
    return (pid_t)machine_call(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0, 0);
}

static int status_of(pid_t child)
{
    int status = -1;

    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_files(void)
{
    for (int k = 0; k < 2 * spread_count(); k++) {
        int kept = dup(0), closed = dup(0), made, ends[2];
        char text[4] = "";
        pid_t child;

        spread_go(k);
        child = share(CLONE_FILES);
        if (child == 0) {
            spread_go(k + 1);
            close(closed);
            made = dup(0);
            fcntl(kept, F_SETFD, FD_CLOEXEC);
            if (pipe(ends) != 0 || write(ends[1], "in", 2) != 2 || ends[0] != made + 1)
                _exit(99);
            _exit(made);
        }
        spread_go(k + 2);
        made = status_of(child);
        EXPECT(made == closed, "kernel %d: the child got %d, not %d", k, made, closed);
        EXPECT(fcntl(made, F_GETFD) == 0 && fcntl(kept, F_GETFD) == FD_CLOEXEC, "kernel %d: flags %d %d", k,
               fcntl(made, F_GETFD), fcntl(kept, F_GETFD));
        EXPECT(read(made + 1, text, sizeof(text)) == 2 && strcmp(text, "in") == 0,
               "kernel %d: the child's pipe has \"%s\"", k, text);
        for (int fd = made; fd < made + 3; fd++)
            close(fd);
        close(kept);
        EXPECT(fcntl(made, F_GETFD) == -1, "nothing is left");
    }
    spread_go(0);
}

/* Who is left has all, also what the other made. */
static void test_survivor(void)
{
    int channel[2];
    char byte;

    for (int k = 0; k < spread_count(); k++) {
        int report[2], status;
        pid_t middle;

        if (!EXPECT(pipe(report) == 0 && pipe(channel) == 0, "pipe: %s", strerror(errno)))
            return;
        middle = fork();
        if (middle == 0) {
            spread_go(k);
            if (share(CLONE_FILES | CLONE_FS) == 0) {
                spread_go(k + 1);
                close(channel[1]);                 /* the other's too: the pipe ends when our parent is no more */
                (void)!read(channel[0], &byte, 1); /* its parent has ended, or is about to */
                byte = fcntl(report[1], F_GETFD) == 0 ? 'y' : 'n';
                (void)!write(report[1], &byte, 1);
                _exit(0);
            }
            _exit(0);
        }
        EXPECT(waitpid(middle, &status, 0) == middle && status == 0, "status %x", (unsigned)status);
        close(channel[1]);
        EXPECT(read(report[0], &byte, 1) == 1 && byte == 'y', "kernel %d: the survivor's descriptors", k);
        close(channel[0]);
        close(report[1]);
        EXPECT(read(report[0], &byte, 1) == 0, "kernel %d: they are closed at its end", k);
        close(report[0]);
    }
    spread_go(0);
}

static const char *program;

/* Who has only the folder from another, or had its descriptors before it ran a program, does not keep them open. */
static void test_end(void)
{
    for (int k = 0; k < 2 * spread_count(); k++) {
        bool runs = k % 2 != 0;
        int ends[2], go[2], ran[2], status;
        char number[16], byte;
        pid_t middle;

        if (!EXPECT(pipe(ends) == 0 && pipe(go) == 0 && pipe(ran) == 0, "pipe: %s", strerror(errno)))
            return;
        snprintf(number, sizeof(number), "%d", ran[1]);
        middle = fork();
        if (middle == 0) {
            spread_go(k / 2);
            if (share(runs ? CLONE_FS | CLONE_FILES : CLONE_FS) == 0) {
                spread_go(k / 2 + 1);
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
            EXPECT(read(ran[0], &byte, 1) == 1 && write(go[1], "g", 1) == 1, "the child ends: %s", strerror(errno));
        else
            EXPECT(waitpid(middle, &status, 0) == middle && status == 0, "status %x", (unsigned)status);
        EXPECT(poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, END_MS) == 1 && read(ends[0], &byte, 1) == 0,
               "kernel %d: the pipe ends%s", k / 2, runs ? " after exec" : "");
        if (runs)
            EXPECT(kill(middle, SIGKILL) == 0 && waitpid(middle, &status, 0) == middle, "its end: %s", strerror(errno));
        for (int i = 0; i < 2; i++) {
            close(go[i]);
            close(ran[i]);
        }
        close(ends[0]);
    }
    spread_go(0);
}

static bool is_folder(const char *wanted)
{
    char folder[256] = "";

    return getcwd(folder, sizeof(folder)) != NULL && strcmp(folder, wanted) == 0;
}

static void test_folder(void)
{
    for (int k = 0; k < spread_count(); k++) {
        pid_t child;

        spread_go(k);
        EXPECT(chdir("/") == 0, "chdir: %s", strerror(errno));
        child = share(CLONE_FS);
        if (child == 0) {
            spread_go(k + 1);
            close(0);
            _exit(chdir("/proc") == 0 ? 0 : 1);
        }
        EXPECT(status_of(child) == 0 && is_folder("/proc"), "kernel %d: the folder is shared", k);
        EXPECT(fcntl(0, F_GETFD) == 0, "descriptors are not");
        child = share(CLONE_FILES);
        if (child == 0)
            _exit(is_folder("/proc") && chdir("/") == 0 ? 0 : 1);
        EXPECT(status_of(child) == 0 && is_folder("/proc"), "kernel %d: now it is not", k);
    }
    EXPECT(chdir("/") == 0, "chdir: %s", strerror(errno));
    spread_go(0);
}

/* exec has descriptors of its own: what it closes stays open here. */
static void test_exec(const char *self)
{
    char number[16];

    for (int k = 0; k < spread_count(); k++) {
        int marked = fcntl(0, F_DUPFD_CLOEXEC, 0);
        pid_t child;

        snprintf(number, sizeof(number), "%d", marked);
        spread_go(k);
        child = share(CLONE_FILES);
        if (child == 0) {
            spread_go(k + 1);
            execl(self, self, "closed", number, (char *)NULL);
            _exit(98);
        }
        EXPECT(status_of(child) == 0, "kernel %d: the program ran", k);
        EXPECT(fcntl(marked, F_GETFD) == FD_CLOEXEC, "kernel %d: %d", k, fcntl(marked, F_GETFD));
        close(marked);
    }
    spread_go(0);
}

static void test_program(void)
{
    test_exec(program);
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"descriptors are shared, on every kernel", test_files},
        {"they stay until the last process has ended", test_survivor},
        {"they are closed with the last process that has them", test_end},
        {"the working directory is shared, or not", test_folder},
        {"a program that begins has its own", test_program},
    };

    if (argc == 2) {
        int fd = 0;

        if (sscanf(argv[1], "%d", &fd) == 1 && write(fd, "r", 1) == 1)
            pause();
        return 1;
    }
    if (argc == 3) {
        int fd = 0;

        return sscanf(argv[2], "%d", &fd) == 1 && fcntl(fd, F_GETFD) == -1 ? 0 : 1;
    }
    program = "/proc/self/exe";
    spread_begin();
    return tap_run(tests, TAP_COUNT(tests));
}
