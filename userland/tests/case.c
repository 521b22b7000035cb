/* Tests of processes, threads and signals. userland/tests/case.h is the contract.
 *
 * What a case's processes tell the supervisor lies in one shared page. Where fork or sharing is missing the supervisor
 * goes by the exit status of the case's process alone. */
#include "userland/tests/case.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libc/kettle.h"

#define EXPLAINED_MAX 12 /* failures of one case that are printed */
#define TEXT_SIZE 160

struct case_report {
    atomic_uint checks;
    atomic_uint failures;
    char awaited[TEXT_SIZE]; /* what the last waiter waits for */
    char first[TEXT_SIZE];   /* the first failure */
    char skip[TEXT_SIZE];
};

int64_t case_extra;
static struct case_report *report;
static const struct case_set *running;

/* Writes a line of its own with one call, so that lines of several processes do not mix. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    va_list arguments;
    char line[700];
    int length;

    va_start(arguments, format);
    length = vsnprintf(line, sizeof(line) - 1, format, arguments);
    va_end(arguments);
    if (length > (int)sizeof(line) - 2)
        length = (int)sizeof(line) - 2;
    line[length++] = '\n';
    /* What cannot be said is not said. */
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        return;
}

/* --- what a case calls --- */

int64_t case_time(void)
{
    struct timespec time = {0};

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

const char *case_error(int error)
{
    static const struct {
        int error;
        const char *name;
    } names[] = {
        {EPERM, "EPERM"},
        {ENOENT, "ENOENT"},
        {ESRCH, "ESRCH"},
        {EINTR, "EINTR"},
        {EIO, "EIO"},
        {E2BIG, "E2BIG"},
        {ENOEXEC, "ENOEXEC"},
        {EBADF, "EBADF"},
        {ECHILD, "ECHILD"},
        {EAGAIN, "EAGAIN"},
        {ENOMEM, "ENOMEM"},
        {EACCES, "EACCES"},
        {EFAULT, "EFAULT"},
        {EBUSY, "EBUSY"},
        {EEXIST, "EEXIST"},
        {ENODEV, "ENODEV"},
        {ENOTDIR, "ENOTDIR"},
        {EISDIR, "EISDIR"},
        {EINVAL, "EINVAL"},
        {EPIPE, "EPIPE"},
        {ERANGE, "ERANGE"},
        {ENOSYS, "ENOSYS"},
        {ENAMETOOLONG, "ENAMETOOLONG"},
        {ETIMEDOUT, "ETIMEDOUT"},
        {EROFS, "EROFS"},
        {EDEADLK, "EDEADLK"},
        {EOPNOTSUPP, "EOPNOTSUPP"},
    };

    for (size_t i = 0; i < CASE_COUNT(names); i++) {
        if (names[i].error == error)
            return names[i].name;
    }
    return strerror(error);
}

void case_counted(void)
{
    atomic_fetch_add_explicit(&report->checks, 1, memory_order_relaxed);
}

/* Writes "# FILE:LINE: on kernel K: TEXT" and keeps TEXT when it is the case's first failure. */
static void explain(const char *file, int line, const char *text)
{
    unsigned before = atomic_fetch_add(&report->failures, 1);
    const char *base = strrchr(file, '/');

    if (before == 0)
        snprintf(report->first, TEXT_SIZE, "%s", text);
    if (before < EXPLAINED_MAX)
        say("# %s:%d: process %d on kernel %d: %s", base == NULL ? file : base + 1, line, (int)getpid(),
            kettle_kernel(), text);
}

bool case_broken(const char *file, int line, const char *condition, const char *format, ...)
{
    int error = errno;
    va_list arguments;
    char text[400];
    int length = snprintf(text, sizeof(text), "%.150s: ", condition);

    va_start(arguments, format);
    vsnprintf(text + length, sizeof(text) - (size_t)length, format, arguments);
    va_end(arguments);
    explain(file, line, text);
    errno = error;
    return false;
}

long case_call(long result, const char *file, int line, const char *call)
{
    char text[TEXT_SIZE];

    case_counted();
    if (result != -1)
        return result;
    snprintf(text, sizeof(text), "%.120s: %s", call, case_error(errno));
    explain(file, line, text);
    case_stop();
}

bool case_fails(long result, int error, const char *file, int line, const char *call)
{
    int found = errno;
    char text[TEXT_SIZE];

    case_counted();
    if (result == -1 && found == error)
        return true;
    if (result == -1)
        snprintf(text, sizeof(text), "%.110s: %s, not %s", call, case_error(found), case_error(error));
    else
        snprintf(text, sizeof(text), "%.110s: returns %ld, not %s", call, result, case_error(error));
    explain(file, line, text);
    return false;
}

void case_stop(void)
{
    _exit(CASE_FAILED);
}

void case_skip(const char *reason)
{
    snprintf(report->skip, TEXT_SIZE, "%s", reason);
    _exit(atomic_load(&report->failures) == 0 ? CASE_SKIPPED : CASE_FAILED);
}

void case_note(const char *format, ...)
{
    va_list arguments;
    char text[400];

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    say("# %s", text);
}

void case_await(const char *what)
{
    snprintf(report->awaited, TEXT_SIZE, "%s", what == NULL ? "" : what);
}

void *case_share(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    MUST(memory != MAP_FAILED, "mmap of shared memory: %s", case_error(errno));
    return memory;
}

int case_wait(pid_t pid)
{
    int status = -1;
    pid_t waited;
    char what[40];

    snprintf(what, sizeof(what), "the end of child %d", (int)pid);
    case_await(what);
    do {
        waited = waitpid(pid, &status, 0);
    } while (waited == -1 && errno == EINTR);
    MUST(waited == pid, "waitpid(%d) returns %d: %s", (int)pid, (int)waited, case_error(errno));
    case_await(NULL);
    return status;
}

bool case_ends(pid_t child, int number, bool signal, const char *file, int line)
{
    int status = case_wait(child);
    char text[TEXT_SIZE];

    case_counted();
    if (signal ? WIFSIGNALED(status) && WTERMSIG(status) == number : WIFEXITED(status) && WEXITSTATUS(status) == number)
        return true;
    snprintf(text, sizeof(text), "child %d %s %d, should have %s %d", (int)child,
             WIFSIGNALED(status) ? "died of signal" : "exited with",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), signal ? "died of signal" : "exited with",
             number);
    explain(file, line, text);
    return false;
}

