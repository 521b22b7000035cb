/* test-share: names, folders and links. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "userland/tests/machine.h"
#include "userland/tests/share.h"
#include "userland/tests/spread.h"
#include "userland/tests/tap.h"
#include "userland/tests/thread.h"

void share_test_names(void)
{
    char name[300];

    EXPECT(mkdir("names", 0755) == 0, "%s", strerror(errno));
    for (int length = 1; length <= 255; length += 127) {
        memset(name, 'n', sizeof(name));
        name[length] = '\0';
        spread_go(length);
        EXPECT(chdir("names") == 0 && mknod(name, S_IFREG | 0600, 0) == 0, "%d bytes: %s", length, strerror(errno));
        EXPECT(chdir("..") == 0, "%s", strerror(errno));
    }
    memset(name, 'n', 256);
    name[256] = '\0';
    EXPECT_ERROR(open(name, O_RDONLY | O_CREAT, 0600), ENAMETOOLONG);
    EXPECT_ERROR(mkdir(name, 0755), ENAMETOOLONG);
    EXPECT(close(open("names/with blank\nand \xff\xc3(line)", O_CREAT | O_WRONLY, 0600)) == 0, "%s", strerror(errno));
    EXPECT(access("names/with blank\nand \xff\xc3(line)", F_OK) == 0, "%s", strerror(errno));
    for (int k = 0; k < spread_count(); k++) {
        spread_go(k);
        EXPECT(share_count("names") == 4, "%ld names on kernel %d", share_count("names"), k);
    }
    EXPECT_ERROR(rmdir("names"), ENOTEMPTY);
    EXPECT_ERROR(mkdir("names", 0755), EEXIST);
    EXPECT_ERROR(unlink("names"), EISDIR);
    EXPECT(unlink("names/with blank\nand \xff\xc3(line)") == 0, "%s", strerror(errno));
    for (int length = 1; length <= 255; length += 127) {
        snprintf(name, sizeof(name), "names/");
        memset(name + 6, 'n', (size_t)length);
        name[6 + length] = '\0';
        EXPECT(unlink(name) == 0, "%d bytes: %s", length, strerror(errno));
    }
    EXPECT(rmdir("names") == 0, "%s", strerror(errno));
    spread_go(0);
}

/* Names are listed in pieces, and removed meanwhile. */
void share_test_listing(void)
{
    enum { MANY = 300 };
    char entries[1024], name[32];
    bool seen[MANY] = {false};
    long size, removed = 0;
    int fd;

    EXPECT(mkdir("many", 0755) == 0 && chdir("many") == 0, "%s", strerror(errno));
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "file-%d", i);
        EXPECT(mknod(name, S_IFREG | 0600, 0) == 0, "%s", strerror(errno));
    }
    fd = open(".", O_RDONLY | O_DIRECTORY);
    while ((size = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0) {
        spread_go(removed);
        for (long at = 0; at < size; at += *(unsigned short *)(void *)(entries + at + 16)) {
            int number = -1;

            if (sscanf(entries + at + 19, "file-%d", &number) != 1)
                continue;
            EXPECT(number >= 0 && number < MANY && !seen[number], "%s is listed twice", entries + at + 19);
            EXPECT(entries[at + 18] == DT_REG, "type %d", entries[at + 18]);
            seen[number] = true;
            removed += unlink(entries + at + 19) == 0;
        }
    }
    EXPECT(size == 0 && removed == MANY, "%ld removed: %s", removed, strerror(errno));
    EXPECT(lseek(fd, 0, SEEK_SET) == 0, "%s", strerror(errno));
    EXPECT_ERROR(syscall(SYS_getdents64, fd, entries, 4), EINVAL);
    close(fd);
    EXPECT(chdir("..") == 0 && rmdir("many") == 0, "%s", strerror(errno));
    spread_go(0);
}

