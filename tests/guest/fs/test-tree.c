/* test-tree: names of files: what makes, removes, renames and finds them, with the errors of Linux. Each call is made
 * on another kernel than the one before. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

#include "tests/guest/fs/tree.h"
#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"

#define RENAME_NOREPLACE 1
#define RENAME_EXCHANGE 2
#define O_TEMPORARY 020200000

static int turn;

bool tree_on(void)
{
    kernels_go(turn++);
    return true;
}

void tree_gives(long result, int error, int line, const char *call)
{
    int is = result < 0 ? errno : 0;

    CHECK(is == error, "line %d: %s: %s, not %s", line, call, strerror(is), strerror(error));
}

static bool make(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    bool whole = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    return close(fd) == 0 && whole;
}

static bool has(const char *path, const char *text)
{
    char bytes[256] = {0};
    int fd = open(path, O_RDONLY);
    ssize_t count = fd >= 0 ? read(fd, bytes, sizeof(bytes) - 1) : -1;

    if (fd >= 0)
        close(fd);
    return count == (ssize_t)strlen(text) && memcmp(bytes, text, (size_t)count) == 0;
}

long tree_opened(const char *path, int flags)
{
    int fd = open(path, flags, 0600);

    if (fd >= 0)
        close(fd);
    return fd;
}

static struct stat facts_of(const char *path)
{
    struct stat facts = {0};

    CHECK(lstat(path, &facts) == 0, "%s: %s", path, strerror(errno));
    return facts;
}

static long rename2(const char *from, const char *to, unsigned flags)
{
    return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags);
}

/* Everything is below a directory of its own, which is the working directory and empty before and after each test. */
static char base[64];

