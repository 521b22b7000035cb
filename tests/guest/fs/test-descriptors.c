/* test-descriptors: duplicating, flags, directories, the working directory, devices and /proc, on every kernel.
 *
 *     test-descriptors [--dir DIRECTORY]
 *
 * DIRECTORY holds the files of tests/guest/files, /share/test in the image. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"

#define CLOSE_RANGE_CLOEXEC 4u

static const char small_text[] = "This text is the contents of a small file.\n";
#define SMALL_SIZE ((ssize_t)sizeof(small_text) - 1)

static const char *test_files = "/share/test";

static const char *path_of(const char *name)
{
    static char paths[4][PATH_MAX];
    static int next;
    char *path = paths[next++ % 4];

    snprintf(path, PATH_MAX, "%s/%s", test_files, name);
    return path;
}

static int file_open(const char *path, int flags)
{
    int file = open(path, flags);

    CHECK(file >= 0, "%s: %s", path, strerror(errno));
    return file;
}

static bool is_open(int file)
{
    return fcntl(file, F_GETFD) >= 0;
}

/* --- duplicating --- */

static void test_dup(void)
{
    int first = file_open(path_of("small"), O_RDONLY);
    int second = dup(first);
    char byte = 0;

    CHECK(second == first + 1, "%d of %d", second, first);
    CHECK(read(first, &byte, 1) == 1 && read(second, &byte, 1) == 1 && byte == small_text[1], "not one offset");
    CHECK(lseek(second, 5, SEEK_SET) == 5 && lseek(first, 0, SEEK_CUR) == 5, "not one offset");
    CHECK(close(first) == 0 && read(second, &byte, 1) == 1 && byte == small_text[5], "closed with the first");
    CHECK(dup(second) == first, "the lowest number is not taken");
    CHECK(close(first) == 0 && close(second) == 0, "%s", strerror(errno));
    CHECK_ERROR(dup(second), EBADF);
    CHECK_ERROR(dup(-1), EBADF);
}

static void test_dup2(void)
{
    int first = file_open(path_of("small"), O_RDONLY);
    int other = file_open(path_of("empty"), O_RDONLY);
    char byte = 0;

    CHECK(dup2(first, other) == other && read(other, &byte, 1) == 1 && byte == small_text[0], "%s", strerror(errno));
    CHECK(dup2(first, first) == first && is_open(first), "%s", strerror(errno));
    CHECK(dup2(first, 100) == 100 && read(100, &byte, 1) == 1 && byte == small_text[1], "%s", strerror(errno));
    CHECK_ERROR(dup2(first, -1), EBADF);
    CHECK_ERROR(dup2(99, 5), EBADF);
    CHECK_ERROR(dup2(99, 99), EBADF);
    CHECK_ERROR(dup2(first, 100000000), EBADF);
    CHECK_ERROR(syscall(SYS_dup3, first, first, 0), EINVAL);
    CHECK_ERROR(syscall(SYS_dup3, first, 100, 1), EINVAL);
    CHECK(syscall(SYS_dup3, first, 101, O_CLOEXEC) == 101 && fcntl(101, F_GETFD) == FD_CLOEXEC, "%s", strerror(errno));
    CHECK(fcntl(100, F_GETFD) == 0, "a flag of one descriptor is another's");
    for (int i = 0; i < 4; i++)
        CHECK(close((int[]){first, other, 100, 101}[i]) == 0, "%d: %s", i, strerror(errno));
}

static void test_fcntl(void)
{
    int file = file_open(path_of("small"), O_RDONLY | O_CLOEXEC);
    int copy = fcntl(file, F_DUPFD, 50);
    int closed = fcntl(file, F_DUPFD_CLOEXEC, 50);

    CHECK(fcntl(file, F_GETFD) == FD_CLOEXEC, "O_CLOEXEC is not FD_CLOEXEC");
    CHECK(copy == 50 && closed == 51, "%d and %d", copy, closed);
    CHECK(fcntl(copy, F_GETFD) == 0 && fcntl(closed, F_GETFD) == FD_CLOEXEC, "flags of the duplicates");
    CHECK(fcntl(copy, F_SETFD, FD_CLOEXEC) == 0 && fcntl(copy, F_GETFD) == FD_CLOEXEC, "%s", strerror(errno));
    CHECK((fcntl(file, F_GETFL) & O_ACCMODE) == O_RDONLY, "%#x", fcntl(file, F_GETFL));
    CHECK(fcntl(file, F_SETFL, O_NONBLOCK | O_WRONLY) == 0, "%s", strerror(errno));
    CHECK((fcntl(copy, F_GETFL) & (O_ACCMODE | O_NONBLOCK)) == O_NONBLOCK, "%#x", fcntl(copy, F_GETFL));
    CHECK_ERROR(fcntl(file, F_DUPFD, -1), EINVAL);
    CHECK_ERROR(fcntl(file, F_DUPFD, 100000000), EINVAL);
    CHECK_ERROR(fcntl(-1, F_GETFD), EBADF);
    CHECK_ERROR(fcntl(-1, F_GETFL), EBADF);
    CHECK_ERROR(fcntl(file, 12345), EINVAL);
    CHECK(close(file) == 0 && close(copy) == 0 && close(closed) == 0, "%s", strerror(errno));
}

