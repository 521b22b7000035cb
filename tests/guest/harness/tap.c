/* Chooses and runs tests, and reports what came of them. tests/guest/harness/tap.h is the contract.
 *
 * Tests that run apart are waited for by this process, which ends those that take too long. Where tests run in this
 * process, a timer's signal does that: WATCH, which no test may use. A thread that blocks it leaves it to another; when
 * all do, the limit of the whole machine's run is left. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/guest/harness/tap_internal.h"

#define SECOND INT64_C(1000000000)
#define WATCH SIGRTMAX

static const struct tap_program *program;

/* The test that runs in this process, if any. */
static struct {
    pid_t process; /* this one, and none of its children */
    size_t number;
    const struct tap_test *test;
    bool said; /* its line has been printed: the program is about to end */
} here;

/* Prints the line of a test; WRONG is what was wrong with it, or "". */
static void result_say(size_t number, const struct tap_test *test, const char *wrong)
{
    if (wrong[0] != '\0')
        tap_say("not ok %zu - %s: %s: %s", number, test->name, test->promise, wrong);
    else if (tap_report->skip[0] != '\0')
        tap_say("ok %zu - %s: %s # SKIP %s", number, test->name, test->promise, tap_report->skip);
    else
        tap_say("ok %zu - %s: %s", number, test->name, test->promise);
}

static void late_say(char wrong[TAP_TEXT])
{
    snprintf(wrong, TAP_TEXT, "takes too long; waits for %.100s",
             tap_report->awaited[0] == '\0' ? "nothing it names" : tap_report->awaited);
}

/* --- in this process --- */

void tap_result_of_end(void)
{
    if (here.test == NULL || here.process != getpid() || here.said)
        return;
    here.said = true;
    result_say(here.number, here.test, tap_report->first[0] == '\0' ? "it ends the program" : tap_report->first);
}

/* What the test waits for is told behind its result, as the telling may hang as the test does. Who is late with that
 * has no more time. */
static void on_late(int signal)
{
    char wrong[TAP_TEXT];

    (void)signal;
    if (here.test == NULL || here.process != getpid())
        return;
    if (!here.said) {
        here.said = true;
        late_say(wrong);
        result_say(here.number, here.test, wrong);
        tap_say_waits();
    }
    _exit(TAP_FAILED);
}

static timer_t watch;

bool tap_watch(void)
{
    static bool made;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = WATCH};
    struct sigaction action = {.sa_handler = on_late, .sa_flags = SA_RESTART};
    int64_t limit = TAP_LIMIT + (program != NULL ? program->extra : 0);
    struct itimerspec time = {.it_value = {limit / SECOND, limit % SECOND}};

    if (!made)
        made = sigaction(WATCH, &action, NULL) == 0 && timer_create(CLOCK_MONOTONIC, &event, &watch) == 0;
    return made && timer_settime(watch, 0, &time, NULL) == 0;
}

static bool run_here(size_t number, const struct tap_test *test)
{
    here.process = getpid();
    here.number = number;
    here.test = test;
    if (!tap_watch())
        tap_note("no timer for the limit of a test: %s", tap_error(errno));
    test->run();
    here.test = NULL;
    /* What the test has printed by itself comes before its result. */
    fflush(stdout);
    tap_report_rest();
    result_say(number, test, tap_report->first);
    return tap_report->first[0] == '\0';
}

/* --- in a process of its own --- */

static _Noreturn void become(const struct tap_test *test)
{
    setpgid(0, 0);
    test->run();
    fflush(stdout);
    if (atomic_load(&tap_report->failures) == 0) {
        bool childless = waitpid(-1, NULL, WNOHANG | __WALL) == -1 && errno == ECHILD;

        CHECK(childless, "the test leaves a child behind");
    }
    _exit(atomic_load(&tap_report->failures) == 0 ? 0 : TAP_FAILED);
}

/* Waits for the test's process and puts what was wrong with its end into WRONG, which else stays empty. False: it has
 * not ended and is late. */
static bool supervise(pid_t child, char wrong[TAP_TEXT])
{
    static const struct timespec step = {0, 2000000};
    int64_t begin = tap_time();
    int status = -1;
    pid_t waited;

    while ((waited = waitpid(child, &status, WNOHANG)) == 0) {
        if (tap_time() - begin > TAP_LIMIT + program->extra) {
            late_say(wrong);
            return false;
        }
        nanosleep(&step, NULL);
    }
    if (waited != child)
        snprintf(wrong, TAP_TEXT, "waitpid: %s", tap_error(errno));
    else if (WIFSIGNALED(status))
        snprintf(wrong, TAP_TEXT, "the test died of signal %d", WTERMSIG(status));
    else if (atomic_load(&tap_report->failures) > 0)
        snprintf(wrong, TAP_TEXT, "%s", tap_report->first);
    else if (WEXITSTATUS(status) != 0)
        snprintf(wrong, TAP_TEXT, "the test exited with %d", WEXITSTATUS(status));
    return true;
}

