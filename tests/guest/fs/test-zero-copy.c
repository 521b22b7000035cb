/* test-zero-copy: reads and writes of sizes around those at which data are passed in place instead of sent
 * (kernel/file/files.md), by threads that are on other kernels than the process's home, and it on another than the
 * file. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"

#define MOST 130000l
#define NAME "/tmp/zero-copy"

static const long sizes[] = {1,   8,    9,    16,   17,    255,   256,   257,   511, 512,
                             513, 4095, 4096, 4097, 12289, 61439, 61440, 61441, MOST};

static uint8_t out[MOST + 1], in[MOST + 2];

static void fill(uint64_t seed)
{
    for (long i = 0; i < MOST; i++)
        out[i] = (uint8_t)(tap_random(&seed) >> 56);
}

static bool same(long size)
{
    return memcmp(in, out, (size_t)size) == 0;
}

/* SIZE bytes to a place in the file that is no page's beginning, and back on the next kernel. */
static int through_file(int fd, long size, int kernel)
{
    long at = 4096 + size % 7;

    memset(in, 0xee, sizeof(in));
    if (pwrite(fd, out, (size_t)size, at) != size)
        return 1;
    kernels_go((kernel + 1) % kernels_count());
    if (pread(fd, in, (size_t)size + 1, at) != size || !same(size) || in[size] != 0xee || in[size + 1] != 0xee)
        return 2;
    return ftruncate(fd, 0) == 0 ? 0 : 3;
}

/* What a reader does not get stays as it was, and what does not fit stays in the pipe. */
static int through_pipe(const int ends[2], long size)
{
    memset(in, 0xee, sizeof(in));
    if (write(ends[1], out, (size_t)size) != size)
        return 11;
    if (read(ends[0], in, 700) != (size < 700 ? size : 700))
        return 12;
    for (long done = 700; done < size;) {
        ssize_t part = read(ends[0], in + done, 60000);

        if (part <= 0)
            return 13;
        done += part;
    }
    return same(size) && in[size] == 0xee ? 0 : 14;
}

static int body(void *context)
{
    int home = *(int *)context, ends[2];
    int fd = open(NAME, O_RDWR | O_CREAT | O_TRUNC, 0600);

    if (fd < 0 || pipe(ends) != 0)
        return 100;
    for (int k = 0; k < kernels_count(); k++) {
        for (size_t i = 0; i < TAP_COUNT(sizes); i++) {
            int wrong;

            fill((uint64_t)(home * 1000 + k * 100) + i);
            kernels_go(k);
            wrong = through_file(fd, sizes[i], k);
            if (wrong == 0 && sizes[i] <= 65536)
                wrong = through_pipe(ends, sizes[i]);
            if (wrong != 0) {
                fprintf(stderr, "# home %d kernel %d size %ld: %d, %s\n", home, k, sizes[i], wrong, strerror(errno));
                return wrong;
            }
        }
    }
    return unlink(NAME) == 0 ? 0 : 101;
}

static void test_sizes(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        int home = k, end;

        kernels_go(k);
        end = tap_fork(body, &home);
        CHECK(end == 0, "home %d: %d", k, end);
    }
    kernels_go(0);
}

/* A bad address is found before or after the file was asked, and never changes what it has. */
static void test_bad_address(void)
{
    int fd = open(NAME, O_RDWR | O_CREAT | O_TRUNC, 0600);

    fill(7);
    for (int k = 0; k < kernels_count(); k++) {
        struct stat facts;

        kernels_go(k);
        CHECK(pwrite(fd, out, 5000, 0) == 5000, "%s", strerror(errno));
        CHECK_ERROR(pread(fd, TAP_UNMAPPED, 5000, 0), EFAULT);
        CHECK_ERROR(pwrite(fd, TAP_UNMAPPED, 5000, 0), EFAULT);
        CHECK(fstat(fd, &facts) == 0 && facts.st_size == 5000, "%ld bytes", (long)facts.st_size);
        CHECK(pread(fd, in, 6000, 0) == 5000 && same(5000), "other bytes");
    }
    kernels_go(0);
    close(fd);
    unlink(NAME);
}

/* Lists of names are passed in place, too. */
static void test_names(void)
{
    char name[64];

    CHECK(mkdir(NAME, 0700) == 0, "%s", strerror(errno));
    for (int i = 0; i < 90; i++) {
        snprintf(name, sizeof(name), NAME "/file-with-a-name-of-some-length-%d", i);
        close(open(name, O_CREAT | O_WRONLY, 0600));
    }
    for (int k = 0; k < kernels_count(); k++) {
        struct dirent *entry;
        int count = 0, sum = 0;
        DIR *directory;

        kernels_go(k);
        directory = opendir(NAME);
        while (directory != NULL && (entry = readdir(directory)) != NULL) {
            int number;

            if (sscanf(entry->d_name, "file-with-a-name-of-some-length-%d", &number) == 1) {
                count++;
                sum += number;
            }
        }
        if (directory != NULL)
            closedir(directory);
        CHECK(count == 90 && sum == 89 * 90 / 2, "%d names, of sum %d", count, sum);
    }
    kernels_go(0);
    for (int i = 0; i < 90; i++) {
        snprintf(name, sizeof(name), NAME "/file-with-a-name-of-some-length-%d", i);
        unlink(name);
    }
    CHECK(rmdir(NAME) == 0, "%s", strerror(errno));
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"sizes", "what is written on one kernel is read on another, whatever its size", test_sizes},
        {"bad-address", "a bad address is EFAULT and changes nothing", test_bad_address},
        {"names", "a directory lists the same names on every kernel", test_names},
    };

    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