static void remove_all(const char *path)
{
    char command[256];
    struct stat facts;

    if (lstat(path, &facts) != 0)
        return;
    if (S_ISDIR(facts.st_mode)) {
        long size;
        char entries[4096];
        int fd = open(path, O_RDONLY | O_DIRECTORY);

        while ((size = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0) {
            for (long at = 0; at < size; at += *(unsigned short *)(entries + at + 16)) {
                const char *name = entries + at + 19;

                if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
                    continue;
                snprintf(command, sizeof(command), "%s/%s", path, name);
                remove_all(command);
            }
        }
        close(fd);
        rmdir(path);
    } else {
        unlink(path);
    }
}

void tree_begin(void)
{
    chdir("/");
    remove_all(base);
    CHECK(mkdir(base, 0755) == 0 && chdir(base) == 0, "%s: %s", base, strerror(errno));
}

static void test_open(void)
{
    char name[260];

    tree_begin();
    GIVES(tree_opened("none", O_RDONLY), ENOENT);
    GIVES(tree_opened("none/", O_RDONLY | O_CREAT), EISDIR);
    GIVES(tree_opened("none/file", O_RDONLY | O_CREAT), ENOENT);
    GIVES(make("file", "text") ? 0 : -1, 0);
    GIVES(tree_opened("file", O_RDONLY | O_CREAT | O_EXCL), EEXIST);
    GIVES(tree_opened("file", O_RDONLY | O_CREAT), 0);
    GIVES(tree_opened("file", O_RDONLY | O_DIRECTORY), ENOTDIR);
    GIVES(tree_opened("file/", O_RDONLY), ENOTDIR);
    GIVES(tree_opened("file/", O_RDONLY | O_CREAT), EISDIR);
    GIVES(tree_opened("file/.", O_RDONLY), ENOTDIR);
    GIVES(tree_opened("file/..", O_RDONLY), ENOTDIR);
    GIVES(tree_opened("file/below", O_RDONLY | O_CREAT), ENOTDIR);
    GIVES(mkdir("directory", 0755), 0);
    GIVES(tree_opened("directory", O_RDONLY), 0);
    GIVES(tree_opened("directory", O_WRONLY), EISDIR);
    GIVES(tree_opened("directory", O_RDONLY | O_TRUNC), EISDIR);
    GIVES(tree_opened("directory", O_RDONLY | O_CREAT), EISDIR);
    GIVES(tree_opened("directory", O_RDONLY | O_CREAT | O_EXCL), EEXIST);
    GIVES(tree_opened("directory/", O_RDONLY | O_CREAT), EISDIR);
    GIVES(tree_opened(".", O_RDONLY | O_CREAT), EISDIR);
    GIVES(tree_opened("directory/..", O_RDONLY | O_CREAT), EISDIR);
    GIVES(tree_opened("", O_RDONLY), ENOENT);
    GIVES(tree_opened("/", O_RDWR), EISDIR);
    GIVES(tree_opened("./directory//..///file", O_RDONLY), 0);
    memset(name, 'n', sizeof(name));
    name[256] = '\0';
    GIVES(tree_opened(name, O_RDONLY | O_CREAT), ENAMETOOLONG);
    name[255] = '\0';
    GIVES(tree_opened(name, O_RDONLY | O_CREAT), 0);
    GIVES(unlink(name), 0);
    GIVES(has("file", "text") ? 0 : -1, 0);
    GIVES(tree_opened("file", O_RDONLY | O_TRUNC), 0);
    GIVES(has("file", "") ? 0 : -1, 0);
    GIVES(tree_opened((const char *)TAP_UNMAPPED, O_RDONLY), EFAULT);
    GIVES(openat(99, "file", O_RDONLY), EBADF);
    GIVES(openat(1, "", O_RDONLY), ENOENT);
    GIVES(syscall(SYS_openat, AT_FDCWD, base, O_TEMPORARY, 0600), EINVAL);
}

static void test_make(void)
{
    struct stat facts;

    tree_begin();
    umask(027);
    GIVES(mkdir("a", 01777), 0);
    facts = facts_of("a");
    CHECK((facts.st_mode & 07777) == 01750 && facts.st_nlink == 2, "mode %o, %lu links", facts.st_mode,
          (unsigned long)facts.st_nlink);
    GIVES(mkdir("a/b/", 0777), 0);
    GIVES(mkdir("a/c//", 0777), 0);
    CHECK(facts_of("a").st_nlink == 4, "%lu links", (unsigned long)facts_of("a").st_nlink);
    GIVES(close(creat("a/f", 0666)), 0);
    CHECK((facts_of("a/f").st_mode & 07777) == 0640, "mode %o", facts_of("a/f").st_mode);
    umask(022);
    GIVES(mkdir("a", 0777), EEXIST);
    GIVES(mkdir("a/", 0777), EEXIST);
    GIVES(mkdir("a/f", 0777), EEXIST);
    GIVES(mkdir("a/f/g", 0777), ENOTDIR);
    GIVES(mkdir("x/y", 0777), ENOENT);
    GIVES(mkdir(".", 0777), EEXIST);
    GIVES(mkdir("..", 0777), EEXIST);
    GIVES(mkdir("/", 0777), EEXIST);
    GIVES(mkdir("", 0777), ENOENT);
    GIVES(mkdir("/proc", 0777), EEXIST);
    GIVES(mknod("a/n", S_IFREG | 0600, 0), 0);
    GIVES(mknod("a/m", 0600, 0), 0);
    CHECK(S_ISREG(facts_of("a/m").st_mode), "mode %o", facts_of("a/m").st_mode);
    GIVES(mknod("a/n", S_IFREG | 0600, 0), EEXIST);
    GIVES(mknod("a/o/", S_IFREG | 0600, 0), ENOENT);
    GIVES(mknod("a/o", S_IFDIR | 0600, 0), EPERM);
    GIVES(mknod("a/o", S_IFLNK | 0600, 0), EINVAL);
    GIVES(mknod("a/null", S_IFCHR | 0600, makedev(1, 3)), 0);
    CHECK(S_ISCHR(facts_of("a/null").st_mode) && facts_of("a/null").st_rdev == makedev(1, 3), "device %lx",
          (unsigned long)facts_of("a/null").st_rdev);
    CHECK(tree_on() && make("a/null", "gone") && has("a/null", ""), "a device that was made");
    GIVES(mknod("a/absent", S_IFCHR | 0600, makedev(250, 250)), 0);
    GIVES(tree_opened("a/absent", O_RDONLY), ENXIO);
    GIVES(mknod("a/socket", S_IFSOCK | 0600, 0), 0);
    GIVES(tree_opened("a/socket", O_RDONLY), ENXIO);
}

static void test_remove(void)
{
    char bytes[8] = {0};
    int fd;

    tree_begin();
    GIVES(mkdir("a", 0755), 0);
    GIVES(mkdir("a/b", 0755), 0);
    GIVES(make("f", "text") ? 0 : -1, 0);
    GIVES(symlink("f", "l"), 0);
    GIVES(symlink("a", "la"), 0);
    GIVES(unlink("a"), EISDIR);
    GIVES(unlink("a/"), EISDIR);
    GIVES(unlink("f/"), ENOTDIR);
    GIVES(unlink("la/"), ENOTDIR);
    GIVES(unlink("none"), ENOENT);
    GIVES(unlink("none/"), ENOENT);
    GIVES(unlink("none/x"), ENOENT);
    GIVES(unlink("f/x"), ENOTDIR);
    GIVES(unlink("."), EISDIR);
    GIVES(unlink(".."), EISDIR);
    GIVES(unlink("/"), EISDIR);
    GIVES(unlink(""), ENOENT);
    GIVES(rmdir("a"), ENOTEMPTY);
    GIVES(rmdir("f"), ENOTDIR);
    GIVES(rmdir("la"), ENOTDIR);
    GIVES(rmdir("la/"), ENOTDIR);
    GIVES(rmdir("none"), ENOENT);
    GIVES(rmdir("a/."), EINVAL);
    GIVES(rmdir("a/b/.."), ENOTEMPTY);
    GIVES(rmdir("/"), EBUSY);
    GIVES(rmdir("/proc"), EBUSY);
    GIVES(unlink("/proc"), EISDIR);
    GIVES(unlink("/proc/version"), EPERM);
    GIVES(mkdir("/proc/none", 0755), ENOENT);
    GIVES(unlinkat(AT_FDCWD, "a", AT_REMOVEDIR | 1), EINVAL);
    GIVES(unlinkat(AT_FDCWD, "a/b", AT_REMOVEDIR), 0);
    GIVES(rmdir("a/"), 0);
    fd = open("f", O_RDONLY);
    GIVES(unlink("f"), 0);
    GIVES(tree_opened("f", O_RDONLY), ENOENT);
    CHECK(tree_on() && read(fd, bytes, 8) == 4 && memcmp(bytes, "text", 4) == 0, "an open file is gone");
    close(fd);
    GIVES(unlink("l"), 0);
    GIVES(unlink("la"), 0);
}

static void test_links(void)
{
    char text[300], target[64];
    struct stat facts;

    tree_begin();
    GIVES(make("f", "text") ? 0 : -1, 0);
    GIVES(mkdir("a", 0755), 0);
    GIVES(symlink("f", "l"), 0);
    GIVES(symlink("../f", "a/up"), 0);
    GIVES(symlink("a", "la"), 0);
    GIVES(symlink("loop", "loop"), 0);
    GIVES(symlink("none", "dangling"), 0);
    GIVES(symlink("f", "l"), EEXIST);
    GIVES(symlink("", "e"), ENOENT);
    GIVES(symlink("f", ""), ENOENT);
    GIVES(symlink("f", "new/"), ENOENT);
    GIVES(symlink("f", "none/x"), ENOENT);
    CHECK(tree_on() && has("l", "text") && has("a/up", "text") && has("la/up", "text") && has("la/../f", "text"),
          "what links lead to");
    facts = facts_of("l");
    CHECK(S_ISLNK(facts.st_mode) && facts.st_size == 1 && (facts.st_mode & 0777) == 0777, "mode %o, size %ld",
          facts.st_mode, (long)facts.st_size);
    CHECK(tree_on() && stat("l", &facts) == 0 && S_ISREG(facts.st_mode), "mode %o", facts.st_mode);
    CHECK(tree_on() && readlink("a/up", text, sizeof(text)) == 4 && memcmp(text, "../f", 4) == 0, "readlink");
    CHECK(tree_on() && readlink("a/up", text, 2) == 2, "readlink, short");
    GIVES(readlink("f", text, sizeof(text)), EINVAL);
    GIVES(readlink("none", text, sizeof(text)), ENOENT);
    GIVES(syscall(SYS_readlink, "a/up", text, 0), EINVAL);
    GIVES(readlink("", text, 1), ENOENT);
    GIVES(tree_opened("loop", O_RDONLY), ELOOP);
    GIVES(tree_opened("loop/x", O_RDONLY), ELOOP);
    GIVES(tree_opened("l", O_RDONLY | O_NOFOLLOW), ELOOP);
    GIVES(tree_opened("l", O_RDONLY | O_NOFOLLOW | O_DIRECTORY), ENOTDIR);
    GIVES(tree_opened("la", O_RDONLY | O_NOFOLLOW), ELOOP);
    GIVES(tree_opened("la/", O_RDONLY | O_NOFOLLOW), 0);
    GIVES(tree_opened("l/", O_RDONLY), ENOTDIR);
    GIVES(tree_opened("dangling", O_RDONLY), ENOENT);
    GIVES(tree_opened("dangling", O_RDONLY | O_CREAT | O_EXCL), EEXIST);
    GIVES(mkdir("dangling", 0755), EEXIST);
    GIVES(tree_opened("dangling", O_RDONLY | O_CREAT), 0);
    GIVES(tree_opened("none", O_RDONLY), 0);
    GIVES(lstat("la/", &facts), 0);
    CHECK(S_ISDIR(facts.st_mode), "mode %o", facts.st_mode);
    for (int i = 0; i < 41; i++) {
        snprintf(text, sizeof(text), "chain%d", i);
        snprintf(target, sizeof(target), i == 0 ? "f" : "chain%d", i - 1);
        symlink(target, text);
    }
    GIVES(tree_opened("chain39", O_RDONLY), 0);
    GIVES(tree_opened("chain40", O_RDONLY), ELOOP);
    snprintf(text, sizeof(text), "%s/f", base);
    GIVES(symlink(text, "absolute"), 0);
    CHECK(tree_on() && has("absolute", "text"), "an absolute link");
    GIVES(symlink("/proc/self/cwd/f", "through"), 0);
    CHECK(tree_on() && has("through", "text"), "through /proc and back");
    GIVES(link("f", "h"), 0);
    CHECK(facts_of("f").st_nlink == 2 && facts_of("h").st_ino == facts_of("f").st_ino, "links of a file");
    GIVES(link("f", "h"), EEXIST);
    GIVES(link("none2", "i"), ENOENT);
    GIVES(link("a", "i"), EPERM);
    GIVES(link("f", "i/"), ENOENT);
    GIVES(link("f/", "i"), ENOTDIR);
    GIVES(link("l", "hl"), 0);
    CHECK(S_ISLNK(facts_of("hl").st_mode), "mode %o", facts_of("hl").st_mode);
    GIVES(linkat(AT_FDCWD, "l", AT_FDCWD, "hf", AT_SYMLINK_FOLLOW), 0);
    CHECK(facts_of("hf").st_ino == facts_of("f").st_ino, "a followed link");
    GIVES(link("/proc/version", "i"), EXDEV);
    GIVES(unlink("f"), 0);
    CHECK(tree_on() && has("h", "text") && facts_of("h").st_nlink == 2, "the other name");
}

static void test_rename(void)
{
    struct stat facts, other;

    tree_begin();
    GIVES(make("f", "1") ? 0 : -1, 0);
    GIVES(make("g", "2") ? 0 : -1, 0);
    GIVES(mkdir("a", 0755), 0);
    GIVES(mkdir("a/b", 0755), 0);
    GIVES(mkdir("e", 0755), 0);
    GIVES(rename("none", "x"), ENOENT);
    GIVES(rename("f", "none/x"), ENOENT);
    GIVES(rename("f", "g/x"), ENOTDIR);
    GIVES(rename("f", "a"), EISDIR);
    GIVES(rename("a", "f"), ENOTDIR);
    GIVES(rename("f", "x/"), ENOTDIR);
    GIVES(rename("f/", "x"), ENOTDIR);
    GIVES(rename("a", "a/b/c"), EINVAL);
    GIVES(rename("a", "a/c"), EINVAL);
    GIVES(rename("a/b", "a"), ENOTEMPTY);
    GIVES(rename("e", "a"), ENOTEMPTY);
    GIVES(rename(".", "x"), EBUSY);
    GIVES(rename("f", "."), EBUSY);
    GIVES(rename("a/..", "x"), EBUSY);
    GIVES(rename("/", "x"), EBUSY);
    GIVES(rename("f", "/proc/x"), EXDEV);
    GIVES(rename("/proc/version", "x"), EXDEV);
    GIVES(rename("f", "f"), 0);
    GIVES(rename2("f", "g", RENAME_NOREPLACE), EEXIST);
    GIVES(rename2("f", "g", 8), EINVAL);
    GIVES(rename2("f", "g", RENAME_NOREPLACE | RENAME_EXCHANGE), EINVAL);
    GIVES(rename2("f", "x", RENAME_EXCHANGE), ENOENT);
    GIVES(rename2("f", "a", RENAME_EXCHANGE), 0);
    CHECK(tree_on() && has("a", "1") && facts_of("f").st_nlink == 3, "a file and a directory change places");
    GIVES(rename2("f", "a", RENAME_EXCHANGE), 0);
    GIVES(rename2("a", "a/b", RENAME_EXCHANGE), EINVAL);
    GIVES(rename2("a/b", "a", RENAME_EXCHANGE), EINVAL);
    GIVES(rename("f", "g"), 0);
    CHECK(tree_on() && has("g", "1"), "what was there is replaced");
    GIVES(tree_opened("f", O_RDONLY), ENOENT);
    GIVES(link("g", "h"), 0);
    GIVES(rename("g", "h"), 0);
    CHECK(tree_on() && has("g", "1") && has("h", "1"), "two names of one file stay");
    GIVES(rename("a/b", "e"), 0);
    CHECK(facts_of("a").st_nlink == 2, "%lu links", (unsigned long)facts_of("a").st_nlink);
    GIVES(rename("e", "a/e/"), 0);
    CHECK(tree_on() && stat("a/e/..", &facts) == 0 && stat("a", &other) == 0 && facts.st_ino == other.st_ino,
          "the parent of what was renamed");
    GIVES(rename("a/e", "top"), 0);
    CHECK(tree_on() && stat("top/..", &facts) == 0 && stat(".", &other) == 0 && facts.st_ino == other.st_ino,
          "the parent of what was renamed again");
    GIVES(rename2("g", "new", RENAME_NOREPLACE), 0);
    GIVES(symlink("new", "l"), 0);
    GIVES(rename("l", "m"), 0);
    CHECK(S_ISLNK(facts_of("m").st_mode), "a link is renamed itself");
}

static bool is_cwd(const char *path)
{
    char text[4096];

    return tree_on() && getcwd(text, sizeof(text)) != NULL && strcmp(text, path) == 0;
}

static void test_directories(void)
{
    char path[256], text[512], here[16];
    struct stat facts;
    int directory, file;

    tree_begin();
    GIVES(mkdir("a", 0755), 0);
    GIVES(mkdir("a/b", 0755), 0);
    GIVES(make("a/f", "below") ? 0 : -1, 0);
    GIVES(chdir("a/f"), ENOTDIR);
    GIVES(chdir("none"), ENOENT);
    GIVES(chdir("a/b"), 0);
    snprintf(path, sizeof(path), "%s/a/b", base);
    CHECK(is_cwd(path), "the working directory");
    GIVES(getcwd(here, 4) == NULL ? -1 : 0, ERANGE);
    snprintf(path, sizeof(path), "%s/a", base);
    snprintf(text, sizeof(text), "%s/c", base);
    GIVES(rename(path, text), 0);
    snprintf(path, sizeof(path), "%s/c/b", base);
    CHECK(is_cwd(path), "after a parent was renamed");
    CHECK(tree_on() && has("../f", "below"), "a relative name");
    directory = open("..", O_RDONLY | O_DIRECTORY);
    file = openat(directory, "f", O_RDONLY);
    CHECK(directory >= 0 && file >= 0, "%s", strerror(errno));
    GIVES(openat(file, "f", O_RDONLY), ENOTDIR);
    GIVES(fchdir(file), ENOTDIR);
    GIVES(fchdir(99), EBADF);
    GIVES(mkdirat(directory, "d", 0755), 0);
    GIVES(symlinkat("f", directory, "l"), 0);
    GIVES(renameat(directory, "l", directory, "m"), 0);
    CHECK(tree_on() && readlinkat(directory, "m", text, sizeof(text)) == 1, "%s", strerror(errno));
    GIVES(fstatat(directory, "m", &facts, AT_SYMLINK_NOFOLLOW), 0);
    CHECK(S_ISLNK(facts.st_mode), "mode %o", facts.st_mode);
    GIVES(fstatat(directory, "", &facts, AT_EMPTY_PATH), 0);
    CHECK(S_ISDIR(facts.st_mode) && facts.st_nlink == 4, "%lu links", (unsigned long)facts.st_nlink);
    GIVES(fstatat(directory, "", &facts, 0), ENOENT);
    GIVES(fstatat(directory, "m", &facts, 1), EINVAL);
    GIVES(unlinkat(directory, "m", 0), 0);
    snprintf(path, sizeof(path), "%s/c/b", base);
    GIVES(rmdir(path), 0);
    GIVES(getcwd(text, sizeof(text)) == NULL ? -1 : 0, ENOENT);
    GIVES(tree_opened("x", O_RDONLY | O_CREAT), ENOENT);
    GIVES(mkdir("x", 0755), ENOENT);
    GIVES(tree_opened(".", O_RDONLY), 0);
    CHECK(tree_on() && stat(".", &facts) == 0 && facts.st_nlink == 0, "%lu links", (unsigned long)facts.st_nlink);
    GIVES(fchdir(directory), 0);
    snprintf(path, sizeof(path), "%s/c", base);
    CHECK(is_cwd(path), "fchdir");
    GIVES(chdir("/proc/self"), 0);
    GIVES(tree_opened("status", O_RDONLY), 0);
    GIVES(chdir("../.."), 0);
    CHECK(is_cwd("/"), "out of /proc");
    close(file);
    close(directory);
    chdir(base);
    CHECK(tree_on(), "on");
    if (fork() == 0) {
        tree_on();
        _exit(is_cwd(base) && mkdir("child", 0755) == 0 ? 0 : 1);
    }
    wait(&file);
    CHECK(file == 0, "status %x", file);
    CHECK(S_ISDIR(facts_of("child").st_mode), "what a child made");
}

static void test_late_times(void)
{
    const int64_t seconds[] = {1ll << 34, 18446744073, 18446744074, 1ll << 35, INT64_MAX / 2, INT64_MAX};
    struct timespec times[2] = {{0, 0}, {0, 0}};
    int64_t last = 0;

    tree_begin();
    GIVES(make("f", "") ? 0 : -1, 0);
    for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
        times[0].tv_sec = times[1].tv_sec = seconds[i];
        GIVES(utimensat(AT_FDCWD, "f", times, 0), 0);
        CHECK(facts_of("f").st_mtim.tv_sec >= last && facts_of("f").st_atim.tv_sec >= last, "%ld s became %ld",
              (long)seconds[i], (long)facts_of("f").st_mtim.tv_sec);
        last = facts_of("f").st_mtim.tv_sec;
    }
    CHECK(last >= 18446744073, "the last is %ld s", (long)last);
}

