/* test-files: files of the initramfs and of /proc/kettle, from every kernel.
 *
 *     test-files [--dir FOLDER] [--expect PATH TEXT]...
 *
 * FOLDER holds the files of userland/tests/files, /share/test in the image. Each --expect names a file that
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
#include "userland/tests/tap.h"

#define PAGE 4096l
#define EXPECTED_MAX 32
#define KERNELS_FEW 8

static const char small_text[] = "This text is the contents of a small file.\n";
#define SMALL_SIZE ((ssize_t)sizeof(small_text) - 1)

static const char *folder = "/share/test";
static struct {
    const char *path;
    const char *text;
} expected[EXPECTED_MAX];
static int expected_count;

/* A path in the folder of test files; the last few stay valid. */
static const char *path_of(const char *name)
{
    static char paths[4][PATH_MAX];
    static int next;
    char *path = paths[next++ % 4];

    snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return path;
}

static int file_open(const char *path)
{
    int file = open(path, O_RDONLY);

    EXPECT(file >= 0, "%s: %s", path, strerror(errno));
    return file;
}

static void file_close(int file)
{
    EXPECT(close(file) == 0, "descriptor %d: %s", file, strerror(errno));
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
        EXPECT((size_t)count <= step, "%zd bytes for %zu", count, step);
        *size += (size_t)count;
        if (*size > room) {
            char *more = realloc(text, (room *= 2) + step + 1);

            if (more == NULL)
                free(text);
            text = more;
        }
    }
    EXPECT(count == 0, "after %zu bytes: %s", *size, strerror(errno));
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
    EXPECT(read(file, text, sizeof(text)) == SMALL_SIZE, "%s", strerror(errno));
    EXPECT(memcmp(text, small_text, SMALL_SIZE) == 0, "%.*s", (int)SMALL_SIZE, text);
    EXPECT(text[SMALL_SIZE] == '#', "more was written than read");
    EXPECT(read(file, text, sizeof(text)) == 0, "the end of the file is not the end");
    EXPECT(read(file, text, 0) == 0, "%s", strerror(errno));
    file_close(file);
}

