/* Of test-libc: formats, standard output, write and writev. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/libc.h"

#define PAGE 4096

/* --- standard output and formats --- */

#define CHECK_FORMAT(expected, ...)                                                                                    \
    do {                                                                                                               \
        char text_[256];                                                                                               \
        int length_ = snprintf(text_, sizeof(text_), __VA_ARGS__);                                                     \
        CHECK(strcmp(text_, expected) == 0, "'%s', not '%s'", text_, expected);                                        \
        CHECK(length_ == (int)strlen(expected), "%d", length_);                                                        \
    } while (0)

void libc_test_print_integers(void)
{
    CHECK_FORMAT("0 -1 2147483647 -2147483648", "%d %d %d %d", 0, -1, INT_MAX, INT_MIN);
    CHECK_FORMAT("4294967295 ff FF 0xff 377", "%u %x %X %#x %o", UINT_MAX, 255, 255, 255, 255);
    CHECK_FORMAT("-9223372036854775808 18446744073709551615", "%ld %lu", LONG_MIN, ULONG_MAX);
    CHECK_FORMAT("[   42][42   ][00042][+42]", "[%5d][%-5d][%05d][%+d]", 42, 42, 42, 42);
    CHECK_FORMAT("-2 254", "%hhd %hhu", (signed char)-2, (unsigned char)254);
    CHECK_FORMAT("[  0042]", "[%6.4d]", 42);
    CHECK_FORMAT("[    7]", "[%*d]", 5, 7);
    CHECK_FORMAT("123 0x7b", "%zu %#" PRIxMAX, (size_t)123, (uintmax_t)123);
}

void libc_test_print_text(void)
{
    CHECK_FORMAT("a%b", "%c%%%c", 'a', 'b');
    CHECK_FORMAT("[abc][  abc][abc  ][ab]", "[%s][%5s][%-5s][%.2s]", "abc", "abc", "abc", "abc");
    CHECK_FORMAT("0x1000", "%p", (void *)0x1000);
    CHECK_FORMAT("2 1", "%2$d %1$d", 1, 2);
}

void libc_test_print_floats(void)
{
    volatile double zero = 0;

    CHECK_FORMAT("0.500000 1.50e+10 0.1", "%f %.2e %g", 0.5, 1.5e10, 0.1);
    CHECK_FORMAT("3.14159265358979312", "%.17f", 3.14159265358979312);
    CHECK_FORMAT("0.10000000000000001 1e+100", "%.17g %g", 0.1, 1e100);
    CHECK_FORMAT("0x1.8p+1", "%a", 3.0);
    CHECK_FORMAT("inf -inf -0", "%g %g %g", 1 / zero, -1 / zero, -zero);
    CHECK_FORMAT("3.6L", "%.1LfL", 3.55L + 0.01L);
}

void libc_test_scan(void)
{
    int number = 0;
    unsigned hex = 0;
    double real = 0;
    char word[16] = "";

    CHECK(sscanf(" -17 ff 2.5 word rest", "%d %x %lf %15s", &number, &hex, &real, word) == 4, "not four fields");
    CHECK(number == -17 && hex == 255 && real == 2.5 && strcmp(word, "word") == 0, "%d %u %g %s", number, hex, real,
          word);
    CHECK(strtol("0x7fffffffffffffff", NULL, 0) == LONG_MAX, "largest long");
    errno = 0;
    CHECK(strtol("9223372036854775808", NULL, 10) == LONG_MAX && errno == ERANGE, "%s", strerror(errno));
    CHECK(strtod("1e-3", NULL) == 0.001, "%g", strtod("1e-3", NULL));
}

void libc_test_stdio(void)
{
    CHECK(printf("# %s\n", "printf") == 9, "printf");
    CHECK(fputs("# fputs\n", stdout) >= 0, "fputs");
    CHECK(puts("# puts") >= 0, "puts");
    CHECK(putchar('#') == '#' && putchar('\n') == '\n', "putchar");
    CHECK(fwrite("# fwrite\n", 1, 9, stdout) == 9, "fwrite");
    CHECK(fflush(stdout) == 0, "fflush: %s", strerror(errno));
    /* More than stdio's buffer holds. */
    for (int i = 0; i < 60; i++)
        CHECK(printf("# line %2d of 60, long enough to go through the buffer of stdio several times\n", i) == 77, "%d",
              i);
    CHECK(fflush(stdout) == 0, "fflush: %s", strerror(errno));
    CHECK(!ferror(stdout), "standard output has an error");
    CHECK(fileno(stdin) == 0 && fileno(stdout) == 1 && fileno(stderr) == 2, "descriptors");
}

