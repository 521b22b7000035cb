/* test-xattr: extended attributes (xattr(7)) of files, directories, links and FIFOs, from every kernel. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/guest/harness/directory.h"
#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"

static const char *const names[] = {"file", "directory", "link", "fifo"};

static void make(void)
{
    int fd = open("file", O_CREAT | O_WRONLY, 0600);

    CHECK(fd >= 0 && close(fd) == 0, "%s", strerror(errno));
    CHECK(mkdir("directory", 0700) == 0 && symlink("nowhere", "link") == 0 && mkfifo("fifo", 0600) == 0, "%s",
          strerror(errno));
}

static void clean(void)
{
    CHECK(unlink("file") == 0 && rmdir("directory") == 0 && unlink("link") == 0 && unlink("fifo") == 0, "%s",
          strerror(errno));
}

static void test_set_and_get(void)
{
    char value[32];

    make();
    for (size_t i = 0; i < TAP_COUNT(names); i++) {
        for (int k = 0; k < kernels_count(); k++) {
            kernels_go(k);
            snprintf(value, sizeof(value), "value %d", k);
            CHECK(lsetxattr(names[i], "trusted.a", value, strlen(value), 0) == 0, "%s: %s", names[i], strerror(errno));
            kernels_go(k + 1);
            memset(value, 0, sizeof(value));
            CHECK(lgetxattr(names[i], "trusted.a", value, sizeof(value)) == 7 && value[6] == '0' + k, "'%s'", value);
        }
    }
    CHECK_ERROR(getxattr("link", "trusted.a", value, sizeof(value)), ENOENT);
    clean();
}

static void test_flags(void)
{
    char value[4];

    make();
    CHECK_ERROR(setxattr("file", "trusted.a", "x", 1, XATTR_REPLACE), ENODATA);
    CHECK(setxattr("file", "trusted.a", "xy", 2, XATTR_CREATE) == 0, "%s", strerror(errno));
    CHECK_ERROR(setxattr("file", "trusted.a", "x", 1, XATTR_CREATE), EEXIST);
    CHECK(setxattr("file", "trusted.a", "abc", 3, XATTR_REPLACE) == 0, "%s", strerror(errno));
    CHECK(getxattr("file", "trusted.a", NULL, 0) == 3, "its size");
    CHECK_ERROR(getxattr("file", "trusted.a", value, 2), ERANGE);
    CHECK_ERROR(setxattr("file", "trusted.a", "x", 1, 4), EINVAL);
    CHECK_ERROR(setxattr("file", "trusted.", "x", 1, 0), EINVAL);
    CHECK_ERROR(setxattr("file", "", "x", 1, 0), ERANGE);
    CHECK_ERROR(setxattr("file", "other.a", "x", 1, 0), EOPNOTSUPP);
    CHECK_ERROR(setxattr("none", "trusted.a", "x", 1, 0), ENOENT);
    CHECK_ERROR(setxattr("file", "trusted.a", TAP_UNMAPPED, 1, 0), EFAULT);
    CHECK_ERROR(setxattr("file", "trusted.a", "x", 65537, 0), E2BIG);
    CHECK(removexattr("file", "trusted.a") == 0, "%s", strerror(errno));
    CHECK_ERROR(removexattr("file", "trusted.a"), ENODATA);
    CHECK_ERROR(getxattr("file", "trusted.a", value, 4), ENODATA);
    CHECK(setxattr("file", "trusted.empty", "", 0, 0) == 0 && getxattr("file", "trusted.empty", value, 4) == 0, "%s",
          strerror(errno));
    clean();
}

static bool lists(const char *list, ssize_t size, const char *name)
{
    for (ssize_t at = 0; at < size; at += (ssize_t)strlen(list + at) + 1) {
        if (strcmp(list + at, name) == 0)
            return true;
    }
    return false;
}

static void test_list(void)
{
    char list[64];
    ssize_t size;
    int fd;

    make();
    CHECK(listxattr("file", NULL, 0) == 0, "none");
    fd = open("file", O_RDONLY);
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        CHECK(fsetxattr(fd, "trusted.one", "1", 1, 0) == 0 && fsetxattr(fd, "security.two", "22", 2, 0) == 0, "%s",
              strerror(errno));
        CHECK(flistxattr(fd, NULL, 0) == 25, "both");
        CHECK_ERROR(flistxattr(fd, list, 24), ERANGE);
        size = listxattr("file", list, sizeof(list));
        CHECK(size == 25 && lists(list, size, "trusted.one") && lists(list, size, "security.two"), "%zd", size);
        CHECK(fremovexattr(fd, "trusted.one") == 0 && flistxattr(fd, list, sizeof(list)) == 13, "one left");
    }
    close(fd);
    CHECK_ERROR(fgetxattr(fd, "trusted.one", list, 1), EBADF);
    CHECK(rename("file", "other") == 0 && getxattr("other", "security.two", list, 9) == 2, "it goes along");
    CHECK(rename("other", "file") == 0, "%s", strerror(errno));
    clean();
}

static int as_user(void *context)
{
    char list[64];

    (void)context;
    if (chmod("file", 0666) != 0 || setxattr("file", "trusted.a", "x", 1, 0) != 0 ||
        setxattr("file", "security.a", "x", 1, 0) != 0 || setresuid(1000, 1000, 1000) != 0)
        return 1;
    if (getxattr("file", "trusted.a", list, 1) != -1 || errno != ENODATA)
        return 2;
    if (setxattr("file", "trusted.a", "x", 1, 0) != -1 || errno != EPERM)
        return 3;
    if (getxattr("file", "security.a", list, 1) != 1)
        return 5;
    return listxattr("file", list, sizeof(list)) == 11 ? 0 : 6;
}

static void test_user(void)
{
    int status;

    make();
    status = tap_fork(as_user, NULL);
    CHECK(status == 0, "status %d says what", status);
    clean();
}

static const struct tap_test tests[] = {
    {"set-and-get", "an attribute set on one kernel is read on another, for every kind of file", test_set_and_get},
    {"flags", "flags, sizes and errors are those of setxattr(2)", test_flags},
    {"list", "listxattr gives all names, and attributes follow their file", test_list},
    {"user", "a user who is not root neither sees nor changes trusted attributes", test_user},
};

int main(int argc, char **argv)
{
    kernels_find();
    umask(0);
    return directory_run(argc, argv, tests, TAP_COUNT(tests), 0777);
}
