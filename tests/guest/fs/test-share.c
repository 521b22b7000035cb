/* test-share DIRECTORY: files of a shared directory of the host (kernel/fs/share/share.md), used from every kernel.
 * DIRECTORY may be any that can be written, on Linux too: what is said of shares alone is looked at where statfs says
 * that it is one.
 *
 * Other words are for the host's side of the test: "copy FROM TO" copies bytes from one kernel to the next, "count
 * DIRECTORY" prints how many names it has, "names DIRECTORY" prints them, each with its NUL, "meet DIRECTORY" exchanges
 * words with somebody outside of the machine. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/fs/share.h"
#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define V9FS 0x01021997
#define RENAME_NOREPLACE 1

static const char *directory; /* as it was given, absolute */

static bool is_share(void)
{
    struct statfs space;

    return statfs(share_base, &space) == 0 && space.f_type == V9FS;
}

/* --- mappings, programs, locks --- */

/* A line of /proc/self/maps ends in what the file is called. */
static bool is_in_maps(const char *name)
{
    char line[PATH_MAX + 80], wanted[PATH_MAX + 16];
    FILE *maps = fopen("/proc/self/maps", "r");
    bool found = false;

    snprintf(wanted, sizeof(wanted), "%s%s", share_base, name);
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
        found |= strlen(line) > strlen(wanted) && strcmp(line + strlen(line) - strlen(wanted), wanted) == 0;
    if (maps != NULL)
        fclose(maps);
    return found;
}

static void test_mappings(void)
{
    int fd = open("mapped", O_RDWR | O_CREAT | O_TRUNC, 0600);
    char *shared, *private;

    share_fill(share_bytes, 3 * PAGE + 100, 7);
    CHECK(write(fd, share_bytes, 3 * PAGE + 100) == 3 * PAGE + 100, "%s", strerror(errno));
    shared = mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
    private = mmap(NULL, 4 * PAGE, READ_WRITE, MAP_PRIVATE, fd, 0);
    if (!CHECK(shared != MAP_FAILED && private != MAP_FAILED, "%s", strerror(errno)))
        return;
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        CHECK(memcmp(shared, share_bytes, 3 * PAGE + 100) == 0 && shared[3 * PAGE + 100] == 0, "shared, on kernel %d",
              k);
        CHECK(memcmp(private, share_bytes, k == 0 ? 3 * PAGE : PAGE) == 0, "private, on kernel %d", k);
        if (k == 0)
            memset(private + PAGE, 1, PAGE);
        CHECK(private[PAGE] == 1 && private[2 * PAGE - 1] == 1, "what was written, on kernel %d", k);
    }
    CHECK(pwrite(fd, "new", 3, 10) == 3 && memcmp(shared + 10, "new", 3) == 0, "a write is seen in a mapping");
    CHECK(pread(fd, share_others, PAGE, PAGE) == PAGE && memcmp(share_others, share_bytes + PAGE, PAGE) == 0,
          "what a private mapping wrote is not in the file");
    if (is_share())
        CHECK_ERROR((long)mmap(NULL, PAGE, READ_WRITE, MAP_SHARED, fd, 0), EINVAL);
    munmap(private, 4 * PAGE);
    CHECK(is_in_maps("/mapped\n"), "no line of /proc/self/maps ends in it");
    close(fd);
    kernels_go(1);
    CHECK(memcmp(shared + PAGE, share_bytes + PAGE, PAGE) == 0, "the mapping stays");
    fd = open("mapped", O_WRONLY | O_TRUNC);
    CHECK(write(fd, "again", 5) == 5 && memcmp(shared, "again\0\0\0", 8) == 0, "what is cut off is not mapped");
    close(fd);
    munmap(shared, 4 * PAGE);
    CHECK(unlink("mapped") == 0, "%s", strerror(errno));
    kernels_go(0);
}

/* A page of C, mapped; its file is closed, and has no name any more. */
static char *map_gone(char c)
{
    int fd = open("temporary", O_RDWR | O_CREAT | O_EXCL, 0600);
    char *mapped;

    memset(share_bytes, c, PAGE);
    CHECK(write(fd, share_bytes, PAGE) == PAGE, "%s", strerror(errno));
    mapped = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
    CHECK(mapped != MAP_FAILED, "%s", strerror(errno));
    close(fd);
    CHECK(unlink("temporary") == 0, "%s", strerror(errno));
    return mapped;
}

