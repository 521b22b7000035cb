/* Tests of processes, threads and signals: a table of cases, each run in a process of its own, reported as TAP.
 *
 *     static void case_sum(void) { CHECK(1 + 1 == 2, "the sum is %d", 1 + 1); }
 *     static const struct case_entry cases[] = {{"sum", "numbers add up", case_sum}};
 *     static const struct case_set set = {"test-sum", cases, CASE_COUNT(cases), NULL, 0};
 *     int main(int argc, char **argv) { return case_main(argc, argv, &set); }
 *
 * A case's process leads a process group of its own. A case that crashes or takes too long is "not ok" with the name of
 * what it waited for, and the next one runs. Where there is no fork, kettle_spawn makes the process; then what happens
 * in the case's children is told in comment lines and by their exit statuses only.
 *
 * Unlike tap.h's, these checks may be made by any thread of any process a case has made, also in a signal handler that
 * interrupted no other check. A check that does not hold writes one line at once, past stdio. */
#ifndef USERLAND_TESTS_CASE_H
#define USERLAND_TESTS_CASE_H

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CASE_COUNT(table) (sizeof(table) / sizeof((table)[0]))

struct case_entry {
    const char *name;    /* one word, to choose it by */
    const char *promise; /* one line in the present tense: what holds */
    void (*run)(void);
};

/* What the program is when it is executed with "@NAME" for its first argument. Returns its exit status. */
struct case_child {
    const char *name;
    int (*run)(int argc, char **argv);
};

struct case_set {
    const char *program;
    const struct case_entry *cases;
    size_t count;
    const struct case_child *children;
    size_t child_count;
};

/* Runs the cases named by the arguments, or all, and returns main's exit status: 0 when every promise was kept or
 * skipped, 1 when not, 2 for arguments that make no sense. */
int case_main(int argc, char **argv, const struct case_set *set);

/* Notes that a condition should hold, explained by a printf format and its arguments when it does not. Yields the
 * condition. The arguments are evaluated after the condition and only when it does not hold. */
#define CHECK(condition, ...)                                                                                          \
    case_result((case_counted(), (condition)) || case_broken(__FILE__, __LINE__, #condition, __VA_ARGS__))

/* As CHECK, and ends the calling process when the condition does not hold. */
#define MUST(condition, ...)                                                                                           \
    do {                                                                                                               \
        if (!CHECK(condition, __VA_ARGS__))                                                                            \
            case_stop();                                                                                               \
    } while (0)

/* Makes a call that must not return -1; ends the process when it does. Yields what it returns. */
#define CALL(call) case_call((long)(call), __FILE__, __LINE__, #call)

/* fork that must succeed. The child must end with _exit. */
#define FORK() ((pid_t)CALL(fork()))

/* Checks that a call returns -1 with errno ERROR. */
#define FAILS(call, error) case_fails((long)(call), (error), __FILE__, __LINE__, #call)

/* Lets other threads run until the condition holds; a case in which it takes too long ends, naming WHAT was awaited. */
#define UNTIL(condition, what)                                                                                         \
    do {                                                                                                               \
        int64_t until_begin = case_time();                                                                             \
                                                                                                                       \
        case_await(what);                                                                                              \
        while (!(condition)) {                                                                                         \
            sched_yield();                                                                                             \
            if (case_time() - until_begin >= CASE_PATIENCE) {                                                          \
                case_broken(__FILE__, __LINE__, #condition, "still waiting for %s", (what));                           \
                case_stop();                                                                                           \
            }                                                                                                          \
        }                                                                                                              \
        case_await(NULL);                                                                                              \
    } while (0)

/* Checks that the child PID exits with STATUS, or dies of SIGNAL. Waits for it. */
#define EXITS(pid, status) case_ends((pid), (status), false, __FILE__, __LINE__)
#define DIES(pid, signal) case_ends((pid), (signal), true, __FILE__, __LINE__)

#define CASE_PATIENCE (INT64_C(120) * 1000000000) /* ns that one wait may take; a whole case has twice as long */
extern int64_t case_extra;                        /* ns that a whole case may take besides; set before case_main */
#define CASE_FAILED 71                            /* exit status of a process that case_stop ended */
#define CASE_SKIPPED 72
#define CASE_MAX 64 /* cases of one program */

static inline bool case_result(bool holds)
{
    return holds;
}

void case_counted(void);
bool case_broken(const char *file, int line, const char *condition, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
long case_call(long result, const char *file, int line, const char *call);
bool case_fails(long result, int error, const char *file, int line, const char *call);
bool case_ends(pid_t child, int number, bool signal, const char *file, int line);

/* Ends the calling process as failed. */
_Noreturn void case_stop(void);

/* Ends the calling case as skipped, because this machine lacks REASON. */
_Noreturn void case_skip(const char *reason);

/* Prints a comment line. */
void case_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Says what the case waits for from now on, in case it never comes; NULL: for nothing. */
void case_await(const char *what);

/* The monotonic clock in nanoseconds. */
int64_t case_time(void);

/* Zeroed memory that children share. It is never given back. */
void *case_share(size_t size);

/* Waits for the child PID and returns its status as waitpid gives it. */
int case_wait(pid_t pid);

/* The name of errno value ERROR, ENOSYS for one. */
const char *case_error(int error);

/* The path by which this program can be executed. */
const char *case_program(void);

/* Becomes "PROGRAM @CHILD FIRST SECOND", arguments up to the first NULL. Ends the process when that fails. */
_Noreturn void case_exec(const char *child, const char *first, const char *second);

#endif
