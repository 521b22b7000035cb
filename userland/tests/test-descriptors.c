/* test-descriptors: duplicating, flags, directories, the working directory, devices and /proc, on every kernel.
 *
 *     test-descriptors [--dir FOLDER]
 *
 * FOLDER holds the files of userland/tests/files, /share/test in the image. */
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
#include "userland/tests/tap.h"

#define CLOSE_RANGE_CLOEXEC 4u

static const char small_text[] = "This text is the contents of a small file.\n";
#define SMALL_SIZE ((ssize_t)sizeof(small_text) - 1)

static const char *folder = "/share/test";

static const char *path_of(const char *name)
{
    static char paths[4][PATH_MAX];
    static int next;
    char *path = paths[next++ % 4];

    snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return path;
}

static int file_open(const char *path, int flags)
{
    int file = open(path, flags);

    EXPECT(file >= 0, "%s: %s", path, strerror(errno));
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

    EXPECT(second == first + 1, "%d of %d", second, first);
    EXPECT(read(first, &byte, 1) == 1 && read(second, &byte, 1) == 1 && byte == small_text[1], "not one offset");
    EXPECT(lseek(second, 5, SEEK_SET) == 5 && lseek(first, 0, SEEK_CUR) == 5, "not one offset");
    EXPECT(close(first) == 0 && read(second, &byte, 1) == 1 && byte == small_text[5], "closed with the first");
    EXPECT(dup(second) == first, "the lowest number is not taken");
    EXPECT(close(first) == 0 && close(second) == 0, "%s", strerror(errno));
    EXPECT_ERROR(dup(second), EBADF);
    EXPECT_ERROR(dup(-1), EBADF);
}

static void test_dup2(void)
{
    int first = file_open(path_of("small"), O_RDONLY);
    int other = file_open(path_of("empty"), O_RDONLY);
    char byte = 0;

    EXPECT(dup2(first, other) == other && read(other, &byte, 1) == 1 && byte == small_text[0], "%s", strerror(errno));
    EXPECT(dup2(first, first) == first && is_open(first), "%s", strerror(errno));
    EXPECT(dup2(first, 100) == 100 && read(100, &byte, 1) == 1 && byte == small_text[1], "%s", strerror(errno));
    EXPECT_ERROR(dup2(first, -1), EBADF);
    EXPECT_ERROR(dup2(99, 5), EBADF);
    EXPECT_ERROR(dup2(99, 99), EBADF);
    EXPECT_ERROR(dup2(first, 100000000), EBADF);
    EXPECT_ERROR(syscall(SYS_dup3, first, first, 0), EINVAL);
    EXPECT_ERROR(syscall(SYS_dup3, first, 100, 1), EINVAL);
    EXPECT(syscall(SYS_dup3, first, 101, O_CLOEXEC) == 101 && fcntl(101, F_GETFD) == FD_CLOEXEC, "%s", strerror(errno));
    EXPECT(fcntl(100, F_GETFD) == 0, "a flag of one descriptor is another's");
    for (int i = 0; i < 4; i++)
        EXPECT(close((int[]){first, other, 100, 101}[i]) == 0, "%d: %s", i, strerror(errno));
}

static void test_fcntl(void)
{
    int file = file_open(path_of("small"), O_RDONLY | O_CLOEXEC);
    int copy = fcntl(file, F_DUPFD, 50);
    int closed = fcntl(file, F_DUPFD_CLOEXEC, 50);

    EXPECT(fcntl(file, F_GETFD) == FD_CLOEXEC, "O_CLOEXEC is not FD_CLOEXEC");
    EXPECT(copy == 50 && closed == 51, "%d and %d", copy, closed);
    EXPECT(fcntl(copy, F_GETFD) == 0 && fcntl(closed, F_GETFD) == FD_CLOEXEC, "flags of the duplicates");
    EXPECT(fcntl(copy, F_SETFD, FD_CLOEXEC) == 0 && fcntl(copy, F_GETFD) == FD_CLOEXEC, "%s", strerror(errno));
    EXPECT((fcntl(file, F_GETFL) & O_ACCMODE) == O_RDONLY, "%#x", fcntl(file, F_GETFL));
    EXPECT(fcntl(file, F_SETFL, O_NONBLOCK | O_WRONLY) == 0, "%s", strerror(errno));
    EXPECT((fcntl(copy, F_GETFL) & (O_ACCMODE | O_NONBLOCK)) == O_NONBLOCK, "%#x", fcntl(copy, F_GETFL));
    EXPECT_ERROR(fcntl(file, F_DUPFD, -1), EINVAL);
    EXPECT_ERROR(fcntl(file, F_DUPFD, 100000000), EINVAL);
    EXPECT_ERROR(fcntl(-1, F_GETFD), EBADF);
    EXPECT_ERROR(fcntl(-1, F_GETFL), EBADF);
    EXPECT_ERROR(fcntl(file, 12345), EINVAL);
    EXPECT(close(file) == 0 && close(copy) == 0 && close(closed) == 0, "%s", strerror(errno));
}