static void test_facts(void)
{
    struct timespec times[2] = {{1000000000, 5}, {0, UTIME_OMIT}};
    struct utimbuf seconds = {10, 20};
    struct stat facts, before;
    struct statfs space;
    uint64_t more[32]; /* struct statx */
    int fd;

    tree_begin();
    CHECK(stat("/", &facts) == 0 && stat("//..", &before) == 0 && S_ISDIR(facts.st_mode) &&
              facts.st_ino == before.st_ino,
          "the root: %s", strerror(errno));
    GIVES(make("f", "12345") ? 0 : -1, 0);
    GIVES(symlink("f", "l"), 0);
    GIVES(chmod("l", 04751), 0);
    CHECK((facts_of("f").st_mode & 07777) == 04751, "mode %o", facts_of("f").st_mode);
    GIVES(chown("f", 12, 34), 0);
    facts = facts_of("f");
    CHECK(facts.st_uid == 12 && facts.st_gid == 34 && (facts.st_mode & 07777) == 0751, "%u:%u mode %o", facts.st_uid,
          facts.st_gid, facts.st_mode);
    GIVES(chown("f", -1, 56), 0);
    CHECK(facts_of("f").st_uid == 12 && facts_of("f").st_gid == 56, "owner");
    GIVES(lchown("l", 7, 8), 0);
    CHECK(facts_of("f").st_uid == 12 && facts_of("l").st_uid == 7, "the link's owner");
    GIVES(fchownat(AT_FDCWD, "l", 1, 1, 1), EINVAL);
    GIVES(chmod("none", 0), ENOENT);
    GIVES(chmod("f/", 0), ENOTDIR);
    fd = open("f", O_RDWR);
    GIVES(fchmod(fd, 0600), 0);
    GIVES(fchown(fd, 0, 0), 0);
    GIVES(fchmod(99, 0600), EBADF);
    before = facts_of("f");
    CHECK((before.st_mode & 07777) == 0600 && before.st_size == 5 && before.st_blksize == 4096, "mode %o",
          before.st_mode);
    GIVES(utimensat(AT_FDCWD, "l", times, 0), 0);
    facts = facts_of("f");
    CHECK(facts.st_atim.tv_sec == 1000000000 && facts.st_atim.tv_nsec == 5 &&
              facts.st_mtim.tv_sec == before.st_mtim.tv_sec && facts.st_mtim.tv_nsec == before.st_mtim.tv_nsec,
          "times");
    times[1] = (struct timespec){2, 1000000000};
    GIVES(futimens(fd, times), EINVAL);
    times[1] = (struct timespec){2, UTIME_NOW};
    GIVES(futimens(fd, times), 0);
    CHECK(facts_of("f").st_mtim.tv_sec > 2, "now");
    GIVES(utime("f", &seconds), 0);
    CHECK(facts_of("f").st_atim.tv_sec == 10 && facts_of("f").st_mtim.tv_sec == 20, "utime");
    GIVES(utimensat(AT_FDCWD, "none", NULL, 0), ENOENT);
    GIVES(truncate("f", 3), 0);
    GIVES(truncate("l", 4), 0);
    CHECK(facts_of("f").st_size == 4, "%ld bytes", (long)facts_of("f").st_size);
    GIVES(truncate("f", 5), 0);
    GIVES(truncate("f", -1), EINVAL);
    GIVES(truncate("none", 0), ENOENT);
    GIVES(truncate(".", 0), EISDIR);
    GIVES(utime("f", &seconds), 0);
    GIVES(utimensat(AT_FDCWD, "l", times, AT_SYMLINK_NOFOLLOW), 0);
    CHECK(facts_of("l").st_atim.tv_sec == 1000000000 && facts_of("f").st_atim.tv_sec == 10, "the link's times");
    close(fd);
    GIVES(syscall(SYS_statx, AT_FDCWD, "f", 0, 0x7ff, more), 0);
    CHECK(more[5] == 5 && more[14] == 20 && (uint32_t)more[2] == 1 && more[4] == before.st_ino &&
              (more[0] & 0x7ff) == 0x7ff,
          "statx");
    GIVES(syscall(SYS_statx, AT_FDCWD, "f", 0x8000000, 0, more), EINVAL);
    GIVES(statfs(".", &space), 0);
    CHECK(space.f_bsize == 4096 && space.f_namelen == 255, "%ld", (long)space.f_bsize);
    GIVES(statfs("none", &space), ENOENT);
    GIVES(access("f", R_OK | W_OK), 0);
    GIVES(access("f", X_OK), EACCES);
    GIVES(access("l", 8), EINVAL);
    GIVES(chmod("f", 0100), 0);
    GIVES(access("l", X_OK), 0);
    GIVES(access(".", X_OK), 0);
    before = facts_of(".");
    usleep(20000); /* the clock of files ticks meanwhile */
    GIVES(unlink("l"), 0);
    facts = facts_of(".");
    CHECK(facts.st_mtim.tv_sec > before.st_mtim.tv_sec || facts.st_mtim.tv_nsec != before.st_mtim.tv_nsec,
          "the directory's time");
}