/* --- write and writev --- */

void libc_test_write(void)
{
    static const char line[] = "# written with write\n";

    fflush(stdout);
    CHECK(write(1, line, sizeof(line) - 1) == sizeof(line) - 1, "%s", strerror(errno));
    CHECK(write(1, line, 0) == 0, "nothing: %s", strerror(errno));
    CHECK(write(2, line, 0) == 0, "nothing to standard error: %s", strerror(errno));
}

void libc_test_write_long(void)
{
    enum { LINE = 512, SIZE = 2 * PAGE + 3 * LINE };
    static char text[PAGE + SIZE];
    /* So that the text starts and ends inside a page and covers one whole. */
    char *start = text + LINE / 2;
    size_t done = 0;

    for (size_t i = 0; i < SIZE; i += LINE) {
        memset(start + i, 'a' + (int)(i / LINE % 26), LINE);
        start[i] = '#';
        start[i + LINE - 1] = '\n';
    }
    fflush(stdout);
    while (done < SIZE) {
        ssize_t count = write(1, start + done, SIZE - done);

        if (!CHECK(count > 0 && done + (size_t)count <= SIZE, "after %zu bytes: %s", done, strerror(errno)))
            break;
        done += (size_t)count;
    }
}

void libc_test_write_errors(void)
{
    fflush(stdout);
    CHECK_ERROR(write(-1, "x", 1), EBADF);
    CHECK_ERROR(write(1000, "x", 1), EBADF);
    CHECK_ERROR(write(INT_MAX, "x", 1), EBADF);
    CHECK_ERROR(write(-1, "x", 0), EBADF);
    CHECK_ERROR(write(-1, TAP_UNMAPPED, 1), EBADF);
    CHECK_ERROR(write(1, NULL, 1), EFAULT);
    CHECK_ERROR(write(1, TAP_UNMAPPED, 1), EFAULT);
    CHECK_ERROR(write(1, TAP_UNMAPPED, 3 * PAGE), EFAULT);
    CHECK_ERROR(write(1, TAP_KERNEL_ADDRESS, 1), EFAULT);
    CHECK_ERROR(write(1, TAP_NONCANONICAL, 1), EFAULT);
    CHECK_ERROR(write(1, (void *)-1L, 16), EFAULT);
    CHECK_ERROR(write(1, (void *)0x7fffffffffff, 16), EFAULT);
    CHECK_ERROR(write(1, "constant", (size_t)-1), EFAULT);
}

void libc_test_writev(void)
{
    char a[] = "# written";
    char b[] = " with ";
    char c[] = "writev\n";
    struct iovec parts[] = {{a, 9}, {NULL, 0}, {b, 6}, {b, 0}, {c, 7}};

    fflush(stdout);
    CHECK(writev(1, parts, 5) == 22, "%s", strerror(errno));
    CHECK(writev(1, parts, 0) == 0, "no parts: %s", strerror(errno));
    CHECK(writev(1, &parts[1], 1) == 0, "an empty part: %s", strerror(errno));
}

void libc_test_writev_errors(void)
{
    static char byte[] = "x";
    struct iovec good = {byte, 1};
    struct iovec bad = {TAP_UNMAPPED, 1};
    struct iovec huge[] = {{byte, (size_t)-1}, {byte, 1}};

    fflush(stdout);
    CHECK_ERROR(writev(-1, &good, 1), EBADF);
    CHECK_ERROR(writev(1, &good, -1), EINVAL);
    CHECK_ERROR(writev(1, &good, 1025), EINVAL);
    CHECK_ERROR(writev(1, TAP_UNMAPPED, 1), EFAULT);
    CHECK_ERROR(writev(1, TAP_KERNEL_ADDRESS, 1), EFAULT);
    CHECK_ERROR(writev(1, &bad, 1), EFAULT);
    CHECK_ERROR(writev(1, huge, 2), EINVAL);
}
