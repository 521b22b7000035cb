/* test-files: files of the initramfs and of /proc/kettle, from every kernel.
 *
 *     test-files [--dir DIRECTORY] [--expect PATH TEXT]...
 *
 * DIRECTORY holds the files of tests/guest/files, /share/test in the image. Each --expect names a file that
 * was added from the host and what it must contain.
 *
 * Long because it is a list: every test is short and stands alone. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"

#define PAGE 4096l
#define EXPECTED_MAX 32
#define KERNELS_FEW 8

static const char small_text[] = "This text is the contents of a small file.\n";
#define SMALL_SIZE ((ssize_t)sizeof(small_text) - 1)

static const char *directory = "/share/test";
static struct {
    const char *path;
    const char *text;
} expected[EXPECTED_MAX];
static int expected_count;

/* A path in the directory of test files; the last few stay valid. */
static const char *path_of(const char *name)
{
    static char paths[4][PATH_MAX];
    static int next;
    char *path = paths[next++ % 4];

    snprintf(path, PATH_MAX, "%s/%s", directory, name);
    return path;
}

static int file_open(const char *path)
{
    int file = open(path, O_RDONLY);

    CHECK(file >= 0, "%s: %s", path, strerror(errno));
    return file;
}

static void file_close(int file)
{
    CHECK(close(file) == 0, "descriptor %d: %s", file, strerror(errno));
}

/* Reads FILE from where it stands to its end in steps of STEP bytes. Returns a string, for free, *SIZE bytes
 * long. */
static char *read_all(int file, size_t step, size_t *size)
{
    size_t room = 1 << 16;
    char *text = malloc(room + step + 1);
    ssize_t count = -1;

    *size = 0;
    while (text != NULL && (count = read(file, text + *size, step)) > 0) {
        CHECK((size_t)count <= step, "%zd bytes for %zu", count, step);
        *size += (size_t)count;
        if (*size > room) {
            char *more = realloc(text, (room *= 2) + step + 1);

            if (more == NULL)
                free(text);
            text = more;
        }
    }
    CHECK(count == 0, "after %zu bytes: %s", *size, strerror(errno));
    if (text == NULL)
        exit(1);
    text[*size] = '\0';
    return text;
}

/* --- reading --- */

static void test_read(void)
{
    int file = file_open(path_of("small"));
    char text[200];

    memset(text, '#', sizeof(text));
    CHECK(read(file, text, sizeof(text)) == SMALL_SIZE, "%s", strerror(errno));
    CHECK(memcmp(text, small_text, SMALL_SIZE) == 0, "%.*s", (int)SMALL_SIZE, text);
    CHECK(text[SMALL_SIZE] == '#', "more was written than read");
    CHECK(read(file, text, sizeof(text)) == 0, "the end of the file is not the end");
    CHECK(read(file, text, 0) == 0, "%s", strerror(errno));
    file_close(file);
}

static void test_read_steps(void)
{
    for (size_t step = 1; step < 50; step += 7) {
        int file = file_open(path_of("small"));
        size_t size;
        char *text = read_all(file, step, &size);

        CHECK((ssize_t)size == SMALL_SIZE && memcmp(text, small_text, size) == 0, "%zu bytes in steps of %zu", size,
              step);
        free(text);
        file_close(file);
    }
}

static void test_empty(void)
{
    int file = file_open(path_of("empty"));
    struct stat status = {0};
    char byte;

    CHECK(read(file, &byte, 1) == 0, "%s", strerror(errno));
    CHECK(fstat(file, &status) == 0 && status.st_size == 0, "%lld bytes", (long long)status.st_size);
    file_close(file);
}