void share_test_links(void)
{
    char text[PATH_MAX], expected[PATH_MAX + 16];
    struct stat facts;

    EXPECT(mkdir("a", 0755) == 0 && mkdir("a/b", 0755) == 0, "%s", strerror(errno));
    EXPECT(close(open("a/b/file", O_CREAT | O_WRONLY, 0600)) == 0, "%s", strerror(errno));
    EXPECT(symlink("a/b", "short") == 0 && symlink("../..", "a/b/up") == 0 && symlink("/proc/self", "out") == 0, "%s",
           strerror(errno));
    snprintf(expected, sizeof(expected), "%s/a", share_base);
    EXPECT(symlink(expected, "whole") == 0 && symlink("self", "self") == 0, "%s", strerror(errno));
    for (int k = 0; k < spread_count(); k++) {
        spread_go(k);
        EXPECT(access("short/file", F_OK) == 0 && access("a/b/up/a/b/up/short/file", F_OK) == 0, "%s", strerror(errno));
        EXPECT(access("whole/b/file", F_OK) == 0 && access("whole/../short/../b/file", F_OK) == 0, "%s",
               strerror(errno));
        EXPECT(access("out/stat", R_OK) == 0 && access("./a/.//b/../../out/../self/stat", R_OK) == 0, "%s",
               strerror(errno));
        EXPECT_ERROR(access("self", F_OK), ELOOP);
        EXPECT(readlink("short", text, sizeof(text)) == 3 && memcmp(text, "a/b", 3) == 0, "what it says");
        EXPECT(lstat("short", &facts) == 0 && S_ISLNK(facts.st_mode) && facts.st_size == 3, "size %ld",
               (long)facts.st_size);
        EXPECT_ERROR(open("short", O_RDONLY | O_NOFOLLOW), ELOOP);
        EXPECT_ERROR(readlink("a", text, sizeof(text)), EINVAL);
        EXPECT_ERROR(access("a/b/file/more", F_OK), ENOTDIR);
        EXPECT_ERROR(access("a/none/more", F_OK), ENOENT);
    }
    EXPECT(link("a/b/file", "hard") == 0 && stat("hard", &facts) == 0 && facts.st_nlink == 2, "%s", strerror(errno));
    EXPECT_ERROR(link("a", "folder"), EPERM);
    EXPECT_ERROR(link("a/b/file", "hard"), EEXIST);
    EXPECT(unlink("hard") == 0 && unlink("self") == 0 && unlink("whole") == 0 && unlink("out") == 0, "%s",
           strerror(errno));
    EXPECT(unlink("short") == 0 && unlink("a/b/up") == 0 && unlink("a/b/file") == 0, "%s", strerror(errno));
    EXPECT(rmdir("a/b") == 0 && rmdir("a") == 0, "%s", strerror(errno));
    spread_go(0);
}

void share_test_renames(void)
{
    char text[PATH_MAX], expected[PATH_MAX + 16];
    struct stat facts, root;
    int fd;

    EXPECT(mkdir("from", 0755) == 0 && mkdir("from/in", 0755) == 0 && mkdir("to", 0755) == 0, "%s", strerror(errno));
    EXPECT(close(open("from/in/file", O_CREAT | O_WRONLY, 0600)) == 0, "%s", strerror(errno));
    fd = open("from", O_RDONLY | O_DIRECTORY);
    EXPECT(chdir("from/in") == 0, "%s", strerror(errno));
    spread_go(1);
    EXPECT(rename("../../from", "../../to/new") == 0, "%s", strerror(errno));
    spread_go(2);
    snprintf(expected, sizeof(expected), "%s/to/new/in", share_base);
    EXPECT(getcwd(text, sizeof(text)) != NULL && strcmp(text, expected) == 0, "%s, not %s", text, expected);
    EXPECT(access("file", F_OK) == 0 && access("../in/file", F_OK) == 0 && access("../../new", F_OK) == 0,
           "below the working directory: %s", strerror(errno));
    EXPECT(faccessat(fd, "in/file", F_OK, 0) == 0, "below an open folder: %s", strerror(errno));
    EXPECT(chdir(share_base) == 0, "%s", strerror(errno));
    EXPECT_ERROR(rename("to", "to/new/to"), EINVAL);
    EXPECT_ERROR(rename("to/new/in/file", "to"), ENOTEMPTY);
    EXPECT_ERROR(rename("to", "to/new/in/file"), EINVAL);
    EXPECT_ERROR(rename("none", "other"), ENOENT);
    EXPECT(mkdir("side", 0755) == 0, "%s", strerror(errno));
    EXPECT_ERROR(rename("to/new/in/file", "side"), EISDIR);
    EXPECT_ERROR(rename("side", "to/new/in/file"), ENOTDIR);
    EXPECT_ERROR(rename("side", "to/new"), ENOTEMPTY);
    EXPECT(rmdir("side") == 0, "%s", strerror(errno));
    EXPECT(rename("to/new/in/file", "file") == 0 && access("file", F_OK) == 0, "%s", strerror(errno));
    EXPECT(stat("/dev", &root) == 0 && stat(".", &facts) == 0, "%s", strerror(errno));
    if (root.st_dev != facts.st_dev) {
        EXPECT_ERROR(rename("file", "/dev/file"), EXDEV);
        EXPECT_ERROR(link("file", "/dev/file"), EXDEV);
    }
    close(fd);
    EXPECT(unlink("file") == 0 && rmdir("to/new/in") == 0 && rmdir("to/new") == 0 && rmdir("to") == 0, "%s",
           strerror(errno));
    spread_go(0);
}

void share_test_removed_folder(void)
{
    char entries[256];
    int fd;

    EXPECT(mkdir("folder", 0755) == 0, "%s", strerror(errno));
    fd = open("folder", O_RDONLY | O_DIRECTORY);
    spread_go(1);
    EXPECT(rmdir("folder") == 0, "%s", strerror(errno));
    EXPECT_ERROR(syscall(SYS_getdents64, fd, entries, sizeof(entries)), ENOENT);
    EXPECT_ERROR(openat(fd, "new", O_CREAT | O_WRONLY, 0600), ENOENT);
    close(fd);
    spread_go(0);
}
