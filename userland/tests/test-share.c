/* test-share FOLDER: files of a shared folder of the host (kernel/fs/share/share.md), used from every kernel. FOLDER
 * may be any that can be written, on Linux too: what is said of shares alone is looked at where statfs says that it is
 * one.
 *
 * Other words are for the host's side of the test: "copy FROM TO" copies bytes from one kernel to the next, "count
 * FOLDER" prints how many names it has, "names FOLDER" prints them, each with its NUL, "meet FOLDER" exchanges words
 * with somebody outside of the machine. */
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

#include "userland/tests/machine.h"
#include "userland/tests/share.h"
#include "userland/tests/spread.h"
#include "userland/tests/tap.h"
#include "userland/tests/thread.h"

#define V9FS 0x01021997
#define RENAME_NOREPLACE 1

static const char *folder; /* as it was given, absolute */

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
    EXPECT(write(fd, share_bytes, 3 * PAGE + 100) == 3 * PAGE + 100, "%s", strerror(errno));
    shared = mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
    private = mmap(NULL, 4 * PAGE, READ_WRITE, MAP_PRIVATE, fd, 0);
    if (!EXPECT(shared != MAP_FAILED && private != MAP_FAILED, "%s", strerror(errno)))
        return;
    for (int k = 0; k < spread_count(); k++) {
        spread_go(k);
        EXPECT(memcmp(shared, share_bytes, 3 * PAGE + 100) == 0 && shared[3 * PAGE + 100] == 0, "shared, on kernel %d",
               k);
        EXPECT(memcmp(private, share_bytes, k == 0 ? 3 * PAGE : PAGE) == 0, "private, on kernel %d", k);
        if (k == 0)
            memset(private + PAGE, 1, PAGE);
        EXPECT(private[PAGE] == 1 && private[2 * PAGE - 1] == 1, "what was written, on kernel %d", k);
    }
    EXPECT(pwrite(fd, "new", 3, 10) == 3 && memcmp(shared + 10, "new", 3) == 0, "a write is seen in a mapping");
    EXPECT(pread(fd, share_others, PAGE, PAGE) == PAGE && memcmp(share_others, share_bytes + PAGE, PAGE) == 0,
           "what a private mapping wrote is not in the file");
    if (is_share())
        EXPECT_ERROR((long)mmap(NULL, PAGE, READ_WRITE, MAP_SHARED, fd, 0), EINVAL);
    munmap(private, 4 * PAGE);
    EXPECT(is_in_maps("/mapped\n"), "no line of /proc/self/maps ends in it");
    close(fd);
    spread_go(1);
    EXPECT(memcmp(shared + PAGE, share_bytes + PAGE, PAGE) == 0, "the mapping stays");
    fd = open("mapped", O_WRONLY | O_TRUNC);
    EXPECT(write(fd, "again", 5) == 5 && memcmp(shared, "again\0\0\0", 8) == 0, "what is cut off is not mapped");
    close(fd);
    munmap(shared, 4 * PAGE);
    EXPECT(unlink("mapped") == 0, "%s", strerror(errno));
    spread_go(0);
}

/* A page of C, mapped; its file is closed, and has no name any more. */
static char *map_gone(char c)
{
    int fd = open("temporary", O_RDWR | O_CREAT | O_EXCL, 0600);
    char *mapped;

    memset(share_bytes, c, PAGE);
    EXPECT(write(fd, share_bytes, PAGE) == PAGE, "%s", strerror(errno));
    mapped = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
    EXPECT(mapped != MAP_FAILED, "%s", strerror(errno));
    close(fd);
    EXPECT(unlink("temporary") == 0, "%s", strerror(errno));
    return mapped;
}

/* The host may give the number of a file that is gone to the next one. */
static void test_gone(void)
{
    char *mapped[8];

    for (int i = 0; i < 8; i++) {
        spread_go(i);
        mapped[i] = map_gone((char)('a' + i));
    }
    for (int i = 0; i < 8; i++) {
        EXPECT(mapped[i][0] == 'a' + i && mapped[i][PAGE - 1] == 'a' + i, "mapping %d has %c", i, mapped[i][0]);
        munmap(mapped[i], PAGE);
    }
    spread_go(0);
}

static void test_program(void)
{
    static char *const argv[] = {(char *)(uintptr_t) "program", (char *)(uintptr_t) "exit-23", NULL};

    EXPECT(share_copy("/proc/self/exe", "program"), "%s", strerror(errno));
    for (int k = 0; k < spread_count(); k++) {
        int status = -1;
        pid_t child;

        spread_go(k);
        child = fork();
        if (child == 0) {
            execv("program", argv);
            _exit(1);
        }
        EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 23,
               "on kernel %d: status %x", k, status);
    }
    EXPECT(chmod("program", 0644) == 0 && execv("program", argv) == -1 && errno == EACCES, "%s", strerror(errno));
    EXPECT(unlink("program") == 0, "%s", strerror(errno));
    spread_go(0);
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
        tap_skip("this folder is no share, or who runs the tests is not root");
        return;
    }
    EXPECT(share_copy("/proc/self/exe", "program") && chmod("program", 06755) == 0, "%s", strerror(errno));
    for (int k = 0; k < spread_count(); k++) {
        spread_go(k);
        child = fork();
        if (child == 0)
            _exit(by_user());
        EXPECT(waitpid(child, &status, 0) == child && status == 24 << 8, "on kernel %d: status %x", k, status);
    }
    EXPECT(unlink("program") == 0, "%s", strerror(errno));
    spread_go(0);
}