const char *case_program(void)
{
    const char *path = (const char *)getauxval(AT_EXECFN);

    return path == NULL ? "/proc/self/exe" : path;
}

void case_exec(const char *child, const char *first, const char *second)
{
    char name[40];
    char *arguments[] = {(char *)case_program(), name, (char *)first, (char *)second, NULL};

    snprintf(name, sizeof(name), "@%s", child);
    CALL(execve(case_program(), arguments, environ));
    case_stop();
}

/* --- the supervisor --- */

static int child_run(int argc, char **argv)
{
    for (size_t i = 0; i < running->child_count; i++) {
        if (strcmp(running->children[i].name, argv[1] + 1) == 0)
            return running->children[i].run(argc, argv);
    }
    return 2;
}

/* The calling process is the case. */
static _Noreturn void case_become(const struct case_entry *entry)
{
    unsigned failures;

    /* Where it is missing the cases that need it fail by themselves. */
    setpgid(0, 0);
    entry->run();
    failures = atomic_load(&report->failures);
    if (failures == 0) {
        errno = 0;
        /* A kernel that does not know the question is no fault of this case. */
        CHECK(waitpid(-1, NULL, WNOHANG | __WALL) == -1 && (errno == ECHILD || errno == ENOSYS || errno == EINVAL),
              "the case leaves a child behind: %s", case_error(errno));
    }
    _exit(atomic_load(&report->failures) == 0 ? 0 : CASE_FAILED);
}

static pid_t case_start(const struct case_entry *entry)
{
    pid_t child = fork();
    char *arguments[] = {(char *)case_program(), "@case", (char *)entry->name, NULL};

    if (child == 0)
        case_become(entry);
    if (child == -1 && errno == ENOSYS)
        child = kettle_spawn(kettle_kernel(), case_program(), arguments, environ, NULL);
    return child;
}

