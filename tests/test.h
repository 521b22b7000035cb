/* The host unit tests' harness. A test file includes this once, and is one program:
 *
 *     TEST(ring_full, "a full ring refuses a message and keeps the ones it has")
 *     {
 *         CHECK(ring_send(...) == -EAGAIN);
 *         CHECK_EQ(ring_count(...), RING_SLOTS);
 *     }
 *
 * The text is the promised behaviour. A failed check is printed and ends its test, and the next test runs. Output is
 * one line a test, "ok N - promise" or "not ok N - promise", and "N passed, N failed" at the end; the exit status is 0
 * only if none failed and one ran. An argument selects the tests whose name contains it.
 *
 * A line "sources: FILE..." in the test file's opening comment names the C files under test, from the project root;
 * tests/host.mk builds and links them. A line "sanitize: thread" asks for the thread sanitizer in place of the address
 * and undefined behaviour ones. */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct test {
    const char *name;
    const char *promise;
    void (*run)(void);
    struct test *next;
};

static struct test *test_first;
static struct test **test_end = &test_first;
static jmp_buf test_failure;

#define TEST(function, text)                                                                                           \
    static void function(void);                                                                                        \
    __attribute__((constructor)) static void function##_register(void)                                                 \
    {                                                                                                                  \
        static struct test test = {.name = #function, .promise = text, .run = function};                               \
        *test_end = &test;                                                                                             \
        test_end = &test.next;                                                                                         \
    }                                                                                                                  \
    static void function(void)

/* Ends the running test as failed. Only for the thread that runs the test. */
__attribute__((noreturn, unused)) static void test_fail(void)
{
    longjmp(test_failure, 1);
}

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("# %s:%d: %s\n", __FILE__, __LINE__, #condition);                                                   \
            test_fail();                                                                                               \
        }                                                                                                              \
    } while (0)

/* For integers of any size and sign. */
#define CHECK_EQ(actual, expected)                                                                                     \
    do {                                                                                                               \
        long long actual_ = (long long)(actual);                                                                       \
        long long expected_ = (long long)(expected);                                                                   \
        if (actual_ != expected_) {                                                                                    \
            printf("# %s:%d: %s is %lld (0x%llx), not %lld (0x%llx)\n", __FILE__, __LINE__, #actual, actual_,          \
                   (unsigned long long)actual_, expected_, (unsigned long long)expected_);                             \
            test_fail();                                                                                               \
        }                                                                                                              \
    } while (0)

#define CHECK_TEXT(actual, expected)                                                                                   \
    do {                                                                                                               \
        const char *actual_ = (actual);                                                                                \
        const char *expected_ = (expected);                                                                            \
        if (strcmp(actual_, expected_) != 0) {                                                                         \
            printf("# %s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, #actual, actual_, expected_);            \
            test_fail();                                                                                               \
        }                                                                                                              \
    } while (0)

/* A repeatable random number (splitmix64); STATE is any seed. */
__attribute__((unused)) static uint64_t test_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* A repeatable random number below LIMIT, which is not 0. */
__attribute__((unused)) static uint64_t test_below(uint64_t *state, uint64_t limit)
{
    return test_random(state) % limit;
}

static bool test_run(const struct test *test)
{
    if (setjmp(test_failure))
        return false;
    test->run();
    return true;
}

int main(int argc, char **argv)
{
    int number = 0;
    int failed = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (const struct test *test = test_first; test; test = test->next) {
        if (argc > 1 && !strstr(test->name, argv[1]))
            continue;
        bool passed = test_run(test);
        printf("%s %d - %s\n", passed ? "ok" : "not ok", ++number, test->promise);
        failed += !passed;
    }
    if (number == 0 && argc > 1)
        printf("# no test's name contains %s\n", argv[1]);
    printf("%d passed, %d failed\n", number - failed, failed);
    return failed == 0 && number > 0 ? 0 : 1;
}

#endif