static void test_close_range(void)
{
    int file = file_open(path_of("small"), O_RDONLY);

    for (int to = 200; to < 210; to++)
        EXPECT(dup2(file, to) == to, "%s", strerror(errno));
    if (syscall(SYS_close_range, 203, 205, CLOSE_RANGE_CLOEXEC) != 0 && errno == ENOSYS) {
        tap_skip("no close_range");
        return;
    }
    EXPECT(is_open(203) && fcntl(203, F_GETFD) == FD_CLOEXEC && fcntl(206, F_GETFD) == 0, "marked");
    EXPECT(syscall(SYS_close_range, 202, 204, 0) == 0, "%s", strerror(errno));
    EXPECT(is_open(201) && !is_open(202) && !is_open(204) && is_open(205), "wrong ones");
    EXPECT(syscall(SYS_close_range, 200, -1, 0) == 0 && !is_open(200) && !is_open(209), "%s", strerror(errno));
    EXPECT_ERROR(syscall(SYS_close_range, 5, 4, 0), EINVAL);
    EXPECT_ERROR(syscall(SYS_close_range, 5, 6, 1), EINVAL);
    EXPECT(is_open(file) && close(file) == 0, "%s", strerror(errno));
}

static void test_limit(void)
{
    int file = file_open("/dev/null", O_RDONLY);
    int last = file, next;

    while ((next = dup(file)) >= 0 && next < 2000)
        last = next;
    EXPECT((next == -1 && errno == EMFILE) || next == 2000, "%d: %s", next, strerror(errno));
    EXPECT(last >= 255, "only %d", last);
    for (int i = file; i <= last || i == next; i++)
        EXPECT(close(i) == 0, "%d: %s", i, strerror(errno));
}

/* --- devices, places --- */