/* Tells what the test waits for, as it is now, and ends it. */
static void end_late(pid_t child)
{
    tap_say_waits();
    if (kill(-child, SIGKILL) != 0)
        kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static bool run_apart(size_t number, const struct tap_test *test)
{
    char wrong[TAP_TEXT] = "";
    bool ended = true;
    pid_t child = fork();

    if (child == 0)
        become(test);
    if (child == -1)
        snprintf(wrong, sizeof(wrong), "the test's process: %s", tap_error(errno));
    else
        ended = supervise(child, wrong);
    /* What a test that ended early has left in its group must not be heard in the next one. */
    if (ended && wrong[0] != '\0' && child > 0)
        kill(-child, SIGKILL);
    tap_report_rest();
    result_say(number, test, wrong);
    if (!ended)
        end_late(child);
    return wrong[0] == '\0';
}

/* --- the program --- */

static const struct tap_test *find(const char *name)
{
    for (size_t i = 0; i < program->count; i++) {
        if (strcmp(program->tests[i].name, name) == 0)
            return &program->tests[i];
    }
    return NULL;
}

static int run_child(int argc, char **argv)
{
    for (size_t i = 0; i < program->child_count; i++) {
        if (strcmp(program->children[i].name, argv[1] + 1) == 0)
            return program->children[i].run(argc, argv);
    }
    return 2;
}

static int usage(const char *path, int status)
{
    FILE *out = status == 0 ? stdout : stderr;
    const char *base = strrchr(path, '/');

    fprintf(out, "usage: %s%s%s [TEST...]\n\nRuns its tests, or those named; writes TAP.\n\n",
            base == NULL ? path : base + 1, program->parameters != NULL ? " " : "",
            program->parameters != NULL ? program->parameters : "");
    for (size_t i = 0; i < program->count; i++)
        fprintf(out, "  %-18s %s\n", program->tests[i].name, program->tests[i].promise);
    return status;
}

int tap_main(int argc, char **argv, const struct tap_program *described)
{
    bool all = argc <= 1;
    size_t count = all ? described->count : (size_t)argc - 1;
    size_t broken = 0;

    program = described;
    if (argc > 1 && argv[1][0] == '@')
        return run_child(argc, argv);
    for (size_t i = 0; !all && i < count; i++) {
        if (find(argv[i + 1]) == NULL)
            return usage(argv[0], strcmp(argv[i + 1], "--help") == 0 ? 0 : 2);
    }
    if (!tap_report_make()) {
        perror("the page of the harness");
        return 1;
    }
    fflush(stdout);
    tap_say("1..%zu", count);
    for (size_t i = 0; i < count; i++) {
        const struct tap_test *test = all ? &program->tests[i] : find(argv[i + 1]);

        tap_report_clear();
        broken += !(program->apart ? run_apart : run_here)(i + 1, test);
    }
    return broken == 0 ? 0 : 1;
}

int tap_run(int argc, char **argv, const struct tap_test *tests, size_t count)
{
    return tap_main(argc, argv, &(struct tap_program){.tests = tests, .count = count});
}

static void take(int *argc, char ***argv)
{
    (*argv)[1] = (*argv)[0];
    ++*argv;
    --*argc;
}

bool tap_take(int *argc, char ***argv, const char *word)
{
    if (*argc < 2 || strcmp((*argv)[1], word) != 0)
        return false;
    take(argc, argv);
    return true;
}

const char *tap_take_value(int *argc, char ***argv, const char *name)
{
    const char *value;

    if (*argc < 3 || strcmp((*argv)[1], name) != 0)
        return NULL;
    value = (*argv)[2];
    take(argc, argv);
    take(argc, argv);
    return value;
}

bool tap_take_number(int *argc, char ***argv, long *number)
{
    char *end;
    long value;

    if (*argc < 2)
        return false;
    value = strtol((*argv)[1], &end, 10);
    if (end == (*argv)[1] || *end != '\0')
        return false;
    *number = value;
    take(argc, argv);
    return true;
}