static void test_close_range(void)
{
    int file = file_open(path_of("small"), O_RDONLY);

    for (int to = 200; to < 210; to++)
        CHECK(dup2(file, to) == to, "%s", strerror(errno));
    if (syscall(SYS_close_range, 203, 205, CLOSE_RANGE_CLOEXEC) != 0 && errno == ENOSYS) {
        tap_skip("no close_range");
        return;
    }
    CHECK(is_open(203) && fcntl(203, F_GETFD) == FD_CLOEXEC && fcntl(206, F_GETFD) == 0, "marked");
    CHECK(syscall(SYS_close_range, 202, 204, 0) == 0, "%s", strerror(errno));
    CHECK(is_open(201) && !is_open(202) && !is_open(204) && is_open(205), "wrong ones");
    CHECK(syscall(SYS_close_range, 200, -1, 0) == 0 && !is_open(200) && !is_open(209), "%s", strerror(errno));
    CHECK_ERROR(syscall(SYS_close_range, 5, 4, 0), EINVAL);
    CHECK_ERROR(syscall(SYS_close_range, 5, 6, 1), EINVAL);
    CHECK(is_open(file) && close(file) == 0, "%s", strerror(errno));
}

static void test_limit(void)
{
    int file = file_open("/dev/null", O_RDONLY);
    int last = file, next;

    while ((next = dup(file)) >= 0 && next < 2000)
        last = next;
    CHECK((next == -1 && errno == EMFILE) || next == 2000, "%d: %s", next, strerror(errno));
    CHECK(last >= 255, "only %d", last);
    for (int i = file; i <= last || i == next; i++)
        CHECK(close(i) == 0, "%d: %s", i, strerror(errno));
}

/* --- devices, places --- */

static void test_devices(void)
{
    int null = file_open("/dev/null", O_RDWR);
    int zero = file_open("/dev/zero", O_RDWR);
    int full = file_open("/dev/full", O_RDWR);
    char bytes[5000];
    struct stat status;

    CHECK(read(null, bytes, sizeof(bytes)) == 0 && write(null, bytes, sizeof(bytes)) == sizeof(bytes), "%s",
          strerror(errno));
    memset(bytes, 1, sizeof(bytes));
    CHECK(read(zero, bytes, sizeof(bytes)) == sizeof(bytes) && bytes[0] == 0 && bytes[4999] == 0, "%s",
          strerror(errno));
    CHECK(write(zero, bytes, 10) == 10, "%s", strerror(errno));
    CHECK_ERROR(write(full, bytes, 1), ENOSPC);
    CHECK(fstat(null, &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == 0x103, "%#lx",
          (long)status.st_rdev);
    CHECK(!isatty(null) && errno == ENOTTY, "%s", strerror(errno));
    CHECK(lseek(null, 0, SEEK_SET) == 0, "%s", strerror(errno));
    CHECK(close(null) == 0 && close(zero) == 0 && close(full) == 0, "%s", strerror(errno));
    CHECK_ERROR(open("/dev/null", O_RDONLY | O_DIRECTORY), ENOTDIR);
    CHECK_ERROR(open("/dev/null/x", O_RDONLY), ENOTDIR);
    CHECK_ERROR(open("/dev/absent", O_RDONLY), ENOENT);
}

static void test_pread(void)
{
    int file = file_open(path_of("small"), O_RDONLY);
    char text[100];
    int left = 0;

    CHECK(pread(file, text, 4, 5) == 4 && memcmp(text, small_text + 5, 4) == 0, "%.4s", text);
    CHECK(pread(file, text, sizeof(text), SMALL_SIZE - 3) == 3, "%s", strerror(errno));
    CHECK(pread(file, text, sizeof(text), 10000) == 0, "%s", strerror(errno));
    CHECK(lseek(file, 0, SEEK_CUR) == 0, "pread moved");
    CHECK_ERROR(pread(file, text, 1, -1), EINVAL);
    CHECK_ERROR(pread(-1, text, 1, 0), EBADF);
    CHECK_ERROR(pwrite(file, text, 1, 0), EBADF);
    CHECK(lseek(file, 10, SEEK_SET) == 10 && ioctl(file, FIONREAD, &left) == 0 && left == SMALL_SIZE - 10, "%d", left);
    close(file);
}

/* --- directories --- */

/* Reads PATH's entries; how many there are, and whether NAME is among them. */
static int list(const char *path, const char *name, bool *found)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;
    int count = 0;

    *found = false;
    if (!CHECK(directory != NULL, "%s: %s", path, strerror(errno)))
        return 0;
    while ((errno = 0, entry = readdir(directory)) != NULL) {
        count++;
        *found |= strcmp(entry->d_name, name) == 0;
    }
    CHECK(errno == 0, "%s: %s", path, strerror(errno));
    rewinddir(directory);
    for (int i = 0; i < count; i++)
        CHECK(readdir(directory) != NULL, "%d of %d the second time", i, count);
    closedir(directory);
    return count;
}