static void test_devices(void)
{
    int null = file_open("/dev/null", O_RDWR);
    int zero = file_open("/dev/zero", O_RDWR);
    int full = file_open("/dev/full", O_RDWR);
    char bytes[5000];
    struct stat status;

    EXPECT(read(null, bytes, sizeof(bytes)) == 0 && write(null, bytes, sizeof(bytes)) == sizeof(bytes), "%s",
           strerror(errno));
    memset(bytes, 1, sizeof(bytes));
    EXPECT(read(zero, bytes, sizeof(bytes)) == sizeof(bytes) && bytes[0] == 0 && bytes[4999] == 0, "%s",
           strerror(errno));
    EXPECT(write(zero, bytes, 10) == 10, "%s", strerror(errno));
    EXPECT_ERROR(write(full, bytes, 1), ENOSPC);
    EXPECT(fstat(null, &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == 0x103, "%#lx",
           (long)status.st_rdev);
    EXPECT(!isatty(null) && errno == ENOTTY, "%s", strerror(errno));
    EXPECT(lseek(null, 0, SEEK_SET) == 0, "%s", strerror(errno));
    EXPECT(close(null) == 0 && close(zero) == 0 && close(full) == 0, "%s", strerror(errno));
    EXPECT_ERROR(open("/dev/null", O_RDONLY | O_DIRECTORY), ENOTDIR);
    EXPECT_ERROR(open("/dev/null/x", O_RDONLY), ENOTDIR);
    EXPECT_ERROR(open("/dev/absent", O_RDONLY), ENOENT);
}

static void test_pread(void)
{
    int file = file_open(path_of("small"), O_RDONLY);
    char text[100];
    int left = 0;

    EXPECT(pread(file, text, 4, 5) == 4 && memcmp(text, small_text + 5, 4) == 0, "%.4s", text);
    EXPECT(pread(file, text, sizeof(text), SMALL_SIZE - 3) == 3, "%s", strerror(errno));
    EXPECT(pread(file, text, sizeof(text), 10000) == 0, "%s", strerror(errno));
    EXPECT(lseek(file, 0, SEEK_CUR) == 0, "pread moved");
    EXPECT_ERROR(pread(file, text, 1, -1), EINVAL);
    EXPECT_ERROR(pread(-1, text, 1, 0), EBADF);
    EXPECT_ERROR(pwrite(file, text, 1, 0), EBADF);
    EXPECT(lseek(file, 10, SEEK_SET) == 10 && ioctl(file, FIONREAD, &left) == 0 && left == SMALL_SIZE - 10, "%d", left);
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
    if (!EXPECT(directory != NULL, "%s: %s", path, strerror(errno)))
        return 0;
    while ((errno = 0, entry = readdir(directory)) != NULL) {
        count++;
        *found |= strcmp(entry->d_name, name) == 0;
    }
    EXPECT(errno == 0, "%s: %s", path, strerror(errno));
    rewinddir(directory);
    for (int i = 0; i < count; i++)
        EXPECT(readdir(directory) != NULL, "%d of %d the second time", i, count);
    closedir(directory);
    return count;
}

static void test_list(void)
{
    static const char *const expected[][2] = {{"/", "dev"}, {"/", "proc"}, {"/dev", "null"}, {"/proc", "meminfo"}};
    bool found;

    EXPECT(list(folder, "small", &found) == 5 && found, "the folder of test files");
    list(folder, "..", &found);
    EXPECT(found, "no ..");
    for (size_t i = 0; i < TAP_COUNT(expected); i++) {
        EXPECT(list(expected[i][0], expected[i][1], &found) > 3 && found, "no %s in %s", expected[i][1],
               expected[i][0]);
    }
    if (tap_on_kettle()) {
        EXPECT(list("/", "bin", &found) >= 5 && found, "no bin");
        EXPECT(list("/proc/kettle", "plan", &found) >= 6 && found, "no plan");
    }
}

static void test_entries(void)
{
    int file = file_open(folder, O_RDONLY | O_DIRECTORY);
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    char small[8];

    EXPECT_ERROR(syscall(SYS_getdents64, file, small, sizeof(small)), EINVAL);
    EXPECT_ERROR(syscall(SYS_getdents64, 99, small, sizeof(small)), EBADF);
    EXPECT_ERROR(read(file, small, 1), EISDIR);
    while ((entry = readdir(directory)) != NULL) {
        struct stat status;

        EXPECT(fstatat(file, entry->d_name, &status, 0) == 0, "%s: %s", entry->d_name, strerror(errno));
        EXPECT(entry->d_type == DT_UNKNOWN || (entry->d_type == DT_DIR) == S_ISDIR(status.st_mode), "%s is of type %d",
               entry->d_name, entry->d_type);
        if (S_ISREG(status.st_mode))
            EXPECT(entry->d_ino == status.st_ino, "%s: numbers %lu and %lu", entry->d_name, (long)entry->d_ino,
                   (long)status.st_ino);
    }
    closedir(directory);
    close(file);
    file = file_open(path_of("small"), O_RDONLY);
    EXPECT_ERROR(syscall(SYS_getdents64, file, small, sizeof(small)), ENOTDIR);
    close(file);
}

/* --- the working directory --- */

static void test_folder(void)
{
    char before[PATH_MAX], now[PATH_MAX];
    int file, start;
    struct stat status;

    EXPECT(getcwd(before, sizeof(before)) == before, "%s", strerror(errno));
    start = file_open(".", O_RDONLY | O_DIRECTORY);
    EXPECT(chdir(folder) == 0 && getcwd(now, sizeof(now)) != NULL && strcmp(now, folder) == 0, "%s", now);
    file = file_open("small", O_RDONLY);
    EXPECT(fstat(file, &status) == 0 && status.st_size == SMALL_SIZE, "%s", strerror(errno));
    close(file);
    EXPECT(chdir("..") == 0 && stat("small", &status) == -1 && errno == ENOENT, "%s", strerror(errno));
    EXPECT_ERROR(chdir("absent"), ENOENT);
    EXPECT_ERROR(chdir(path_of("small")), ENOTDIR);
    EXPECT_ERROR(chdir(""), ENOENT);
    EXPECT_ERROR(syscall(SYS_getcwd, now, 1), ERANGE);
    EXPECT(fchdir(start) == 0 && getcwd(now, sizeof(now)) != NULL && strcmp(now, before) == 0, "%s", now);
    EXPECT_ERROR(fchdir(-1), EBADF);
    close(start);
}

static void test_at(void)
{
    int directory = file_open(folder, O_RDONLY | O_DIRECTORY);
    int file = openat(directory, "small", O_RDONLY);

    EXPECT(file >= 0, "%s", strerror(errno));
    EXPECT_ERROR(openat(file, "small", O_RDONLY), ENOTDIR);
    EXPECT_ERROR(fchdir(file), ENOTDIR);
    EXPECT_ERROR(openat(99, "small", O_RDONLY), EBADF);
    EXPECT(faccessat(directory, "small", R_OK, 0) == 0, "%s", strerror(errno));
    EXPECT_ERROR(faccessat(directory, "absent", F_OK, 0), ENOENT);
    EXPECT_ERROR(faccessat(directory, "small", X_OK, 0), EACCES);
    EXPECT(access("/dev/null", R_OK | W_OK) == 0, "%s", strerror(errno));
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

    EXPECT(length > 0 && link[0] == '/', "%zd: %s", length, link);
    EXPECT(stat("/proc/self/exe", &one) == 0 && stat(run, &other) == 0 && one.st_ino == other.st_ino, "%s",
           strerror(errno));
    EXPECT(lstat("/proc/self/exe", &one) == 0 && S_ISLNK(one.st_mode), "%#o", one.st_mode);
    EXPECT(readlink("/proc/self/exe", link, 3) == 3, "%s", strerror(errno));
    EXPECT_ERROR(readlink(path_of("small"), link, sizeof(link)), EINVAL);
    EXPECT_ERROR(readlink(path_of("absent"), link, sizeof(link)), ENOENT);
    EXPECT_ERROR(syscall(SYS_readlink, "/proc/self/exe", link, 0), EINVAL);
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
        EXPECT(size > 0 && strstr(text, files[i][1]) != NULL, "%s: %s", files[i][0], text);
        close(file);
    }
    EXPECT_ERROR(open("/proc/absent", O_RDONLY), ENOENT);
    EXPECT_ERROR(open("/proc/meminfo/x", O_RDONLY), ENOTDIR);
}

