/* test-refused-programs [alloc=N] [ms=M] [PROGRAM[,PARAMETER]...]: tests of other rooms run as a user's programs while
 * one of N allocations of the kernels is refused (boot option alloc): each test of a program for M milliseconds, or the
 * program with the parameter, again and again. What they are told is their own affair, and most of them give up: the
 * machine lives on, root works, all that they had comes back, and the audit finds nothing. So allocations are reached
 * that the calls of test-fuzz-calls, which follow no plan, do not get to. */
#include <dirent.h>
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
    "test-splice",
    "test-zero-copy",
    "test-sysv",
    "test-shm",
    "test-mqueue",
    "test-epoll",
    "test-eventfd",
    "test-epoll-remote",
    "test-inotify",
    "test-file-locks",
    "test-tree",
    "test-file-lock-wait",
    "test-xattr",
    "test-filemap",
    "test-content",
    "test-remap",
    "test-move",
    "test-file-nodes",
    "test-mempolicy",
    "test-pi",
    "test-sockets",
    "test-proc",
    "test-clone-files",
    "test-pty",
    "test-exec",
    "test-pipes",
    "test-descriptors",
    "test-block",
    "test-lazy",
    "test-replicate",
    "test-many-areas",
    "test-many-children,200",
    "test-futex",
    "test-pthreads",
    "test-signals",
    "test-fork",
    "test-vfork",
    "test-exec-change",
    "test-migrate",
    "test-moved",
    "test-timers",
    "test-timerfd",
    "test-signalfd",
    "test-stop-sets",
    "test-limits",
    "test-accounting",
    "test-pidfd",
    "test-users",
    "test-subreaper",
    "test-libc",
    "test-memory",
    "test-fork-memory",
    "test-map",
    "test-huge",
    "test-resident",
    "test-memfd",
    "test-copy-races",
    "test-where",
    "test-names",
    "test-partial-io",
    "test-descriptor-cache",
    "test-kept-reads",
    "test-socket-race",
    "test-newcomer",
    "test-directory",
    "test-lease",
    "test-share,/tmp",
    "test-refused-programs,@proc",
    "test-audit",
    "test-refused",
};

#define TESTS_MOST 64 /* of a program; others are not run */
#define NAME_MOST 64

static long rate = 60, milliseconds = 100;

static void refuse(long one_of)
{
    char words[32];

    snprintf(words, sizeof(words), "alloc=%ld", one_of);
    MUST(kettle_control(words));
}

/* In a child: becomes PROGRAM, with PARAMETER unless that is "", as a user's process in a session of its own that
 * writes to OUTPUT. */
static _Noreturn void be_program(const char *program, const char *parameter, int output)
{
    char path[2 * NAME_MOST];
    int null = open("/dev/null", O_RDWR);

    dup2(null, 0);
    dup2(output >= 0 ? output : null, 1);
    dup2(null, 2);
    setsid();
    hog_become_user();
    snprintf(path, sizeof(path), "/bin/%s", program);
    execl(path, path, *parameter != '\0' ? parameter : NULL, (char *)NULL);
    _exit(127);
}

/* Returns how many tests PROGRAM has, as it says itself, with their NAMES. Nothing is refused now. */
static int tests_of(const char *program, char names[TESTS_MOST][NAME_MOST])
{
    char line[256];
    int ends[2], count = 0;
    FILE *said;
    pid_t child;

    MUST(pipe2(ends, O_CLOEXEC));
    child = FORK();
    if (child == 0)
        be_program(program, "--help", ends[1]);
    close(ends[1]);
    said = fdopen(ends[0], "r");
    REQUIRE(said != NULL, "%s", tap_error(errno));
    while (fgets(line, sizeof(line), said) != NULL) {
        if (count < TESTS_MOST && strncmp(line, "  ", 2) == 0 && sscanf(line, "%63s", names[count]) == 1)
            count++;
    }
    fclose(said);
    MUST(waitpid(child, NULL, 0));
    return count;
}