/* This program's own file is large, and what it must contain is in memory: segments that cannot change. */
static void test_large(void)
{
    static const size_t steps[] = {PAGE, 100000, 3 * PAGE + 1, 777};
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    const char *path = (const char *)getauxval(AT_EXECFN);

    for (size_t i = 0; i < TAP_COUNT(steps); i++) {
        int file = file_open(path);
        size_t size;
        char *text = read_all(file, steps[i], &size);
        int compared = 0;

        CHECK(size > 16 * PAGE, "%zu bytes", size);
        for (unsigned long j = 0; j < getauxval(AT_PHNUM); j++) {
            const ElfW(Phdr) *header = &headers[j];

            if (header->p_type != PT_LOAD || (header->p_flags & PF_W) != 0)
                continue;
            compared++;
            CHECK(header->p_offset + header->p_filesz <= size &&
                      memcmp(text + header->p_offset, (const void *)header->p_vaddr, header->p_filesz) == 0,
                  "segment %lu differs from the file", j);
        }
        CHECK(compared >= 2, "%d segments compared", compared);
        free(text);
        file_close(file);
    }
}

static void test_stdio(void)
{
    FILE *file = fopen(path_of("small"), "r");
    FILE *absent;
    int closed;
    char word[16] = "";
    char line[100];

    CHECK(file != NULL, "%s", strerror(errno));
    if (file == NULL)
        return;
    CHECK(fscanf(file, "%15s", word) == 1 && strcmp(word, "This") == 0, "%s", word);
    CHECK(fseek(file, 5, SEEK_SET) == 0 && ftell(file) == 5, "%s", strerror(errno));
    CHECK(fgets(line, sizeof(line), file) != NULL && strcmp(line, small_text + 5) == 0, "%s", line);
    CHECK(fgetc(file) == EOF && feof(file) && !ferror(file), "the end is not the end");
    CHECK(fseek(file, -2, SEEK_END) == 0 && fgetc(file) == '.', "%s", strerror(errno));
    closed = fclose(file);
    CHECK(closed == 0, "%s", strerror(errno));
    absent = fopen(path_of("absent"), "r");
    CHECK(absent == NULL && errno == ENOENT, "%s", strerror(errno));
    if (absent != NULL)
        fclose(absent);
}

static void test_seek(void)
{
    int file = file_open(path_of("small"));
    char byte = 0;

    CHECK(lseek(file, 0, SEEK_CUR) == 0, "starts at the start");
    CHECK(lseek(file, 8, SEEK_SET) == 8 && read(file, &byte, 1) == 1 && byte == small_text[8], "%c", byte);
    CHECK(lseek(file, 0, SEEK_CUR) == 9, "reading moves on");
    CHECK(lseek(file, -4, SEEK_CUR) == 5 && read(file, &byte, 1) == 1 && byte == small_text[5], "%c", byte);
    CHECK(lseek(file, -1, SEEK_END) == SMALL_SIZE - 1 && read(file, &byte, 1) == 1 && byte == '\n', "%c", byte);
    CHECK(lseek(file, 1000, SEEK_END) == SMALL_SIZE + 1000 && read(file, &byte, 1) == 0, "behind the end");
    CHECK_ERROR(lseek(file, -1, SEEK_SET), EINVAL);
    CHECK_ERROR(lseek(file, -SMALL_SIZE - 1, SEEK_END), EINVAL);
    CHECK_ERROR(lseek(file, LONG_MIN, SEEK_CUR), EINVAL);
    CHECK_ERROR(lseek(file, 0, 99), EINVAL);
    CHECK(lseek(file, 0, SEEK_CUR) == SMALL_SIZE + 1000, "a refused seek moved");
    file_close(file);
}

static void test_readv(void)
{
    int file = file_open(path_of("small"));
    char a[5] = "....";
    char b[200];
    struct iovec parts[] = {{a, 4}, {NULL, 0}, {b, sizeof(b)}};
    struct iovec bad = {TAP_UNMAPPED, 10};

    CHECK(readv(file, parts, 3) == SMALL_SIZE, "%s", strerror(errno));
    CHECK(memcmp(a, small_text, 4) == 0 && memcmp(b, small_text + 4, SMALL_SIZE - 4) == 0, "%s", a);
    CHECK(readv(file, parts, 3) == 0, "the end is not the end");
    lseek(file, 0, SEEK_SET);
    CHECK_ERROR(readv(file, &bad, 1), EFAULT);
    CHECK_ERROR(readv(file, parts, -1), EINVAL);
    CHECK_ERROR(readv(-1, parts, 3), EBADF);
    file_close(file);
}