/* Entries of the directory open as FD, from its offset on; each of names 0..99 is counted. */
static int list(int fd, size_t room, int counts[100], int most)
{
    char entries[4096];
    int found = 0;
    long size;

    while (found < most && (size = syscall(SYS_getdents64, fd, entries, room)) > 0) {
        for (long at = 0; at < size; at += *(unsigned short *)(entries + at + 16)) {
            const char *name = entries + at + 19;

            if (*name == 'n')
                counts[atoi(name + 1)]++;
            found++;
        }
    }
    return found;
}

static void test_listing(void)
{
    int counts[100] = {0};
    char name[16];
    int fd, found;

    tree_begin();
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        GIVES(close(creat(name, 0600)), 0);
    }
    fd = open(".", O_RDONLY);
    found = list(fd, 200, counts, 30);
    CHECK(found >= 30 && found < 102, "%d entries", found);
    for (int i = 0; i < 100; i++) { /* what was listed goes, and half of the rest */
        snprintf(name, sizeof(name), "n%d", i);
        if (counts[i] > 0 || i % 2 == 0) {
            GIVES(unlink(name), 0);
            counts[i] = -1;
        }
    }
    tree_on();
    list(fd, 200, counts, 1000);
    for (int i = 0; i < 100; i++)
        CHECK(counts[i] == 1 || counts[i] == -1, "%d was listed %d times", i, counts[i]);
    GIVES(lseek(fd, 0, SEEK_SET), 0);
    memset(counts, 0, sizeof(counts));
    found = list(fd, 4096, counts, 1000);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        found -= counts[i];
        CHECK(counts[i] == (access(name, F_OK) == 0), "%d after rewinding: %d", i, counts[i]);
    }
    CHECK(found == 2, "%d entries are \".\" and \"..\"", found);
    GIVES(lseek(fd, 0, SEEK_SET), 0);
    GIVES(syscall(SYS_getdents64, fd, name, 4), EINVAL);
    close(fd);
    GIVES(mkdir("gone", 0755), 0);
    fd = open("gone", O_RDONLY);
    GIVES(rmdir("gone"), 0);
    tree_on();
    GIVES(syscall(SYS_getdents64, fd, counts, sizeof(counts)), ENOENT);
    close(fd);
}

