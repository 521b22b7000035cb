/* The kernel's panic() for host tests: it fails the running test, unless CHECK_PANIC waits for it. Included once, after
 * tests/test.h. What the code under test holds when it panics (a lock) it keeps. */
#ifndef TESTS_STAND_IN_PANIC_H
#define TESTS_STAND_IN_PANIC_H

#include <stdarg.h>

#include "kernel/lib/panic.h"
#include "tests/test.h"

static bool panic_expected;
static jmp_buf panic_return;

void panic(const char *format, ...)
{
    va_list args;

    if (panic_expected)
        longjmp(panic_return, 1);
    va_start(args, format);
    printf("# panic: ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
    test_fail();
}

#define CHECK_PANIC(statement)                                                                                         \
    do {                                                                                                               \
        panic_expected = true;                                                                                         \
        if (setjmp(panic_return) == 0) {                                                                               \
            statement;                                                                                                 \
            panic_expected = false;                                                                                    \
            printf("# %s:%d: %s does not panic\n", __FILE__, __LINE__, #statement);                                    \
            test_fail();                                                                                               \
        }                                                                                                              \
        panic_expected = false;                                                                                        \
    } while (0)

#endif