/* The host may give the number of a file that is gone to the next one. */
static void test_gone(void)
{
    char *mapped[8];

    for (int i = 0; i < 8; i++) {
        kernels_go(i);
        mapped[i] = map_gone((char)('a' + i));
    }
    for (int i = 0; i < 8; i++) {
        CHECK(mapped[i][0] == 'a' + i && mapped[i][PAGE - 1] == 'a' + i, "mapping %d has %c", i, mapped[i][0]);
        munmap(mapped[i], PAGE);
    }
    kernels_go(0);
}

static void test_program(void)
{
    static char *const argv[] = {(char *)(uintptr_t) "program", (char *)(uintptr_t) "exit-23", NULL};

    CHECK(share_copy("/proc/self/exe", "program"), "%s", strerror(errno));
    for (int k = 0; k < kernels_count(); k++) {
        int status = -1;
        pid_t child;

        kernels_go(k);
        child = fork();
        if (child == 0) {
            execv("program", argv);
            _exit(1);
        }
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 23,
              "on kernel %d: status %x", k, status);
    }
    CHECK(chmod("program", 0644) == 0 && execv("program", argv) == -1 && errno == EACCES, "%s", strerror(errno));
    CHECK(unlink("program") == 0, "%s", strerror(errno));
    kernels_go(0);
}

/* As a user who is not root. */
static int by_user(void)
{
    static char *const argv[] = {(char *)(uintptr_t) "program", (char *)(uintptr_t) "is-root", NULL};

    if (setuid(1000) != 0)
        return 1;
    if (mknod("device", S_IFCHR | 0666, makedev(1, 3)) != -1 || errno != EPERM)
        return 2;
    if (mknod("device", S_IFBLK | 0666, makedev(8, 0)) != -1 || errno != EPERM)
        return 3;
    execv("program", argv);
    return 4;
}

static void test_user(void)
{
    int status = -1;
    pid_t child;

    if (!is_share() || getuid() != 0) {
        tap_skip("this directory is no share, or who runs the tests is not root");
        return;
    }
    CHECK(share_copy("/proc/self/exe", "program") && chmod("program", 06755) == 0, "%s", strerror(errno));
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        child = fork();
        if (child == 0)
            _exit(by_user());
        CHECK(waitpid(child, &status, 0) == child && status == 24 << 8, "on kernel %d: status %x", k, status);
    }
    CHECK(unlink("program") == 0, "%s", strerror(errno));
    kernels_go(0);
}

static void test_locks(void)
{
    int one = open("locked", O_RDWR | O_CREAT, 0600), other = open("locked", O_RDWR);
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_END, .l_start = -2, .l_len = 1};

    CHECK(write(one, "12345", 5) == 5, "%s", strerror(errno));
    kernels_go(1);
    CHECK(flock(one, LOCK_EX) == 0, "%s", strerror(errno));
    CHECK_ERROR(flock(other, LOCK_EX | LOCK_NB), EAGAIN);
    CHECK(flock(one, LOCK_UN) == 0 && flock(other, LOCK_EX | LOCK_NB) == 0, "%s", strerror(errno));
    CHECK(fcntl(one, F_OFD_SETLK, &range) == 0, "from the end: %s", strerror(errno));
    range = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 3, .l_len = 1};
    CHECK_ERROR(fcntl(other, F_OFD_SETLK, &range), EAGAIN);
    range.l_start = 4;
    CHECK(fcntl(other, F_OFD_SETLK, &range) == 0, "%s", strerror(errno));
    close(one);
    close(other);
    CHECK(unlink("locked") == 0, "%s", strerror(errno));
    kernels_go(0);
}

/* A line of the file NAME has WANTED. */
static bool is_in_lines(const char *name, const char *wanted)
{
    char line[PATH_MAX + 80];
    FILE *lines = fopen(name, "r");
    bool found = false;

    while (lines != NULL && fgets(line, sizeof(line), lines) != NULL)
        found |= strstr(line, wanted) != NULL;
    if (lines != NULL)
        fclose(lines);
    return found;
}