static void test_list(void)
{
    static const char *const expected[][2] = {{"/", "dev"}, {"/", "proc"}, {"/dev", "null"}, {"/proc", "meminfo"}};
    bool found;

    CHECK(list(test_files, "small", &found) == 5 && found, "the directory of test files");
    list(test_files, "..", &found);
    CHECK(found, "no ..");
    for (size_t i = 0; i < TAP_COUNT(expected); i++) {
        CHECK(list(expected[i][0], expected[i][1], &found) > 3 && found, "no %s in %s", expected[i][1], expected[i][0]);
    }
    if (tap_on_kettle()) {
        CHECK(list("/", "bin", &found) >= 5 && found, "no bin");
        CHECK(list("/proc/kettle", "plan", &found) >= 6 && found, "no plan");
    }
}

static void test_entries(void)
{
    int file = file_open(test_files, O_RDONLY | O_DIRECTORY);
    DIR *directory = opendir(test_files);
    const struct dirent *entry;
    char small[8];

    CHECK_ERROR(syscall(SYS_getdents64, file, small, sizeof(small)), EINVAL);
    CHECK_ERROR(syscall(SYS_getdents64, 99, small, sizeof(small)), EBADF);
    CHECK_ERROR(read(file, small, 1), EISDIR);
    while ((entry = readdir(directory)) != NULL) {
        struct stat status;

        CHECK(fstatat(file, entry->d_name, &status, 0) == 0, "%s: %s", entry->d_name, strerror(errno));
        CHECK(entry->d_type == DT_UNKNOWN || (entry->d_type == DT_DIR) == S_ISDIR(status.st_mode), "%s is of type %d",
              entry->d_name, entry->d_type);
        if (S_ISREG(status.st_mode))
            CHECK(entry->d_ino == status.st_ino, "%s: numbers %lu and %lu", entry->d_name, (long)entry->d_ino,
                  (long)status.st_ino);
    }
    closedir(directory);
    close(file);
    file = file_open(path_of("small"), O_RDONLY);
    CHECK_ERROR(syscall(SYS_getdents64, file, small, sizeof(small)), ENOTDIR);
    close(file);
}

/* --- the working directory --- */

static void test_directory(void)
{
    char before[PATH_MAX], now[PATH_MAX];
    int file, start;
    struct stat status;

    CHECK(getcwd(before, sizeof(before)) == before, "%s", strerror(errno));
    start = file_open(".", O_RDONLY | O_DIRECTORY);
    CHECK(chdir(test_files) == 0 && getcwd(now, sizeof(now)) != NULL && strcmp(now, test_files) == 0, "%s", now);
    file = file_open("small", O_RDONLY);
    CHECK(fstat(file, &status) == 0 && status.st_size == SMALL_SIZE, "%s", strerror(errno));
    close(file);
    CHECK(chdir("..") == 0 && stat("small", &status) == -1 && errno == ENOENT, "%s", strerror(errno));
    CHECK_ERROR(chdir("absent"), ENOENT);
    CHECK_ERROR(chdir(path_of("small")), ENOTDIR);
    CHECK_ERROR(chdir(""), ENOENT);
    CHECK_ERROR(syscall(SYS_getcwd, now, 1), ERANGE);
    CHECK(fchdir(start) == 0 && getcwd(now, sizeof(now)) != NULL && strcmp(now, before) == 0, "%s", now);
    CHECK_ERROR(fchdir(-1), EBADF);
    close(start);
}

