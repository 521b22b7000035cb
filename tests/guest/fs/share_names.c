/* test-share: names, directories and links. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/guest/fs/share.h"
#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

void share_test_names(void)
{
    char name[300];

    CHECK(mkdir("names", 0755) == 0, "%s", strerror(errno));
    for (int length = 1; length <= 255; length += 127) {
        memset(name, 'n', sizeof(name));
        name[length] = '\0';
        kernels_go(length);
        CHECK(chdir("names") == 0 && mknod(name, S_IFREG | 0600, 0) == 0, "%d bytes: %s", length, strerror(errno));
        CHECK(chdir("..") == 0, "%s", strerror(errno));
    }
    memset(name, 'n', 256);
    name[256] = '\0';
    CHECK_ERROR(open(name, O_RDONLY | O_CREAT, 0600), ENAMETOOLONG);
    CHECK_ERROR(mkdir(name, 0755), ENAMETOOLONG);
    CHECK(close(open("names/with blank\nand \xff\xc3(line)", O_CREAT | O_WRONLY, 0600)) == 0, "%s", strerror(errno));
    CHECK(access("names/with blank\nand \xff\xc3(line)", F_OK) == 0, "%s", strerror(errno));
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        CHECK(share_count("names") == 4, "%ld names on kernel %d", share_count("names"), k);
    }
    CHECK_ERROR(rmdir("names"), ENOTEMPTY);
    CHECK_ERROR(mkdir("names", 0755), EEXIST);
    CHECK_ERROR(unlink("names"), EISDIR);
    CHECK(unlink("names/with blank\nand \xff\xc3(line)") == 0, "%s", strerror(errno));
    for (int length = 1; length <= 255; length += 127) {
        snprintf(name, sizeof(name), "names/");
        memset(name + 6, 'n', (size_t)length);
        name[6 + length] = '\0';
        CHECK(unlink(name) == 0, "%d bytes: %s", length, strerror(errno));
    }
    CHECK(rmdir("names") == 0, "%s", strerror(errno));
    kernels_go(0);
}

/* Names are listed in pieces, and removed meanwhile. */
void share_test_listing(void)
{
    enum { MANY = 300 };
    char entries[1024], name[32];
    bool seen[MANY] = {false};
    long size, removed = 0;
    int fd;

    CHECK(mkdir("many", 0755) == 0 && chdir("many") == 0, "%s", strerror(errno));
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "file-%d", i);
        CHECK(mknod(name, S_IFREG | 0600, 0) == 0, "%s", strerror(errno));
    }
    fd = open(".", O_RDONLY | O_DIRECTORY);
    while ((size = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0) {
        kernels_go(removed);
        for (long at = 0; at < size; at += *(unsigned short *)(void *)(entries + at + 16)) {
            int number = -1;

            if (sscanf(entries + at + 19, "file-%d", &number) != 1)
                continue;
            CHECK(number >= 0 && number < MANY && !seen[number], "%s is listed twice", entries + at + 19);
            CHECK(entries[at + 18] == DT_REG, "type %d", entries[at + 18]);
            seen[number] = true;
            removed += unlink(entries + at + 19) == 0;
        }
    }
    CHECK(size == 0 && removed == MANY, "%ld removed: %s", removed, strerror(errno));
    CHECK(lseek(fd, 0, SEEK_SET) == 0, "%s", strerror(errno));
    CHECK_ERROR(syscall(SYS_getdents64, fd, entries, 4), EINVAL);
    close(fd);
    CHECK(chdir("..") == 0 && rmdir("many") == 0, "%s", strerror(errno));
    kernels_go(0);
}