static void test_read_memory(void)
{
    int file = file_open(path_of("small"));
    char *area = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (!CHECK(area != MAP_FAILED, "%s", strerror(errno)))
        return;
    /* Into two pages never touched. */
    CHECK(read(file, area + PAGE - 20, 100) == SMALL_SIZE, "%s", strerror(errno));
    CHECK(memcmp(area + PAGE - 20, small_text, SMALL_SIZE) == 0, "wrong bytes");
    lseek(file, 0, SEEK_SET);
    CHECK_ERROR(read(file, NULL, 10), EFAULT);
    CHECK_ERROR(read(file, TAP_UNMAPPED, 10), EFAULT);
    CHECK_ERROR(read(file, TAP_KERNEL_ADDRESS, 10), EFAULT);
    CHECK_ERROR(read(file, TAP_NONCANONICAL, 10), EFAULT);
    CHECK_ERROR(read(file, (char *)small_text, 10), EFAULT);
    CHECK_ERROR(read(file, area, (size_t)-1), EFAULT);
    file_close(file);
    munmap(area, 3 * PAGE);
}

/* --- descriptors --- */

static void test_descriptors(void)
{
    int first = file_open(path_of("small"));
    int second = file_open(path_of("small"));
    int again;
    char byte = 0;

    CHECK(first > 2 && second > first, "%d and %d", first, second);
    CHECK(read(first, &byte, 1) == 1 && byte == small_text[0], "%c", byte);
    CHECK(read(first, &byte, 1) == 1 && byte == small_text[1], "%c", byte);
    CHECK(read(second, &byte, 1) == 1 && byte == small_text[0], "two openings share their place");
    file_close(first);
    again = file_open(path_of("empty"));
    CHECK(again == first, "%d, though %d is free", again, first);
    CHECK(read(second, &byte, 1) == 1 && byte == small_text[1], "closing one closes another");
    file_close(again);
    file_close(second);
}

static void test_many(void)
{
    for (int i = 0; i < 2000; i++) {
        int file = open(path_of("small"), O_RDONLY);

        if (!CHECK(file >= 0 && close(file) == 0, "opening %d: %s", i, strerror(errno)))
            return;
    }
}

static void test_bad_descriptors(void)
{
    int closed = file_open(path_of("small"));
    const int bad[] = {-1, closed, 1000000, INT_MAX, INT_MIN};
    struct stat status;
    char byte = 0;

    file_close(closed);
    for (size_t i = 0; i < TAP_COUNT(bad); i++) {
        CHECK_ERROR(read(bad[i], &byte, 1), EBADF);
        CHECK_ERROR(read(bad[i], TAP_UNMAPPED, 1), EBADF);
        CHECK_ERROR(write(bad[i], &byte, 1), EBADF);
        CHECK_ERROR(lseek(bad[i], 0, SEEK_CUR), EBADF);
        CHECK_ERROR(close(bad[i]), EBADF);
        CHECK_ERROR(syscall(SYS_fstat, bad[i], &status), EBADF);
    }
}

static void test_status(void)
{
    struct stat status;
    struct stat other;
    int file = file_open(path_of("small"));

    memset(&status, 0xff, sizeof(status));
    CHECK(fstat(file, &status) == 0, "%s", strerror(errno));
    CHECK(S_ISREG(status.st_mode), "mode %#o", status.st_mode);
    CHECK(status.st_size == SMALL_SIZE, "%lld bytes", (long long)status.st_size);
    CHECK(status.st_nlink >= 1 && status.st_blksize > 0, "%ld links, blocks of %ld", (long)status.st_nlink,
          (long)status.st_blksize);
    CHECK(stat(path_of("small"), &other) == 0, "%s", strerror(errno));
    CHECK(other.st_ino == status.st_ino && other.st_dev == status.st_dev && other.st_size == status.st_size,
          "the path's status is not the descriptor's");
    CHECK(stat(path_of("empty"), &other) == 0 && other.st_ino != status.st_ino, "two files have one number");
    CHECK(stat(directory, &other) == 0 && S_ISDIR(other.st_mode), "mode %#o", other.st_mode);
    CHECK_ERROR(stat(path_of("absent"), &other), ENOENT);
    CHECK_ERROR(syscall(SYS_fstat, file, TAP_UNMAPPED), EFAULT);
    file_close(file);
    if (tap_on_kettle())
        CHECK(fstat(1, &status) == 0 && S_ISCHR(status.st_mode), "the terminal's mode is %#o", status.st_mode);
}

