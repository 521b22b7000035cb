/* test-refused-programs [alloc=N] [ms=M] [PROGRAM...]: tests of other rooms run as a user's programs while one of N
 * allocations of the kernels is refused (boot option alloc), each for M milliseconds, again and again. What they are
 * told is their own affair, and most of them give up: the machine lives on, root works, all that they had comes back,
 * and the audit finds nothing. So allocations are reached that the calls of test-fuzz-calls, which follow no plan, do
 * not get to. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/abi/kettle.h"
#include "libc/kettle.h"
#include "tests/guest/exhaust/hog.h"
#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "userland/x86.h"

#define DIRECTORY "/tmp/refused"
#define SHORTEST 10000000l /* ns: a program that ends sooner is not begun again at once */

/* Where each of these gets to, others do not. */
static const char *const usual[] = {
    "test-splice",  "test-zero-copy",  "test-sysv",        "test-shm",
    "test-mqueue",  "test-epoll",      "test-eventfd",     "test-epoll-remote",
    "test-inotify", "test-file-locks", "test-tree",        "test-file-lock-wait",
    "test-xattr",   "test-filemap",    "test-content",     "test-remap",
    "test-move",    "test-file-nodes", "test-mempolicy",   "test-pi",
    "test-sockets", "test-proc",       "test-clone-files", "test-pty",
    "test-exec",    "test-pipes",      "test-descriptors", "test-block",
    "test-lazy",    "test-replicate",  "test-many-areas",  "test-many-children 200",
};

static long rate = 60, milliseconds = 1000;

static void refuse(long one_of)
{
    char words[32];

    snprintf(words, sizeof(words), "alloc=%ld", one_of);
    MUST(kettle_control(words));
}

/* In a child: becomes PROGRAM, with a parameter perhaps, as a user's process in a session of its own. */
static _Noreturn void be_program(const char *program)
{
    char path[128], *parameter;
    int null = open("/dev/null", O_RDWR);

    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    setsid();
    hog_become_user();
    snprintf(path, sizeof(path), "/bin/%s", program);
    parameter = strchr(path, ' ');
    if (parameter != NULL)
        *parameter++ = '\0';
    execl(path, path, parameter, (char *)NULL);
    _exit(127);
}

/* Returns how often PROGRAM has begun. */
static long run(const char *program)
{
    int64_t until = tap_time() + milliseconds * 1000000l;
    long begun = 0, missing = 0;

    refuse(rate);
    while (tap_time() < until) {
        int64_t begin = tap_time();
        int status = 0;
        pid_t child = fork(), ended = 0;

        if (child == 0)
            be_program(program);
        begun += child > 0;
        while (child > 0 && tap_time() < until && ended != child) {
            ended = waitpid(-1, &status, WNOHANG);
            if (ended == 0)
                usleep(1000);
        }
        missing += ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 127;
        if (tap_time() - begin < SHORTEST)
            usleep(1000);
    }
    REQUIRE(hog_end_user(true), "%s: a killed process does not end", program);
    refuse(0);
    CHECK(hog_root_works(), "%s: root is refused: %s: %s", program, hog_refused, tap_error(errno));
    CHECK(missing < begun, "%s: the program has never begun", program); /* an exec may be refused now and then */
    return begun;
}

static int program_count;
static char **programs;

static void test_programs(void)
{
    static char report[16384];
    int violations;

    MUST(prctl(PR_SET_CHILD_SUBREAPER, 1));            /* hog_end_user waits for orphans */
    x86_syscall1(KETTLE_CALL_MIGRATE, getpid() >> 16); /* home, where root's calls are spared: an id begins with it */
    MUST(mkdir(DIRECTORY, 0777));
    MUST(chmod(DIRECTORY, 0777));
    MUST(chdir(DIRECTORY));
    for (int i = 0; i < program_count; i++)
        tap_note("%s: begun %ld times", programs[i], run(programs[i]));
    violations = kettle_audit(KETTLE_AUDIT_MACHINE, report, sizeof(report));
    CHECK(violations == 0, "the audit: %d: %s", violations, violations < 0 ? tap_error(errno) : report);
}

static const struct tap_test tests[] = {
    {"programs", "the machine lives on whatever a user's programs are refused", test_programs},
};

int main(int argc, char **argv)
{
    const char *value = tap_take_value(&argc, &argv, "alloc");

    rate = value != NULL ? atol(value) : rate;
    value = tap_take_value(&argc, &argv, "ms");
    milliseconds = value != NULL ? atol(value) : milliseconds;
    programs = argc > 1 ? argv + 1 : (char **)(uintptr_t)usual;
    program_count = argc > 1 ? argc - 1 : (int)TAP_COUNT(usual);
    return tap_main(1, argv,
                    &(struct tap_program){.tests = tests,
                                          .count = TAP_COUNT(tests),
                                          .parameters = "[alloc N] [ms M] [PROGRAM...]",
                                          .extra = program_count * (milliseconds * 1000000l + TAP_PATIENCE)});
}