static void test_share(void)
{
    char wanted[PATH_MAX + 40];
    struct statfs space;
    struct stat status;

    if (!is_share()) {
        tap_skip("this directory is no share");
        return;
    }
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        CHECK(statfs(".", &space) == 0 && space.f_type == V9FS && space.f_blocks > 0 && space.f_bsize > 0, "%s",
              strerror(errno));
        snprintf(wanted, sizeof(wanted), " %s 9p rw,", directory);
        CHECK(is_in_lines("/proc/mounts", wanted), "no '%s' in /proc/mounts on kernel %d", wanted, k);
        CHECK(stat(".", &status) == 0, "%s", strerror(errno));
        snprintf(wanted, sizeof(wanted), " %u:%u / %s rw,", major(status.st_dev), minor(status.st_dev), directory);
        CHECK(is_in_lines("/proc/self/mountinfo", wanted), "no '%s' in mountinfo on kernel %d", wanted, k);
    }
    CHECK_ERROR(rmdir(directory), EBUSY);
    CHECK_ERROR(rename(directory, "/elsewhere"), EBUSY);
    CHECK(close(open("one", O_CREAT | O_WRONLY, 0600)) == 0, "%s", strerror(errno));
    CHECK_ERROR(syscall(SYS_renameat2, AT_FDCWD, "one", AT_FDCWD, "two", RENAME_NOREPLACE), EINVAL);
    CHECK_ERROR(open(".", O_TMPFILE | O_RDWR, 0600), EOPNOTSUPP);
    CHECK(unlink("one") == 0, "%s", strerror(errno));
    kernels_go(0);
}

static const struct tap_test tests[] = {
    {"bytes", "bytes that are written on one kernel are read on all", share_test_bytes},
    {"offsets", "offsets beyond 4 GiB and truncation work", share_test_offsets},
    {"flags", "the flags of open have their effects", share_test_flags},
    {"unlinked", "a file that is open keeps its bytes when it is unlinked", share_test_unlinked},
    {"appends", "records that threads on all kernels append are whole, in order, and none is lost", share_test_appends},
    {"writers", "threads on all kernels write files of their own at once", share_test_writers},
    {"names", "names have any bytes, and up to 255 of them", share_test_names},
    {"listing", "a directory read in pieces lists each name once while names are removed", share_test_listing},
    {"links", "links lead within the directory, out of it and back", share_test_links},
    {"renames", "open directories follow a rename", share_test_renames},
    {"removed-directory", "a removed directory is empty and takes no new names", share_test_removed_directory},
    {"mappings", "files can be mapped privately and for reading", test_mappings},
    {"gone", "a mapping keeps its contents after its file is removed and others are made", test_gone},
    {"program", "a program runs from the shared directory on every kernel", test_program},
    {"user", "a user who is not root makes no devices, and gains no identity by a program", test_user},
    {"locks", "record locks exclude each other", test_locks},
    {"share", "statfs, /proc/mounts and mountinfo describe the share, and it cannot be renamed", test_share},
};

int main(int argc, char **argv)
{
    int status;

    if (argc == 2 && strcmp(argv[1], "exit-23") == 0)
        return 23;
    if (argc == 2 && strcmp(argv[1], "is-root") == 0)
        return geteuid() == 1000 && getegid() == getgid() ? 24 : 25;
    kernels_find();
    if (argc > 2 && argv[1][0] != '/')
        return share_help_host(argc, argv);
    directory = argc > 1 && argv[1][0] == '/' ? argv[1] : "/tmp";
    tap_take(&argc, &argv, directory);
    snprintf(share_base, sizeof(share_base), "%s/test-share-%d", directory, getpid());
    mkdir(directory, 01777);
    umask(022);
    if (directory[0] != '/' || mkdir(share_base, 0755) != 0 || chdir(share_base) != 0) {
        fprintf(stderr, "test-share: %s: %s\n", share_base, strerror(errno));
        return 1;
    }
    status = tap_run(argc, argv, tests, TAP_COUNT(tests));
    chdir("/");
    if (rmdir(share_base) != 0)
        status = 1;
    return status;
}