/* --- what cannot be opened, read or written --- */

static void test_open_errors(void)
{
    static char name[5000];
    char *area = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK_ERROR(open("/no/such/file", O_RDONLY), ENOENT);
    CHECK_ERROR(open(path_of("absent"), O_RDONLY), ENOENT);
    CHECK_ERROR(open("", O_RDONLY), ENOENT);
    CHECK_ERROR(open(path_of("small/below"), O_RDONLY), ENOTDIR);
    CHECK_ERROR(open(path_of("small/"), O_RDONLY), ENOTDIR);
    CHECK_ERROR(open(path_of("small"), O_RDONLY | O_DIRECTORY), ENOTDIR);
    CHECK_ERROR(open(NULL, O_RDONLY), EFAULT);
    CHECK_ERROR(open(TAP_UNMAPPED, O_RDONLY), EFAULT);
    CHECK_ERROR(open(TAP_KERNEL_ADDRESS, O_RDONLY), EFAULT);
    memset(name, 'n', sizeof(name) - 1);
    name[0] = '/';
    CHECK_ERROR(open(name, O_RDONLY), ENAMETOOLONG);
    name[300] = '\0';
    CHECK_ERROR(open(name, O_RDONLY), ENAMETOOLONG);
    name[200] = '\0';
    CHECK_ERROR(open(name, O_RDONLY), ENOENT);
    if (CHECK(area != MAP_FAILED && munmap(area + PAGE, PAGE) == 0, "%s", strerror(errno))) {
        memset(area, 'x', PAGE);
        CHECK_ERROR(open(area + PAGE - 10, O_RDONLY), EFAULT);
        area[PAGE - 1] = '\0';
        CHECK_ERROR(open(area + PAGE - 10, O_RDONLY), ENOENT);
        munmap(area, PAGE);
    }
}

static void test_paths(void)
{
    static const char *const same[] = {"small", "./small", ".//small", "../test/small", "./../test/./small"};
    const char *name = strrchr(directory, '/') != NULL ? strrchr(directory, '/') + 1 : directory;

    for (size_t i = 0; i < TAP_COUNT(same); i++) {
        struct stat status;

        if (strstr(same[i], "..") != NULL && strcmp(name, "test") != 0)
            continue;
        CHECK(stat(path_of(same[i]), &status) == 0 && status.st_size == SMALL_SIZE, "%s: %s", same[i], strerror(errno));
    }
}

static void test_directory(void)
{
    int file = file_open(directory);
    char byte;

    CHECK_ERROR(read(file, &byte, 1), EISDIR);
    CHECK_ERROR(open(directory, O_WRONLY), EISDIR);
    CHECK_ERROR(open(directory, O_RDWR), EISDIR);
    file_close(file);
}

static bool refused(int file)
{
    int error = errno;

    if (file >= 0)
        close(file);
    errno = error;
    return file == -1 && (error == EROFS || error == EACCES);
}

static void test_write_errors(void)
{
    int file = file_open(path_of("small"));

    CHECK_ERROR(write(file, "x", 1), EBADF);
    file_close(file);
    CHECK_ERROR(open(path_of("small"), O_RDONLY | O_CREAT | O_EXCL, 0644), EEXIST);
    if (tap_on_kettle())
        CHECK(refused(open("/proc/kettle/plan", O_WRONLY)), "to write the plan: %s", strerror(errno));
}