/* Returns how often PROGRAM has begun with PARAMETER. */
static long run_test(const char *program, const char *parameter)
{
    int64_t until = tap_time() + milliseconds * 1000000l;
    long begun = 0, missing = 0;

    refuse(rate);
    while (tap_time() < until) {
        int64_t begin = tap_time();
        int status = 0;
        pid_t child = fork(), ended = 0;

        if (child == 0)
            be_program(program, parameter, -1);
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
    REQUIRE(hog_end_user(true), "%s %s: a killed process does not end", program, parameter);
    refuse(0);
    CHECK(hog_root_works(), "%s %s: root is refused: %s: %s", program, parameter, hog_refused, tap_error(errno));
    return begun - missing; /* an exec may be refused now and then */
}

static void run(const char *words)
{
    static char names[TESTS_MOST][NAME_MOST];
    char program[2 * NAME_MOST], *comma;
    int count = 0;
    long begun = 0;

    snprintf(program, sizeof(program), "%s", words);
    comma = strchr(program, ',');
    if (comma != NULL) {
        *comma = '\0';
        begun = run_test(program, comma + 1);
    } else {
        count = tests_of(program, names);
        if (count == 0)
            names[count++][0] = '\0'; /* one without names: all of it */
    }
    for (int i = 0; i < count; i++) {
        tap_note("%s %s", program, names[i]);
        begun += run_test(program, names[i]);
    }
    CHECK(begun > 0, "%s: the program has never begun", program);
    tap_note("%s: begun %ld times", words, begun);
}

/* Reads all files and links of FOLDER, of /proc, and DEPTH levels below, as far as a user may; follows no link. */
static void read_folder(const char *folder, int depth)
{
    DIR *list = opendir(folder);
    struct dirent *entry;
    char path[512], bytes[4096];

    while (list != NULL && (entry = readdir(list)) != NULL) {
        int fd;

        if (entry->d_name[0] == '.' ||
            (unsigned)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >= sizeof(path))
            continue;
        if (readlink(path, bytes, sizeof(bytes)) >= 0)
            continue;
        fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0) {
            while (strcmp(entry->d_name, "mem") != 0 && read(fd, bytes, sizeof(bytes)) > 0)
                continue;
            close(fd);
        }
        if (depth > 0)
            read_folder(path, depth - 1);
    }
    if (list != NULL)
        closedir(list);
}

static int read_proc(int argc, char **argv)
{
    (void)argc, (void)argv;
    read_folder("/proc/self", 4); /* a process that is refused memory does not get through all of the rest */
    read_folder("/proc/kettle", 4);
    read_folder("/proc/sysvipc", 4);
    read_folder("/proc/sys", 4);
    read_folder("/proc", 4);
    return 0;
}

static const struct tap_child children[] = {{"proc", read_proc}};

static int program_count;
static char **programs;

static void test_programs(void)
{
    static char report[16384];
    int violations;

    MUST(prctl(PR_SET_CHILD_SUBREAPER, 1));            /* hog_end_user waits for orphans */
    x86_syscall1(KETTLE_CALL_MIGRATE, getpid() >> 16); /* home, where root's calls are spared: an id begins with it */
    CHECK(mkdir(DIRECTORY, 0777) == 0 || errno == EEXIST, "%s", tap_error(errno));
    MUST(chmod(DIRECTORY, 0777));
    MUST(chdir(DIRECTORY));
    for (int i = 0; i < program_count; i++)
        run(programs[i]);
    violations = kettle_audit(KETTLE_AUDIT_MACHINE, report, sizeof(report));
    CHECK(violations == 0, "the audit: %d: %s", violations, violations < 0 ? tap_error(errno) : report);
}

static const struct tap_test tests[] = {
    {"programs", "the machine lives on whatever a user's programs are refused", test_programs},
};

int main(int argc, char **argv)
{
    bool is_child = argc > 1 && argv[1][0] == '@';
    const char *value = tap_take_value(&argc, &argv, "alloc");

    rate = value != NULL ? atol(value) : rate;
    value = tap_take_value(&argc, &argv, "ms");
    milliseconds = value != NULL ? atol(value) : milliseconds;
    programs = argc > 1 ? argv + 1 : (char **)(uintptr_t)usual;
    program_count = argc > 1 ? argc - 1 : (int)TAP_COUNT(usual);
    return tap_main(
        is_child ? argc : 1, argv,
        &(struct tap_program){.tests = tests,
                              .count = TAP_COUNT(tests),
                              .children = children,
                              .child_count = TAP_COUNT(children),
                              .parameters = "[alloc N] [ms M] [PROGRAM[,PARAMETER]...]",
                              .extra = program_count * (TESTS_MOST * milliseconds * 1000000l + TAP_PATIENCE)});
}
