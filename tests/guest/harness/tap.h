/* The harness of the test programs that run inside the machine: a table of tests, each of which keeps its promise or
 * not, reported as TAP.
 *
 *     static void test_sum(void) { CHECK(1 + 1 == 2, "the sum is %d", 1 + 1); }
 *     static const struct tap_test tests[] = {{"sum", "numbers add up", test_sum}};
 *     int main(int argc, char **argv) { return tap_run(argc, argv, tests, TAP_COUNT(tests)); }
 *
 * The arguments name the tests to run; without arguments all run. The plan is printed first, so a program that dies on
 * the way is noticed. The tests of a program run one after the other in its own process, or each in a process of its
 * own that leads a process group (struct tap_program). There a test that crashes does not end the others. A test that
 * takes too long is "not ok" with the name of what it waited for, after lines that say what all processes wait for.
 *
 * A test is one promise and any number of checks. Any thread that has the C library's thread-local storage may check,
 * in any process that a test has forked and also in a signal handler: a check that fails writes one line with one call
 * of write, and is counted in a page that all these processes share; one that holds writes nothing anywhere. A program
 * that a test executes has a count of its own, so what it finds is known by its exit status. */
#ifndef TESTS_GUEST_TAP_H
#define TESTS_GUEST_TAP_H

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TAP_COUNT(table) (sizeof(table) / sizeof((table)[0]))

struct tap_test {
    const char *name;    /* one word, by which the command line chooses it */
    const char *promise; /* one line in the present tense: what holds */
    void (*run)(void);
};

/* What the program is when it is executed with "@NAME" as its first argument. Returns its exit status. */
struct tap_child {
    const char *name;
    int (*run)(int argc, char **argv);
};

struct tap_program {
    const struct tap_test *tests;
    size_t count;
    bool apart; /* each test runs in a process of its own */
    const struct tap_child *children;
    size_t child_count;
    const char *parameters; /* what main takes from the arguments before the names of tests, for the usage; or NULL */
    int64_t extra;          /* ns that a test may take besides TAP_LIMIT */
};

#ifndef TAP_PATIENCE                             /* the harness's own tests have less */
#define TAP_PATIENCE (INT64_C(120) * 1000000000) /* ns that one UNTIL may take */
#endif
#define TAP_LIMIT (2 * TAP_PATIENCE) /* ns that a whole test may take */
#define TAP_FAILED 71                /* exit status of a process that tap_stop ended */

/* Runs the tests that the arguments name, or all, and returns main's exit status: 0 when every promise was kept or
 * skipped, 1 when not, 2 for arguments that make no sense. A program with parameters takes them from the arguments
 * before (tap_take). */
int tap_main(int argc, char **argv, const struct tap_program *program);

/* tap_main for tests that run in the program's own process, without children or parameters. */
int tap_run(int argc, char **argv, const struct tap_test *tests, size_t count);

/* Takes the first argument out of *ARGC and *ARGV when it is WORD. */
bool tap_take(int *argc, char ***argv, const char *word);

/* Takes the first two arguments out when they are NAME and a value. Returns the value, or NULL. */
const char *tap_take_value(int *argc, char ***argv, const char *name);

/* Takes the first argument out when it is a number, and puts it into *NUMBER. */
bool tap_take_number(int *argc, char ***argv, long *number);

/* --- checks --- */

/* Notes that a condition should hold, explained by a printf format and its arguments when it does not. Yields the
 * condition, so that a test can stop where going on makes no sense. The arguments are evaluated after the condition and
 * only when it does not hold, so tap_error(errno) says why it does not. */
#define CHECK(condition, ...) tap_result((condition) || tap_broken(__FILE__, __LINE__, #condition, __VA_ARGS__))

/* As CHECK, and ends the calling process when the condition does not hold. */
#define REQUIRE(condition, ...)                                                                                        \
    do {                                                                                                               \
        if (!CHECK(condition, __VA_ARGS__))                                                                            \
            tap_stop();                                                                                                \
    } while (0)

/* Makes a call that must not return -1; ends the process when it does. Yields what it returns. */
#define MUST(call) tap_must((long)(call), __FILE__, __LINE__, #call)

/* fork that must succeed. The child must end with _exit. */
#define FORK() ((pid_t)MUST(fork()))

/* Checks that a call returns -1 with errno ERROR. */
#define CHECK_ERROR(call, error) tap_check_error((long)(call), (error), __FILE__, __LINE__, #call)

/* Checks that the child PID exits with STATUS, or dies of SIGNAL. Waits for it. */
#define CHECK_EXITS(pid, status) tap_check_end((pid), (status), false, __FILE__, __LINE__, #pid)
#define CHECK_DIES(pid, signal) tap_check_end((pid), (signal), true, __FILE__, __LINE__, #pid)

/* Lets other threads run until the condition holds. When that takes too long the calling process ends, and the test has
 * failed for want of WHAT, which is evaluated again then. On a Kettle the first that gives up in a test also prints
 * what each process of the machine waits for. */