static void test_spawn_errors(void)
{
    char *argv[] = {"x", NULL};

    CHECK_ERROR(kettle_spawn(kettle_kernel(), path_of("small"), argv, environ, NULL), EACCES);
    CHECK_ERROR(kettle_spawn(kettle_kernel(), path_of("garbage"), argv, environ, NULL), ENOEXEC);
    CHECK_ERROR(kettle_spawn(kettle_kernel(), path_of("small/below"), argv, environ, NULL), ENOTDIR);
    CHECK_ERROR(kettle_spawn(kettle_kernel(), path_of("absent"), argv, environ, NULL), ENOENT);
    CHECK_ERROR(kettle_spawn(kettle_kernel(), directory, argv, environ, NULL), EACCES);
}

static void test_terminal(void)
{
    struct stat status;

    if (fstat(1, &status) != 0 || S_ISREG(status.st_mode)) {
        tap_skip("standard output is a file");
        return;
    }
    if (S_ISCHR(status.st_mode) && !tap_on_kettle()) {
        tap_skip("terminals differ in what seeking on them does");
        return;
    }
    CHECK_ERROR(lseek(1, 0, SEEK_CUR), ESPIPE);
}

/* --- /proc/kettle --- */

static size_t lines_of(const char *text)
{
    size_t lines = 0;

    for (; *text != '\0'; text++)
        lines += *text == '\n';
    return lines;
}

static void test_proc(void)
{
    static const char *const names[] = {"plan", "kernels", "messages", "syscalls"};

    if (!tap_on_kettle()) {
        tap_skip("no Kettle");
        return;
    }
    syscall(SYS_nfsservctl); /* so that /proc/kettle/syscalls has something to say: it counts what is in the table */
    for (size_t i = 0; i < TAP_COUNT(names); i++) {
        char path[64];
        size_t size;
        char *text;
        int file;

        snprintf(path, sizeof(path), "/proc/kettle/%s", names[i]);
        file = file_open(path);
        if (file < 0)
            continue;
        text = read_all(file, PAGE, &size);
        CHECK(size == 0 || text[size - 1] == '\n', "%s does not end in a line", path);
        CHECK(strlen(text) == size, "%s contains a NUL", path);
        if (strcmp(names[i], "plan") == 0 || strcmp(names[i], "kernels") == 0)
            CHECK(lines_of(text) >= (size_t)kettle_kernels(), "%s has %zu lines for %d kernels", path, lines_of(text),
                  kettle_kernels());
        CHECK(size > 0 || strcmp(names[i], "messages") == 0, "%s is empty", path);
        free(text);
        file_close(file);
    }
    CHECK_ERROR(open("/proc/kettle/absent", O_RDONLY), ENOENT);
}

static void test_proc_steps(void)
{
    char *whole;
    size_t whole_size;
    int file;

    if (!tap_on_kettle()) {
        tap_skip("no Kettle");
        return;
    }
    file = file_open("/proc/kettle/plan");
    whole = read_all(file, 65536, &whole_size);
    for (size_t step = 1; step < 200; step += 33) {
        size_t size;
        char *text;

        CHECK(lseek(file, 0, SEEK_SET) == 0, "%s", strerror(errno));
        text = read_all(file, step, &size);
        CHECK(size == whole_size && memcmp(text, whole, size) == 0, "differs in steps of %zu", step);
        free(text);
    }
    free(whole);
    file_close(file);
}

/* --- files from the host, and from other kernels --- */

static void test_expected(void)
{
    if (expected_count == 0) {
        tap_skip("no --expect given");
        return;
    }
    for (int i = 0; i < expected_count; i++) {
        size_t size;
        char *text;
        int file = file_open(expected[i].path);

        if (file < 0)
            continue;
        text = read_all(file, 1000, &size);
        CHECK(strcmp(text, expected[i].text) == 0, "%s holds '%s', not '%s'", expected[i].path, text, expected[i].text);
        free(text);
        file_close(file);
    }
}