static void test_at(void)
{
    int directory = file_open(test_files, O_RDONLY | O_DIRECTORY);
    int file = openat(directory, "small", O_RDONLY);

    CHECK(file >= 0, "%s", strerror(errno));
    CHECK_ERROR(openat(file, "small", O_RDONLY), ENOTDIR);
    CHECK_ERROR(fchdir(file), ENOTDIR);
    CHECK_ERROR(openat(99, "small", O_RDONLY), EBADF);
    CHECK(faccessat(directory, "small", R_OK, 0) == 0, "%s", strerror(errno));
    CHECK_ERROR(faccessat(directory, "absent", F_OK, 0), ENOENT);
    CHECK_ERROR(faccessat(directory, "small", X_OK, 0), EACCES);
    CHECK(access("/dev/null", R_OK | W_OK) == 0, "%s", strerror(errno));
    close(openat(99, path_of("small"), O_RDONLY)); /* absolute: 99 does not matter */
    close(file);
    close(directory);
}

/* --- /proc --- */

static void test_self(void)
{
    const char *run = (const char *)getauxval(AT_EXECFN);
    char link[PATH_MAX] = "";
    struct stat one, other;
    ssize_t length = readlink("/proc/self/exe", link, sizeof(link) - 1);

    CHECK(length > 0 && link[0] == '/', "%zd: %s", length, link);
    CHECK(stat("/proc/self/exe", &one) == 0 && stat(run, &other) == 0 && one.st_ino == other.st_ino, "%s",
          strerror(errno));
    CHECK(lstat("/proc/self/exe", &one) == 0 && S_ISLNK(one.st_mode), "%#o", one.st_mode);
    CHECK(readlink("/proc/self/exe", link, 3) == 3, "%s", strerror(errno));
    CHECK_ERROR(readlink(path_of("small"), link, sizeof(link)), EINVAL);
    CHECK_ERROR(readlink(path_of("absent"), link, sizeof(link)), ENOENT);
    CHECK_ERROR(syscall(SYS_readlink, "/proc/self/exe", link, 0), EINVAL);
}

static void test_proc(void)
{
    static const char *const files[][2] = {{"/proc/meminfo", "MemFree:"}, {"/proc/cpuinfo", "processor\t: 0"},
                                           {"/proc/version", "version"},  {"/proc/mounts", " / "},
                                           {"/proc/stat", "btime "},      {"/proc/uptime", "."}};
    static char text[65536];

    for (size_t i = 0; i < TAP_COUNT(files); i++) {
        int file = file_open(files[i][0], O_RDONLY);
        ssize_t length, size = 0;

        while ((length = read(file, text + size, sizeof(text) - 1 - (size_t)size)) > 0)
            size += length;
        text[size] = '\0';
        CHECK(size > 0 && strstr(text, files[i][1]) != NULL, "%s: %s", files[i][0], text);
        close(file);
    }
    CHECK_ERROR(open("/proc/absent", O_RDONLY), ENOENT);
    CHECK_ERROR(open("/proc/meminfo/x", O_RDONLY), ENOTDIR);
}

static void test_everywhere(void);

static const struct tap_test tests[] = {
    {"dup", "dup takes the lowest number and shares the offset", test_dup},
    {"dup2", "dup2 and dup3 replace what was there", test_dup2},
    {"fcntl", "fcntl duplicates descriptors, and keeps flags of descriptors and files apart", test_fcntl},
    {"close-range", "close_range closes or marks a range", test_close_range},
    {"limit", "a process has as many descriptors as its limit, and EMFILE after them", test_limit},
    {"devices", "/dev/null, /dev/zero and /dev/full behave as on Linux", test_devices},
    {"pread", "pread reads at any offset and does not move the file's", test_pread},
    {"list", "a directory lists the same names twice", test_list},
    {"entries", "the entries of a directory agree with stat", test_entries},
    {"directory", "relative paths start at the working directory", test_directory},
    {"at", "relative paths start at the descriptor of a directory", test_at},
    {"self", "a program finds its own file in /proc", test_self},
    {"proc", "/proc describes the machine", test_proc},
    {"everywhere", "descriptors and directories are the same on every kernel", test_everywhere},
};

static void test_everywhere(void)
{
    int kernels[64];
    int count = tap_kernels(kernels);
    int home = kettle_kernel();

    if (tap_skip_alone())
        return;
    for (int k = 0; k < count && k < 8; k++) {
        CHECK(kettle_migrate(kernels[k]) == 0, "%s", strerror(errno));
        for (size_t i = 0; i + 1 < TAP_COUNT(tests); i++)
            tests[i].run();
    }
    CHECK(kettle_migrate(home) == 0, "%s", strerror(errno));
}

int main(int argc, char **argv)
{
    static const struct tap_program program = {
        .tests = tests, .count = TAP_COUNT(tests), .parameters = "[--dir DIRECTORY]"};
    const char *value = tap_take_value(&argc, &argv, "--dir");

    if (value != NULL)
        test_files = value;
    return tap_main(argc, argv, &program);
}