#define UNTIL(condition, what)                                                                                         \
    do {                                                                                                               \
        int64_t until_begin = tap_time();                                                                              \
                                                                                                                       \
        tap_await(what);                                                                                               \
        while (!(condition)) {                                                                                         \
            sched_yield();                                                                                             \
            __builtin_ia32_pause(); /* the turn of another CPU of an emulator */                                       \
            if (tap_time() - until_begin >= TAP_PATIENCE)                                                              \
                tap_late(__FILE__, __LINE__, #condition, (what));                                                      \
        }                                                                                                              \
        tap_await(NULL);                                                                                               \
    } while (0)

/* Lets a caller ignore what CHECK yields without a warning. */
static inline bool tap_result(bool holds)
{
    return holds;
}

/* Notes a condition that does not hold; returns false. Keeps errno. */
bool tap_broken(const char *file, int line, const char *condition, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
long tap_must(long result, const char *file, int line, const char *call);
bool tap_check_error(long result, int error, const char *file, int line, const char *call);
bool tap_check_end(pid_t child, int number, bool signal, const char *file, int line, const char *what);

/* UNTIL's end when the condition has not come true. */
_Noreturn void tap_late(const char *file, int line, const char *condition, const char *what);

/* Ends the calling process as failed; the rest of a program whose tests are not apart is not run when it is that
 * process. */
_Noreturn void tap_stop(void);

/* For a process that may write anywhere: it lets go of the report that the processes of a test share, so that it cannot
 * change the result. From now on only its exit status says that a check has failed. */
void tap_leave(void);

/* Marks the running test as skipped: REASON says what this machine lacks. The caller then returns from the test. */
void tap_skip(const char *reason);

/* Skips the running test when there is no Kettle or only one started kernel. True when it was skipped. */
bool tap_skip_alone(void);

/* Prints a comment line. */
void tap_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Says what the test waits for from now on, in case it never comes; NULL: for nothing. */
void tap_await(const char *what);

/* The name of errno value ERROR, as ENOSYS, or its text. */
const char *tap_error(int error);

/* --- children --- */

/* The path by which this program can be executed. */
const char *tap_self(void);

/* Starts this program as "PROGRAM @CHILD ARGUMENT" (ARGUMENT may be NULL) on the caller's kernel, without fork.
 * Returns the process id, or -1 with errno set. */
pid_t tap_spawn(const char *child, const char *argument);

/* Starts it so and checks that it exits with STATUS, or dies of SIGNAL. */
#define CHECK_CHILD_EXITS(child, argument, status)                                                                     \
    tap_check_end(tap_spawn((child), (argument)), (status), false, __FILE__, __LINE__, child)
#define CHECK_CHILD_DIES(child, argument, signal)                                                                      \
    tap_check_end(tap_spawn((child), (argument)), (signal), true, __FILE__, __LINE__, child)

/* Becomes "PROGRAM @CHILD FIRST SECOND", arguments up to the first NULL. Ends the process when that fails. */
_Noreturn void tap_exec(const char *child, const char *first, const char *second);

/* Waits for the child PID and returns its status as waitpid gives it. */
int tap_wait(pid_t pid);

/* Runs BODY in a child process; returns the status it left with, 1000 and the signal that killed it, or -1. */
int tap_fork(int (*body)(void *context), void *context);

/* Zeroed memory that children share. It is never given back. */
void *tap_share(size_t size);

/* --- the machine --- */

/* True when the kernel below is a Kettle. */
bool tap_on_kettle(void);

/* The started kernels, ascending. Returns their number, 1 to 64. */
int tap_kernels(int kernels[64]);

/* True when THREAD of PROCESS (0: the caller's) sleeps in a call that a signal would end: a wait for others, not a
 * kernel's own way there. Any thread may ask, also one of userland/thread.h. */
bool tap_sleeps(pid_t process, long thread);
/* True when THREAD of PROCESS stands in a stop of it (SIGSTOP). */
bool tap_stands(pid_t process, long thread);

/* What COUNT returns once it has not changed by more than NOISE for a while: a count of objects that other kernels give
 * back without being waited for, and others may have some of meanwhile. A value that has not settled in TAP_PATIENCE is
 * returned as it is. */
long tap_settled(long (*count)(void), long noise);

/* The monotonic clock in nanoseconds. */
int64_t tap_time(void);

/* The next number of the SplitMix64 sequence at *STATE, which it advances. Any start will do. */
uint64_t tap_random(uint64_t *state);

/* A user address at which nothing is ever mapped: above the null page's surroundings, below every executable,
 * and nobody is given it without asking. */
#define TAP_UNMAPPED ((void *)0x100000)

/* An address of the kernel's half, and one that is no address at all on a CPU with 48 or 57 bits of them. */
#define TAP_KERNEL_ADDRESS ((void *)0xffffffff80000000)
#define TAP_NONCANONICAL ((void *)0x4000000000000000)

#endif