static void test_read_steps(void)
{
    for (size_t step = 1; step < 50; step += 7) {
        int file = file_open(path_of("small"));
        size_t size;
        char *text = read_all(file, step, &size);

        EXPECT((ssize_t)size == SMALL_SIZE && memcmp(text, small_text, size) == 0, "%zu bytes in steps of %zu", size,
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

    EXPECT(read(file, &byte, 1) == 0, "%s", strerror(errno));
    EXPECT(fstat(file, &status) == 0 && status.st_size == 0, "%lld bytes", (long long)status.st_size);
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

        EXPECT(size > 16 * PAGE, "%zu bytes", size);
        for (unsigned long j = 0; j < getauxval(AT_PHNUM); j++) {
            const ElfW(Phdr) *header = &headers[j];

            if (header->p_type != PT_LOAD || (header->p_flags & PF_W) != 0)
                continue;
            compared++;
            EXPECT(header->p_offset + header->p_filesz <= size &&
                       memcmp(text + header->p_offset, (const void *)header->p_vaddr, header->p_filesz) == 0,
                   "segment %lu differs from the file", j);
        }
        EXPECT(compared >= 2, "%d segments compared", compared);
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

    EXPECT(file != NULL, "%s", strerror(errno));
    if (file == NULL)
        return;
    EXPECT(fscanf(file, "%15s", word) == 1 && strcmp(word, "This") == 0, "%s", word);
    EXPECT(fseek(file, 5, SEEK_SET) == 0 && ftell(file) == 5, "%s", strerror(errno));
    EXPECT(fgets(line, sizeof(line), file) != NULL && strcmp(line, small_text + 5) == 0, "%s", line);
    EXPECT(fgetc(file) == EOF && feof(file) && !ferror(file), "the end is not the end");
    EXPECT(fseek(file, -2, SEEK_END) == 0 && fgetc(file) == '.', "%s", strerror(errno));
    closed = fclose(file);
    EXPECT(closed == 0, "%s", strerror(errno));
    absent = fopen(path_of("absent"), "r");
    EXPECT(absent == NULL && errno == ENOENT, "%s", strerror(errno));
    if (absent != NULL)
        fclose(absent);
}

static void test_seek(void)
{
    int file = file_open(path_of("small"));
    char byte = 0;

    EXPECT(lseek(file, 0, SEEK_CUR) == 0, "starts at the start");
    EXPECT(lseek(file, 8, SEEK_SET) == 8 && read(file, &byte, 1) == 1 && byte == small_text[8], "%c", byte);
    EXPECT(lseek(file, 0, SEEK_CUR) == 9, "reading moves on");
    EXPECT(lseek(file, -4, SEEK_CUR) == 5 && read(file, &byte, 1) == 1 && byte == small_text[5], "%c", byte);
    EXPECT(lseek(file, -1, SEEK_END) == SMALL_SIZE - 1 && read(file, &byte, 1) == 1 && byte == '\n', "%c", byte);
    EXPECT(lseek(file, 1000, SEEK_END) == SMALL_SIZE + 1000 && read(file, &byte, 1) == 0, "behind the end");
    EXPECT_ERROR(lseek(file, -1, SEEK_SET), EINVAL);
    EXPECT_ERROR(lseek(file, -SMALL_SIZE - 1, SEEK_END), EINVAL);
    EXPECT_ERROR(lseek(file, LONG_MIN, SEEK_CUR), EINVAL);
    EXPECT_ERROR(lseek(file, 0, 99), EINVAL);
    EXPECT(lseek(file, 0, SEEK_CUR) == SMALL_SIZE + 1000, "a refused seek moved");
    file_close(file);
}

static void test_readv(void)
{
    int file = file_open(path_of("small"));
    char a[5] = "....";
    char b[200];
    struct iovec parts[] = {{a, 4}, {NULL, 0}, {b, sizeof(b)}};
    struct iovec bad = {TAP_UNMAPPED, 10};

    EXPECT(readv(file, parts, 3) == SMALL_SIZE, "%s", strerror(errno));
    EXPECT(memcmp(a, small_text, 4) == 0 && memcmp(b, small_text + 4, SMALL_SIZE - 4) == 0, "%s", a);
    EXPECT(readv(file, parts, 3) == 0, "the end is not the end");
    lseek(file, 0, SEEK_SET);
    EXPECT_ERROR(readv(file, &bad, 1), EFAULT);
    EXPECT_ERROR(readv(file, parts, -1), EINVAL);
    EXPECT_ERROR(readv(-1, parts, 3), EBADF);
    file_close(file);
}

static void test_read_memory(void)
{
    int file = file_open(path_of("small"));
    char *area = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (!EXPECT(area != MAP_FAILED, "%s", strerror(errno)))
        return;
    /* Into two pages never touched. */
    EXPECT(read(file, area + PAGE - 20, 100) == SMALL_SIZE, "%s", strerror(errno));
    EXPECT(memcmp(area + PAGE - 20, small_text, SMALL_SIZE) == 0, "wrong bytes");
    lseek(file, 0, SEEK_SET);
    EXPECT_ERROR(read(file, NULL, 10), EFAULT);
    EXPECT_ERROR(read(file, TAP_UNMAPPED, 10), EFAULT);
    EXPECT_ERROR(read(file, TAP_KERNEL_ADDRESS, 10), EFAULT);
    EXPECT_ERROR(read(file, TAP_NONCANONICAL, 10), EFAULT);
    EXPECT_ERROR(read(file, (char *)small_text, 10), EFAULT);
    EXPECT_ERROR(read(file, area, (size_t)-1), EFAULT);
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

    EXPECT(first > 2 && second > first, "%d and %d", first, second);
    EXPECT(read(first, &byte, 1) == 1 && byte == small_text[0], "%c", byte);
    EXPECT(read(first, &byte, 1) == 1 && byte == small_text[1], "%c", byte);
    EXPECT(read(second, &byte, 1) == 1 && byte == small_text[0], "two openings share their place");
    file_close(first);
    again = file_open(path_of("empty"));
    EXPECT(again == first, "%d, though %d is free", again, first);
    EXPECT(read(second, &byte, 1) == 1 && byte == small_text[1], "closing one closes another");
    file_close(again);
    file_close(second);
}

static void test_many(void)
{
    for (int i = 0; i < 2000; i++) {
        int file = open(path_of("small"), O_RDONLY);

        if (!EXPECT(file >= 0 && close(file) == 0, "opening %d: %s", i, strerror(errno)))
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
        EXPECT_ERROR(read(bad[i], &byte, 1), EBADF);
        EXPECT_ERROR(read(bad[i], TAP_UNMAPPED, 1), EBADF);
        EXPECT_ERROR(write(bad[i], &byte, 1), EBADF);
        EXPECT_ERROR(lseek(bad[i], 0, SEEK_CUR), EBADF);
        EXPECT_ERROR(close(bad[i]), EBADF);
        EXPECT_ERROR(syscall(SYS_fstat, bad[i], &status), EBADF);
    }
}

static void test_status(void)
{
    struct stat status;
    struct stat other;
    int file = file_open(path_of("small"));

    memset(&status, 0xff, sizeof(status));
    EXPECT(fstat(file, &status) == 0, "%s", strerror(errno));
    EXPECT(S_ISREG(status.st_mode), "mode %#o", status.st_mode);
    EXPECT(status.st_size == SMALL_SIZE, "%lld bytes", (long long)status.st_size);
    EXPECT(status.st_nlink >= 1 && status.st_blksize > 0, "%ld links, blocks of %ld", (long)status.st_nlink,
           (long)status.st_blksize);
    EXPECT(stat(path_of("small"), &other) == 0, "%s", strerror(errno));
    EXPECT(other.st_ino == status.st_ino && other.st_dev == status.st_dev && other.st_size == status.st_size,
           "the path's status is not the descriptor's");
    EXPECT(stat(path_of("empty"), &other) == 0 && other.st_ino != status.st_ino, "two files have one number");
    EXPECT(stat(folder, &other) == 0 && S_ISDIR(other.st_mode), "mode %#o", other.st_mode);
    EXPECT_ERROR(stat(path_of("absent"), &other), ENOENT);
    EXPECT_ERROR(syscall(SYS_fstat, file, TAP_UNMAPPED), EFAULT);
    file_close(file);
    if (tap_on_kettle())
        EXPECT(fstat(1, &status) == 0 && S_ISCHR(status.st_mode), "the terminal's mode is %#o", status.st_mode);
}

/* --- what cannot be opened, read or written --- */

static void test_open_errors(void)
{
    static char name[5000];
    char *area = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    EXPECT_ERROR(open("/no/such/file", O_RDONLY), ENOENT);
    EXPECT_ERROR(open(path_of("absent"), O_RDONLY), ENOENT);
    EXPECT_ERROR(open("", O_RDONLY), ENOENT);
    EXPECT_ERROR(open(path_of("small/below"), O_RDONLY), ENOTDIR);
    EXPECT_ERROR(open(path_of("small/"), O_RDONLY), ENOTDIR);
    EXPECT_ERROR(open(path_of("small"), O_RDONLY | O_DIRECTORY), ENOTDIR);
    EXPECT_ERROR(open(NULL, O_RDONLY), EFAULT);
    EXPECT_ERROR(open(TAP_UNMAPPED, O_RDONLY), EFAULT);
    EXPECT_ERROR(open(TAP_KERNEL_ADDRESS, O_RDONLY), EFAULT);
    memset(name, 'n', sizeof(name) - 1);
    name[0] = '/';
    EXPECT_ERROR(open(name, O_RDONLY), ENAMETOOLONG);
    name[300] = '\0';
    EXPECT_ERROR(open(name, O_RDONLY), ENAMETOOLONG);
    name[200] = '\0';
    EXPECT_ERROR(open(name, O_RDONLY), ENOENT);
    if (EXPECT(area != MAP_FAILED && munmap(area + PAGE, PAGE) == 0, "%s", strerror(errno))) {
        memset(area, 'x', PAGE);
        EXPECT_ERROR(open(area + PAGE - 10, O_RDONLY), EFAULT);
        area[PAGE - 1] = '\0';
        EXPECT_ERROR(open(area + PAGE - 10, O_RDONLY), ENOENT);
        munmap(area, PAGE);
    }
}

static void test_paths(void)
{
    static const char *const same[] = {"small", "./small", ".//small", "../test/small", "./../test/./small"};
    const char *name = strrchr(folder, '/') != NULL ? strrchr(folder, '/') + 1 : folder;

    for (size_t i = 0; i < TAP_COUNT(same); i++) {
        struct stat status;

        if (strstr(same[i], "..") != NULL && strcmp(name, "test") != 0)
            continue;
        EXPECT(stat(path_of(same[i]), &status) == 0 && status.st_size == SMALL_SIZE, "%s: %s", same[i],
               strerror(errno));
    }
}

static void test_folder(void)
{
    int file = file_open(folder);
    char byte;

    EXPECT_ERROR(read(file, &byte, 1), EISDIR);
    EXPECT_ERROR(open(folder, O_WRONLY), EISDIR);
    EXPECT_ERROR(open(folder, O_RDWR), EISDIR);
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

    EXPECT_ERROR(write(file, "x", 1), EBADF);
    file_close(file);
    EXPECT_ERROR(open(path_of("small"), O_RDONLY | O_CREAT | O_EXCL, 0644), EEXIST);
    if (tap_on_kettle())
        EXPECT(refused(open("/proc/kettle/plan", O_WRONLY)), "to write the plan: %s", strerror(errno));
}

static void test_spawn_errors(void)
{
    char *argv[] = {"x", NULL};

    EXPECT_ERROR(kettle_spawn(kettle_kernel(), path_of("small"), argv, environ, NULL), EACCES);
    EXPECT_ERROR(kettle_spawn(kettle_kernel(), path_of("garbage"), argv, environ, NULL), ENOEXEC);
    EXPECT_ERROR(kettle_spawn(kettle_kernel(), path_of("small/below"), argv, environ, NULL), ENOTDIR);
    EXPECT_ERROR(kettle_spawn(kettle_kernel(), path_of("absent"), argv, environ, NULL), ENOENT);
    EXPECT_ERROR(kettle_spawn(kettle_kernel(), folder, argv, environ, NULL), EACCES);
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
    EXPECT_ERROR(lseek(1, 0, SEEK_CUR), ESPIPE);
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
        EXPECT(size == 0 || text[size - 1] == '\n', "%s does not end in a line", path);
        EXPECT(strlen(text) == size, "%s contains a NUL", path);
        if (strcmp(names[i], "plan") == 0 || strcmp(names[i], "kernels") == 0)
            EXPECT(lines_of(text) >= (size_t)kettle_kernels(), "%s has %zu lines for %d kernels", path, lines_of(text),
                   kettle_kernels());
        EXPECT(size > 0 || strcmp(names[i], "messages") == 0, "%s is empty", path);
        free(text);
        file_close(file);
    }
    EXPECT_ERROR(open("/proc/kettle/absent", O_RDONLY), ENOENT);
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

        EXPECT(lseek(file, 0, SEEK_SET) == 0, "%s", strerror(errno));
        text = read_all(file, step, &size);
        EXPECT(size == whole_size && memcmp(text, whole, size) == 0, "differs in steps of %zu", step);
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
        EXPECT(strcmp(text, expected[i].text) == 0, "%s holds '%s', not '%s'", expected[i].path, text,
               expected[i].text);
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
        EXPECT(kettle_migrate(kernels[i]) == 0, "%s", strerror(errno));
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
    EXPECT(kettle_migrate(home) == 0, "%s", strerror(errno));
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

        EXPECT(kettle_migrate(kernels[i % count]) == 0, "%s", strerror(errno));
        EXPECT(read(file, &byte, 1) == 1 && byte == small_text[i], "byte %zd is %c", i, byte);
        EXPECT(lseek(file, 0, SEEK_CUR) == i + 1, "at %ld behind byte %zd", (long)lseek(file, 0, SEEK_CUR), i);
    }
    file_close(file);
    EXPECT(kettle_migrate(home) == 0, "%s", strerror(errno));
    EXPECT_ERROR(close(file), EBADF);
    /* Opened away, read and closed at home. */
    EXPECT(kettle_migrate(kernels[count - 1]) == 0, "%s", strerror(errno));
    file = file_open(path_of("small"));
    EXPECT(kettle_migrate(home) == 0, "%s", strerror(errno));
    EXPECT(lseek(file, 3, SEEK_SET) == 3, "%s", strerror(errno));
    file_close(file);
}