static void test_locks(void)
{
    int one = open("locked", O_RDWR | O_CREAT, 0600), other = open("locked", O_RDWR);
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_END, .l_start = -2, .l_len = 1};

    EXPECT(write(one, "12345", 5) == 5, "%s", strerror(errno));
    spread_go(1);
    EXPECT(flock(one, LOCK_EX) == 0, "%s", strerror(errno));
    EXPECT_ERROR(flock(other, LOCK_EX | LOCK_NB), EAGAIN);
    EXPECT(flock(one, LOCK_UN) == 0 && flock(other, LOCK_EX | LOCK_NB) == 0, "%s", strerror(errno));
    EXPECT(fcntl(one, F_OFD_SETLK, &range) == 0, "from the end: %s", strerror(errno));
    range = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 3, .l_len = 1};
    EXPECT_ERROR(fcntl(other, F_OFD_SETLK, &range), EAGAIN);
    range.l_start = 4;
    EXPECT(fcntl(other, F_OFD_SETLK, &range) == 0, "%s", strerror(errno));
    close(one);
    close(other);
    EXPECT(unlink("locked") == 0, "%s", strerror(errno));
    spread_go(0);
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
        tap_skip("this folder is no share");
        return;
    }
    for (int k = 0; k < spread_count(); k++) {
        spread_go(k);
        EXPECT(statfs(".", &space) == 0 && space.f_type == V9FS && space.f_blocks > 0 && space.f_bsize > 0, "%s",
               strerror(errno));
        snprintf(wanted, sizeof(wanted), " %s 9p rw,", folder);
        EXPECT(is_in_lines("/proc/mounts", wanted), "no '%s' in /proc/mounts on kernel %d", wanted, k);
        EXPECT(stat(".", &status) == 0, "%s", strerror(errno));
        snprintf(wanted, sizeof(wanted), " %u:%u / %s rw,", major(status.st_dev), minor(status.st_dev), folder);
        EXPECT(is_in_lines("/proc/self/mountinfo", wanted), "no '%s' in mountinfo on kernel %d", wanted, k);
    }
    EXPECT_ERROR(rmdir(folder), EBUSY);
    EXPECT_ERROR(rename(folder, "/elsewhere"), EBUSY);
    EXPECT(close(open("one", O_CREAT | O_WRONLY, 0600)) == 0, "%s", strerror(errno));
    EXPECT_ERROR(syscall(SYS_renameat2, AT_FDCWD, "one", AT_FDCWD, "two", RENAME_NOREPLACE), EINVAL);
    EXPECT_ERROR(open(".", O_TMPFILE | O_RDWR, 0600), EOPNOTSUPP);
    EXPECT(unlink("one") == 0, "%s", strerror(errno));
    spread_go(0);
}

static const struct tap_test tests[] = {
    {"bytes that are written on one kernel are read on all", share_test_bytes},
    {"offsets behind 4 GiB, and truncation", share_test_offsets},
    {"what open's flags ask for", share_test_flags},
    {"a file that is open has its bytes without a name", share_test_unlinked},
    {"records that threads on all kernels append are all there, whole and in order", share_test_appends},
    {"threads on all kernels write files of their own at once", share_test_writers},
    {"names of any bytes, up to 255 of them", share_test_names},
    {"a listing in pieces has each name once, though they are removed meanwhile", share_test_listing},
    {"links lead within the folder, out of it and back", share_test_links},
    {"renaming, which open folders follow", share_test_renames},
    {"a removed folder is empty, and takes nothing", share_test_removed_folder},
    {"files are mapped, private and to be read", test_mappings},
    {"what is mapped stays, though its file is gone and others are made", test_gone},
    {"a program is run from the folder on every kernel", test_program},
    {"a user who is not root makes no devices, and becomes nobody else by a program", test_user},
    {"locks exclude each other", test_locks},
    {"a share is one to statfs, in /proc/mounts and mountinfo, and stays where it is", test_share},
};

int main(int argc, char **argv)
{
    int status;

    if (argc == 2 && strcmp(argv[1], "exit-23") == 0)
        return 23;
    if (argc == 2 && strcmp(argv[1], "is-root") == 0)
        return geteuid() == 1000 && getegid() == getgid() ? 24 : 25;
    spread_begin();
    if (argc > 2)
        return share_help_host(argc, argv);
    folder = argc > 1 ? argv[1] : "/tmp";
    snprintf(share_base, sizeof(share_base), "%s/test-share-%d", folder, getpid());
    mkdir(folder, 01777);
    umask(022);
    if (folder[0] != '/' || mkdir(share_base, 0755) != 0 || chdir(share_base) != 0) {
        fprintf(stderr, "test-share: %s: %s\n", share_base, strerror(errno));
        return 1;
    }
    status = tap_run(tests, TAP_COUNT(tests));
    chdir("/");
    if (rmdir(share_base) != 0)
        status = 1;
    return status;
}