static void test_everywhere(void);

static const struct tap_test tests[] = {
    {"dup takes the lowest number and shares the place", test_dup},
    {"dup2 and dup3 replace what was there", test_dup2},
    {"fcntl duplicates, and keeps flags of descriptors and files apart", test_fcntl},
    {"close_range closes or marks a range", test_close_range},
    {"a process has many descriptors, and EMFILE after them", test_limit},
    {"null, zero and full are what their names say", test_devices},
    {"pread reads anywhere and moves nothing", test_pread},
    {"directories list what they hold, twice the same", test_list},
    {"entries are what stat says", test_entries},
    {"relative paths start at the working directory", test_folder},
    {"paths start at a directory's descriptor", test_at},
    {"a program finds its own file", test_self},
    {"/proc tells of the machine", test_proc},
    {"all this is so on every kernel", test_everywhere},
};

static void test_everywhere(void)
{
    int kernels[64];
    int count = tap_kernels(kernels);
    int home = kettle_kernel();

    if (tap_skip_alone())
        return;
    for (int k = 0; k < count && k < 8; k++) {
        EXPECT(kettle_migrate(kernels[k]) == 0, "%s", strerror(errno));
        for (size_t i = 0; i + 1 < TAP_COUNT(tests); i++)
            tests[i].run();
    }
    EXPECT(kettle_migrate(home) == 0, "%s", strerror(errno));
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--dir") == 0) {
        folder = argv[2];
    } else if (argc != 1) {
        puts("usage: test-descriptors [--dir FOLDER]\n\nChecks descriptors, directories and devices; writes TAP.");
        return strcmp(argv[1], "--help") == 0 ? 0 : 2;
    }
    return tap_run(tests, TAP_COUNT(tests));
}