static void test_away(void)
{
    int kernels[64];
    int count = tap_kernels(kernels);
    int home = kettle_kernel();

    if (tap_skip_alone())
        return;
    for (int i = 0; i < count && i < KERNELS_FEW; i++) {
        CHECK(kettle_migrate(kernels[i]) == 0, "%s", strerror(errno));
        test_read();
        test_large();
        test_seek();
        test_read_memory();
        test_descriptors();
        test_bad_descriptors();
        test_open_errors();
        test_write_errors();
        test_proc();
        if (expected_count > 0)
            test_expected();
    }
    CHECK(kettle_migrate(home) == 0, "%s", strerror(errno));
}

static void test_away_shared(void)
{
    int kernels[64];
    int count = tap_kernels(kernels);
    int home = kettle_kernel();
    int file;

    if (tap_skip_alone())
        return;
    /* One opening, read a byte on each kernel in turn, closed on the last. */
    file = file_open(path_of("small"));
    for (ssize_t i = 0; i < SMALL_SIZE; i++) {
        char byte = 0;

        CHECK(kettle_migrate(kernels[i % count]) == 0, "%s", strerror(errno));
        CHECK(read(file, &byte, 1) == 1 && byte == small_text[i], "byte %zd is %c", i, byte);
        CHECK(lseek(file, 0, SEEK_CUR) == i + 1, "at %ld behind byte %zd", (long)lseek(file, 0, SEEK_CUR), i);
    }
    file_close(file);
    CHECK(kettle_migrate(home) == 0, "%s", strerror(errno));
    CHECK_ERROR(close(file), EBADF);
    /* Opened away, read and closed at home. */
    CHECK(kettle_migrate(kernels[count - 1]) == 0, "%s", strerror(errno));
    file = file_open(path_of("small"));
    CHECK(kettle_migrate(home) == 0, "%s", strerror(errno));
    CHECK(lseek(file, 3, SEEK_SET) == 3, "%s", strerror(errno));
    file_close(file);
}

static const struct tap_test tests[] = {
    {"read", "a small file is read with its exact contents", test_read},
    {"read-steps", "a file reads the same in steps of any size", test_read_steps},
    {"empty", "an empty file is empty", test_empty},
    {"large", "a large file has the contents that were loaded", test_large},
    {"stdio", "stdio reads and seeks in files", test_stdio},
    {"seek", "lseek counts from the start, the offset and the end", test_seek},
    {"readv", "readv fills its parts in order", test_readv},
    {"read-memory", "read writes where the program may and nowhere else", test_read_memory},
    {"descriptors", "each open has the lowest free number and an offset of its own", test_descriptors},
    {"many", "two thousand opens and closes leave nothing open", test_many},
    {"bad-descriptors", "bad descriptors are EBADF", test_bad_descriptors},
    {"status", "fstat and stat describe files", test_status},
    {"open-errors", "open refuses bad paths with the right error", test_open_errors},
    {"paths", "dots and double slashes in paths have their meaning", test_paths},
    {"directory", "a directory can be opened, and cannot be read as a file", test_directory},
    {"write-errors", "files that are read-only are not written", test_write_errors},
    {"spawn-errors", "files that are no programs are not started", test_spawn_errors},
    {"terminal", "lseek of the terminal is refused", test_terminal},
    {"proc", "each file of /proc/kettle has lines of text", test_proc},
    {"proc-steps", "/proc/kettle/plan reads the same in steps of any size", test_proc_steps},
    {"expected", "files added from the host are there with their contents", test_expected},
    {"away", "files are the same on every kernel", test_away},
    {"away-shared", "an open file keeps its offset when its program moves", test_away_shared},
};

int main(int argc, char **argv)
{
    static const struct tap_program program = {
        .tests = tests, .count = TAP_COUNT(tests), .parameters = "[--dir DIRECTORY] [--expect PATH TEXT]..."};
    const char *value;

    if ((value = tap_take_value(&argc, &argv, "--dir")) != NULL)
        directory = value;
    while (expected_count < EXPECTED_MAX && argc > 2 && (value = tap_take_value(&argc, &argv, "--expect")) != NULL) {
        expected[expected_count].path = value;
        expected[expected_count++].text = argv[1];
        tap_take(&argc, &argv, argv[1]);
    }
    return tap_main(argc, argv, &program);
}