static void test_nameless(void)
{
    char path[64], text[64];
    struct stat facts = {0};
    int fd, other;

    tree_begin();
    fd = open(".", O_TMPFILE | O_RDWR, 0640);
    CHECK(fd >= 0, "%s", strerror(errno));
    GIVES(write(fd, "text", 4), 0);
    GIVES(fstat(fd, &facts), 0);
    CHECK(facts.st_nlink == 0 && S_ISREG(facts.st_mode), "%lu links", (unsigned long)facts.st_nlink);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    GIVES(linkat(fd, "", AT_FDCWD, "named", AT_EMPTY_PATH), 0);
    CHECK(tree_on() && has("named", "text"), "a name for it");
    CHECK(tree_on() && has(path, "text"), "by its descriptor");
    close(fd);
    fd = open("named", O_PATH);
    GIVES(read(fd, text, 4), EBADF);
    GIVES(syscall(SYS_fchmod, fd, 0600), EBADF);
    GIVES(fstat(fd, &facts), 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    CHECK(tree_on() && has(path, "text"), "what was opened as a path");
    close(fd);
    GIVES(symlink("named", "l"), 0);
    fd = open("l", O_PATH | O_NOFOLLOW);
    CHECK(tree_on() && readlinkat(fd, "", text, sizeof(text)) == 5, "%s", strerror(errno));
    close(fd);
    fd = open("named", O_RDWR);
    GIVES(unlink("named"), 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    other = open(path, O_RDONLY);
    CHECK(other >= 0, "an unlinked file by its descriptor: %s", strerror(errno));
    CHECK(tree_on() && pread(other, text, 4, 0) == 4 && memcmp(text, "text", 4) == 0, "its bytes");
    GIVES(linkat(fd, "", AT_FDCWD, "again", AT_EMPTY_PATH), ENOENT);
    close(other);
    close(fd);
}

static void test_devices(void)
{
    char bytes[64] = {0}, other[64] = {0};
    int fd;

    CHECK(tree_on() && has("/dev/null", ""), "null");
    fd = open("/dev/urandom", O_RDONLY);
    CHECK(tree_on() && read(fd, bytes, 64) == 64 && read(fd, other, 64) == 64 && memcmp(bytes, other, 64) != 0,
          "what is random");
    close(fd);
    fd = open("/dev/full", O_WRONLY);
    GIVES(write(fd, "x", 1), ENOSPC);
    close(fd);
    CHECK(facts_of("/dev/zero").st_rdev == makedev(1, 5), "zero");
    if (!tap_on_kettle())
        return;
    CHECK(facts_of("/dev/shm").st_mode == (S_IFDIR | 01777), "mode %o", facts_of("/dev/shm").st_mode);
    GIVES(tree_opened("/dev/stdin", O_RDONLY), 0);
    GIVES(tree_opened("/dev/fd/1", O_RDONLY), 0);
}

static const struct tap_test tests[] = {
    {"open", "open finds, creates and refuses files", test_open},
    {"make", "directories and nodes are made", test_make},
    {"remove", "a name can be removed while its file is open", test_remove},
    {"links", "hard and symbolic links work", test_links},
    {"rename", "rename moves names and exchanges them", test_rename},
    {"directories", "working directories and directories by descriptor resolve paths", test_directories},
    {"facts", "permissions, owners and times are kept", test_facts},
    {"late-times", "a time beyond the range of a file becomes the last one in it", test_late_times},
    {"listing", "a directory can be listed while names are removed", test_listing},
    {"nameless", "O_TMPFILE makes files without names, and O_PATH opens without access", test_nameless},
    {"fifo", "opening a FIFO waits for the other end", tree_test_fifo},
    {"fifo-gives-up", "an opener of a FIFO that gives up has met nobody", tree_test_fifo_gives_up},
    {"devices", "device nodes open their devices", test_devices},
};

int main(int argc, char **argv)
{
    int status;

    umask(022);
    snprintf(base, sizeof(base), "/tmp/test-tree-%d", getpid());
    mkdir("/tmp", 01777);
    kernels_find();
    status = tap_run(argc, argv, tests, TAP_COUNT(tests));
    chdir("/");
    remove_all(base);
    return status;
}