void share_test_links(void)
{
    char text[PATH_MAX], expected[PATH_MAX + 16];
    struct stat facts;

    CHECK(mkdir("a", 0755) == 0 && mkdir("a/b", 0755) == 0, "%s", strerror(errno));
    CHECK(close(open("a/b/file", O_CREAT | O_WRONLY, 0600)) == 0, "%s", strerror(errno));
    CHECK(symlink("a/b", "short") == 0 && symlink("../..", "a/b/up") == 0 && symlink("/proc/self", "out") == 0, "%s",
          strerror(errno));
    snprintf(expected, sizeof(expected), "%s/a", share_base);
    CHECK(symlink(expected, "whole") == 0 && symlink("self", "self") == 0, "%s", strerror(errno));
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        CHECK(access("short/file", F_OK) == 0 && access("a/b/up/a/b/up/short/file", F_OK) == 0, "%s", strerror(errno));
        CHECK(access("whole/b/file", F_OK) == 0 && access("whole/../short/../b/file", F_OK) == 0, "%s",
              strerror(errno));
        CHECK(access("out/stat", R_OK) == 0 && access("./a/.//b/../../out/../self/stat", R_OK) == 0, "%s",
              strerror(errno));
        CHECK_ERROR(access("self", F_OK), ELOOP);
        CHECK(readlink("short", text, sizeof(text)) == 3 && memcmp(text, "a/b", 3) == 0, "what it says");
        CHECK(lstat("short", &facts) == 0 && S_ISLNK(facts.st_mode) && facts.st_size == 3, "size %ld",
              (long)facts.st_size);
        CHECK_ERROR(open("short", O_RDONLY | O_NOFOLLOW), ELOOP);
        CHECK_ERROR(readlink("a", text, sizeof(text)), EINVAL);
        CHECK_ERROR(access("a/b/file/more", F_OK), ENOTDIR);
        CHECK_ERROR(access("a/none/more", F_OK), ENOENT);
    }
    CHECK(link("a/b/file", "hard") == 0 && stat("hard", &facts) == 0 && facts.st_nlink == 2, "%s", strerror(errno));
    CHECK_ERROR(link("a", "directory"), EPERM);
    CHECK_ERROR(link("a/b/file", "hard"), EEXIST);
    CHECK(unlink("hard") == 0 && unlink("self") == 0 && unlink("whole") == 0 && unlink("out") == 0, "%s",
          strerror(errno));
    CHECK(unlink("short") == 0 && unlink("a/b/up") == 0 && unlink("a/b/file") == 0, "%s", strerror(errno));
    CHECK(rmdir("a/b") == 0 && rmdir("a") == 0, "%s", strerror(errno));
    kernels_go(0);
}

void share_test_renames(void)
{
    char text[PATH_MAX], expected[PATH_MAX + 16];
    struct stat facts, root;
    int fd;

    CHECK(mkdir("from", 0755) == 0 && mkdir("from/in", 0755) == 0 && mkdir("to", 0755) == 0, "%s", strerror(errno));
    CHECK(close(open("from/in/file", O_CREAT | O_WRONLY, 0600)) == 0, "%s", strerror(errno));
    fd = open("from", O_RDONLY | O_DIRECTORY);
    CHECK(chdir("from/in") == 0, "%s", strerror(errno));
    kernels_go(1);
    CHECK(rename("../../from", "../../to/new") == 0, "%s", strerror(errno));
    kernels_go(2);
    snprintf(expected, sizeof(expected), "%s/to/new/in", share_base);
    CHECK(getcwd(text, sizeof(text)) != NULL && strcmp(text, expected) == 0, "%s, not %s", text, expected);
    CHECK(access("file", F_OK) == 0 && access("../in/file", F_OK) == 0 && access("../../new", F_OK) == 0,
          "below the working directory: %s", strerror(errno));
    CHECK(faccessat(fd, "in/file", F_OK, 0) == 0, "below an open directory: %s", strerror(errno));
    CHECK(chdir(share_base) == 0, "%s", strerror(errno));
    CHECK_ERROR(rename("to", "to/new/to"), EINVAL);
    CHECK_ERROR(rename("to/new/in/file", "to"), ENOTEMPTY);
    CHECK_ERROR(rename("to", "to/new/in/file"), EINVAL);
    CHECK_ERROR(rename("none", "other"), ENOENT);
    CHECK(mkdir("side", 0755) == 0, "%s", strerror(errno));
    CHECK_ERROR(rename("to/new/in/file", "side"), EISDIR);
    CHECK_ERROR(rename("side", "to/new/in/file"), ENOTDIR);
    CHECK_ERROR(rename("side", "to/new"), ENOTEMPTY);
    CHECK(rmdir("side") == 0, "%s", strerror(errno));
    CHECK(rename("to/new/in/file", "file") == 0 && access("file", F_OK) == 0, "%s", strerror(errno));
    CHECK(stat("/dev", &root) == 0 && stat(".", &facts) == 0, "%s", strerror(errno));
    if (root.st_dev != facts.st_dev) {
        CHECK_ERROR(rename("file", "/dev/file"), EXDEV);
        CHECK_ERROR(link("file", "/dev/file"), EXDEV);
    }
    close(fd);
    CHECK(unlink("file") == 0 && rmdir("to/new/in") == 0 && rmdir("to/new") == 0 && rmdir("to") == 0, "%s",
          strerror(errno));
    kernels_go(0);
}

void share_test_removed_directory(void)
{
    char entries[256];
    int fd;

    CHECK(mkdir("directory", 0755) == 0, "%s", strerror(errno));
    fd = open("directory", O_RDONLY | O_DIRECTORY);
    kernels_go(1);
    CHECK(rmdir("directory") == 0, "%s", strerror(errno));
    CHECK_ERROR(syscall(SYS_getdents64, fd, entries, sizeof(entries)), ENOENT);
    CHECK_ERROR(openat(fd, "new", O_CREAT | O_WRONLY, 0600), ENOENT);
    close(fd);
    kernels_go(0);
}