/* Waits for the case's process and puts what was wrong with its end into WRONG, which else stays empty. */
static int case_supervise(pid_t child, char wrong[TEXT_SIZE])
{
    static const struct timespec step = {0, 2000000};
    int64_t begin = case_time();
    int status = -1;
    pid_t waited;

    while ((waited = waitpid(child, &status, WNOHANG)) == 0) {
        if (case_time() - begin > 2 * CASE_PATIENCE + case_extra) {
            snprintf(wrong, TEXT_SIZE, "takes too long; waits for %.100s",
                     report->awaited[0] == '\0' ? "nothing it names" : report->awaited);
            if (kill(-child, SIGKILL) != 0)
                kill(child, SIGKILL);
            waited = waitpid(child, &status, 0);
            break;
        }
        nanosleep(&step, NULL);
    }
    if (waited != child)
        snprintf(wrong, TEXT_SIZE, "waitpid: %s", case_error(errno));
    else if (wrong[0] != '\0')
        return status;
    else if (WIFSIGNALED(status))
        snprintf(wrong, TEXT_SIZE, "the case died of signal %d", WTERMSIG(status));
    else if (atomic_load(&report->failures) > 0)
        snprintf(wrong, TEXT_SIZE, "%s", report->first);
    else if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != CASE_SKIPPED)
        snprintf(wrong, TEXT_SIZE, "the case exited with %d", WEXITSTATUS(status));
    return status;
}

static bool case_report_on(size_t number, const struct case_entry *entry)
{
    char wrong[TEXT_SIZE] = "";
    pid_t child;
    int status = -1;
    unsigned failures;

    report->awaited[0] = report->first[0] = report->skip[0] = '\0';
    atomic_store(&report->failures, 0);
    child = case_start(entry);
    if (child <= 0)
        snprintf(wrong, sizeof(wrong), "the case's process: %s", case_error(errno));
    else
        status = case_supervise(child, wrong);
    /* What a case that ended early has left in its group must not be heard in the next one. */
    if (wrong[0] != '\0' && child > 0)
        kill(-child, SIGKILL);
    failures = atomic_load(&report->failures);
    if (failures > EXPLAINED_MAX)
        case_note("%u failures in all", failures);
    if (wrong[0] != '\0')
        say("not ok %zu - %s: %s: %s", number, entry->name, entry->promise, wrong);
    else if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == CASE_SKIPPED)
        say("ok %zu - %s: %s # SKIP %s", number, entry->name, entry->promise, report->skip);
    else
        say("ok %zu - %s: %s", number, entry->name, entry->promise);
    return wrong[0] == '\0';
}

static const struct case_entry *case_find(const char *name)
{
    for (size_t i = 0; i < running->count; i++) {
        if (strcmp(running->cases[i].name, name) == 0)
            return &running->cases[i];
    }
    return NULL;
}

static int usage(void)
{
    printf("usage: %s [CASE...]\n\nRuns its cases, or those named; writes TAP.\n\n", running->program);
    for (size_t i = 0; i < running->count; i++)
        printf("  %-14s %s\n", running->cases[i].name, running->cases[i].promise);
    return 2;
}

int case_main(int argc, char **argv, const struct case_set *set)
{
    const struct case_entry *chosen[CASE_MAX];
    size_t count = 0;
    size_t broken = 0;

    running = set;
    report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (report == MAP_FAILED) {
        perror("case: mmap");
        return 1;
    }
    if (argc > 2 && strcmp(argv[1], "@case") == 0 && case_find(argv[2]) != NULL)
        case_become(case_find(argv[2]));
    if (argc > 1 && argv[1][0] == '@')
        return child_run(argc, argv);
    if (argc - 1 > CASE_MAX || set->count > CASE_MAX)
        return usage();
    for (int i = 1; i < argc; i++) {
        chosen[count] = case_find(argv[i]);
        if (chosen[count++] == NULL)
            return usage() & (strcmp(argv[i], "--help") == 0 ? 0 : 2);
    }
    for (size_t i = 0; argc <= 1 && i < set->count; i++)
        chosen[count++] = &set->cases[i];
    say("1..%zu", count);
    for (size_t i = 0; i < count; i++)
        broken += !case_report_on(i + 1, chosen[i]);
    case_note("%zu of %zu cases kept their promise, %u checks", count - broken, count, atomic_load(&report->checks));
    return broken == 0 ? 0 : 1;
}