static const struct tap_test tests[] = {
    {"a small file is read with its exact contents", test_read},
    {"a file is the same in steps of any size", test_read_steps},
    {"an empty file is empty", test_empty},
    {"a large file is what was loaded from it", test_large},
    {"stdio reads and seeks in files", test_stdio},
    {"lseek counts from the start, the place and the end", test_seek},
    {"readv fills its parts in order", test_readv},
    {"read writes where the program may and nowhere else", test_read_memory},
    {"each opening has the lowest free number and its own place", test_descriptors},
    {"two thousand openings and closings leave nothing behind", test_many},
    {"bad descriptors are EBADF", test_bad_descriptors},
    {"fstat and stat describe files", test_status},
    {"open refuses bad paths with the right error", test_open_errors},
    {"dots and double slashes in paths mean what they do", test_paths},
    {"a folder can be opened and is no file", test_folder},
    {"what must not be written is not", test_write_errors},
    {"files that are no programs are not started", test_spawn_errors},
    {"the terminal cannot be searched", test_terminal},
    {"the files of /proc/kettle say something in lines", test_proc},
    {"the plan is the same in steps of any size", test_proc_steps},
    {"files added from the host are there", test_expected},
    {"files are the same on every kernel", test_away},
    {"an open file moves with its program", test_away_shared},
};

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--dir") == 0 && i + 1 < argc) {
            folder = argv[++i];
        } else if (strcmp(argv[i], "--expect") == 0 && i + 2 < argc && expected_count < EXPECTED_MAX) {
            expected[expected_count].path = argv[++i];
            expected[expected_count++].text = argv[++i];
        } else {
            puts("usage: test-files [--dir FOLDER] [--expect PATH TEXT]...\n\n"
                 "Checks files of the image, of /proc/kettle, and added ones; writes TAP.");
            return strcmp(argv[i], "--help") == 0 ? 0 : 2;
        }
    }
    return tap_run(tests, TAP_COUNT(tests));
}
