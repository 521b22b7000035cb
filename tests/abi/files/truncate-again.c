/* O_TRUNC through /proc/self/fd/N: of files with a name, without, and of memory. */
#include "abi.h"

static void one(const char *what, int fd)
{
    struct stat facts;
    char name[64];
    int again;

    MUST(write(fd, "text", 4));
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    again = open(name, O_RDWR | O_TRUNC);
    printf("%s: %s\n", what, again < 0 ? errno_name(errno) : "opened");
    MUST(fstat(fd, &facts));
    SHOW(facts.st_size);
    if (again >= 0) {
        SHOW(lseek(again, 0, SEEK_CUR));
        SHOW(lseek(fd, 0, SEEK_CUR));
        close(again);
    }
    CALL(open(name, O_RDWR | O_CREAT | O_EXCL, 0600));
    again = (int)CALL(open(name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600) < 0 ? -1 : 0);
    (void)again;
    close(fd);
}
int main(void)
{
    int fd, path, again;
    char name[64];
    struct stat facts;

    one("memfd", (int)MUST(memfd_create("memory", 0)));
    one("file", (int)MUST(open("file", O_RDWR | O_CREAT, 0600)));
    fd = (int)MUST(open("gone", O_RDWR | O_CREAT, 0600));
    MUST(unlink("gone"));
    one("unlinked", fd);
    one("nameless", (int)MUST(open(".", O_RDWR | O_TMPFILE, 0600)));
    put_file("path", "text");
    path = (int)MUST(open("path", O_PATH));
    snprintf(name, sizeof(name), "/proc/self/fd/%d", path);
    again = (int)MUST(open(name, O_RDWR | O_TRUNC));
    MUST(fstat(again, &facts));
    SHOW(facts.st_size);
    put_file("path", "text");
    CALL(truncate(name, 2));
    MUST(fstat(again, &facts));
    SHOW(facts.st_size);
    fd = (int)MUST(memfd_create("sealed", MFD_ALLOW_SEALING));
    MUST(write(fd, "text", 4));
    MUST(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK));
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    CALL(open(name, O_RDWR | O_TRUNC));
    MUST(fstat(fd, &facts));
    SHOW(facts.st_size);
    return 0;
}
