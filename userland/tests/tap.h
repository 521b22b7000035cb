/* Test programs that run inside the machine: a table of promises, each kept or not, reported as TAP.
 *
 *     static void test_sum(void) { EXPECT(1 + 1 == 2, "the sum is %d", 1 + 1); }
 *     static const struct tap_test tests[] = {{"numbers add up", test_sum}};
 *     int main(void) { return tap_run(tests, TAP_COUNT(tests)); }
 *
 * The plan is printed first, so a program that dies part of the way is noticed. A test is one promise and any
 * number of expectations; those that fail are explained in lines that start with '#'. Only the thread that
 * called tap_run may use these functions; other threads leave their findings in memory. */
#ifndef USERLAND_TESTS_TAP_H
#define USERLAND_TESTS_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TAP_COUNT(tests) (sizeof(tests) / sizeof((tests)[0]))

struct tap_test {
    const char *promise; /* one line in the present tense: what holds */
    void (*run)(void);
};

/* Runs the tests in order and returns main's exit status: 0 when every promise was kept or skipped,
 * otherwise 1. */
int tap_run(const struct tap_test *tests, size_t count);

/* Notes that a condition should hold, explained by a printf format and its arguments when it does not. Yields
 * the condition, so that a test can stop where going on makes no sense. The arguments are evaluated after the
 * condition and only when it does not hold, so strerror(errno) says why it does not. */
#define EXPECT(condition, ...) tap_result((condition) || tap_broken(__FILE__, __LINE__, #condition, __VA_ARGS__))

/* Lets a caller ignore what EXPECT yields without a warning. */
static inline bool tap_result(bool holds)
{
    return holds;
}

/* Notes a condition that does not hold; returns false. */
bool tap_broken(const char *file, int line, const char *condition, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Expects that a call failed with ERROR: that RESULT is -1 and errno is ERROR. */
#define EXPECT_ERROR(result, error) tap_expect_error((result), (error), __FILE__, __LINE__, #result)

bool tap_expect_error(long result, int error, const char *file, int line, const char *call);

/* Marks the running test as skipped: REASON says what this machine lacks. The caller then returns. */
void tap_skip(const char *reason);

/* Prints a comment line. */
void tap_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* True when the kernel below is a Kettle. */
bool tap_on_kettle(void);

/* Skips the running test when there is no Kettle or only one started kernel. True when it was skipped. */
bool tap_skip_alone(void);

/* The started kernels, ascending. Returns their number, 1 to 64. */
int tap_kernels(int kernels[64]);

/* The next number of the SplitMix64 sequence at *STATE, which it advances. Any start will do. */
uint64_t tap_random(uint64_t *state);

/* True when THREAD of PROCESS (0: the caller's) sleeps in a call that a signal would end: a wait for others, not a
 * kernel's own way there. Any thread may ask. */
bool tap_sleeps(pid_t process, long thread);

/* Starts this very program again with one or two arguments (SECOND may be NULL) and no test run of its own.
 * Returns the process id, or -1 with errno set. */
pid_t tap_spawn(const char *first, const char *second);

/* tap_spawn and wait. Returns the status as waitpid gives it, or -1 after noting the failure. */
int tap_child(const char *first, const char *second);

/* Runs tap_child and expects that the child exited with STATUS, or died of SIGNAL. */
#define EXPECT_EXIT(first, second, status) tap_expect_end((first), (second), (status), false, __FILE__, __LINE__)
#define EXPECT_SIGNAL(first, second, signal) tap_expect_end((first), (second), (signal), true, __FILE__, __LINE__)

bool tap_expect_end(const char *first, const char *second, int number, bool signal, const char *file, int line);

/* A user address at which nothing is ever mapped: above the null page's surroundings, below every executable,
 * and nobody is given it without asking. */
#define TAP_UNMAPPED ((void *)0x100000)

/* An address of the kernel's half, and one that is no address at all on a CPU with 48 or 57 bits of them. */
#define TAP_KERNEL_ADDRESS ((void *)0xffffffff80000000)
#define TAP_NONCANONICAL ((void *)0x4000000000000000)

#endif
